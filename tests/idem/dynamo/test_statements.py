"""Statements travel together: what is lost, refused or denied on the way hides nobody else's answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from idem.dynamo.schema import primary_key
from idem.errors import ClaimLost, CorruptRecord, IdemError, StoreUnavailable
from idem.record import (
    Answer,
    Claim,
    Status,
)
from idem.store import Complete
from tests.idem.benches import DynamoBench, Locked, store_on
from tests.idem.builders import (
    ENDINGS,
    LATER,
    NOW,
    RESULT,
    asked,
    key,
    record,
    won,
)
from tests.idem.clients import Losing, Raising, Silent, Wrapper, client_error
from tests.idem.clocks import TestClock


def test_one_unreadable_record_among_many_stops_no_other(dynamo: DynamoBench, clock: TestClock) -> None:
    dynamo.client.put_item(TableName=dynamo.table, Item=primary_key(key("foreign")) | {"status": {"S": "?"}})
    answers = store_on(dynamo.client, dynamo, clock).claim_many([asked("foreign"), asked("mine")])
    assert isinstance(answers[0], CorruptRecord)
    assert isinstance(answers[1], Claim)


def test_claims_that_travel_together_are_one_request_and_so_are_their_outcomes(
    dynamo: DynamoBench, clock: TestClock
) -> None:
    client = Wrapper(dynamo.client)
    store = store_on(client, dynamo, clock)
    claims = [won(answer) for answer in store.claim_many([asked(f"k-{number}") for number in range(10)])]
    store.finish_many([Complete(claim, RESULT, LATER) for claim in claims])
    assert [name for name, _ in client.sent] == ["batch_execute_statement"] * 2


def test_claims_whose_answer_was_lost_start_nothing_and_are_still_mine(dynamo: DynamoBench, clock: TestClock) -> None:
    store = store_on(Losing(dynamo.client, "batch_execute_statement"), dynamo, clock)
    answers = store.claim_many([asked("a"), asked("b")])
    assert [type(answer) for answer in answers] == [StoreUnavailable] * 2
    assert [won(answer).token for answer in store.claim_many([asked("a"), asked("b")])] == ["mine-a", "mine-b"]


def test_outcomes_whose_answer_was_lost_are_recorded(dynamo: DynamoBench, clock: TestClock) -> None:
    store = store_on(Losing(dynamo.client, "batch_execute_statement"), dynamo, clock)
    claims = [won(dynamo.store.claim(asked(name))) for name in ("a", "b", "c")]
    recordings = [ending(claim) for ending, claim in zip(ENDINGS.values(), claims, strict=True)]
    assert store.finish_many(recordings) == [None, None, None]
    statuses = [found and found.status for found in map(dynamo.store.get, map(key, "abc"))]
    assert statuses == [Status.SUCCEEDED, Status.FAILED, None]


class Answering(Wrapper):
    """Answers single statements of the first batch with an error, without applying them."""

    def __init__(self, client: Any, codes: dict[int, str]) -> None:
        super().__init__(client)
        self._codes = codes

    def answer(self, name: str, number: int, method: Callable[..., Any], request: dict[str, Any]) -> Any:
        if name != "batch_execute_statement" or number > 1:
            return method(**request)
        kept = [one for index, one in enumerate(request["Statements"]) if index not in self._codes]
        answers = iter(method(Statements=kept)["Responses"])
        return {
            "Responses": [
                {"Error": {"Code": self._codes[index], "Message": "made up"}} if index in self._codes else next(answers)
                for index in range(len(request["Statements"]))
            ]
        }


@pytest.mark.parametrize(
    "code", ["TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded", "RequestLimitExceeded"]
)
def test_only_the_statements_in_conflict_are_sent_again(dynamo: DynamoBench, clock: TestClock, code: str) -> None:
    client = Answering(dynamo.client, {1: code})
    answers = store_on(client, dynamo, clock).claim_many([asked("a"), asked("b"), asked("c")])
    assert [won(answer).key.identity for answer in answers] == ["a", "b", "c"]
    assert [len(sent["Statements"]) for _, sent in client.sent] == [3, 1]
    assert len(clock.slept) == 1


def test_a_statement_that_is_denied_hides_only_its_own_answer(dynamo: DynamoBench, clock: TestClock) -> None:
    store = store_on(Answering(dynamo.client, {1: "AccessDenied"}), dynamo, clock)
    answers = store.claim_many([asked("a"), asked("b"), asked("c")])
    assert [isinstance(answer, Claim) for answer in answers] == [True, False, True]
    assert isinstance(answers[1], StoreUnavailable)
    assert dynamo.raw(key("b")) is None


def test_what_is_not_known_to_be_won_is_never_a_claim(dynamo: DynamoBench, clock: TestClock) -> None:
    held = record(key=key("held"))
    dynamo.place(held)
    inner = Answering(dynamo.client, {0: "AccessDenied"})
    client = Raising(inner, "batch_get_item", client_error("AccessDeniedException"))
    answers = store_on(client, dynamo, clock).claim_many([asked("denied"), asked("held"), asked("free")])
    assert [type(answer) for answer in answers] == [StoreUnavailable, StoreUnavailable, Claim]
    assert dynamo.raw(key("denied")) is None
    assert dynamo.store.get(held.key) == held


def test_statements_are_given_up_inside_the_time_left(dynamo: DynamoBench, clock: TestClock) -> None:
    client = Raising(dynamo.client, "batch_execute_statement", *[client_error("ThrottlingException")] * 99)
    wanted = [replace(asked(name), deadline=NOW + 400) for name in ("a", "b")]
    answers: list[Answer | IdemError] = store_on(client, dynamo, clock).claim_many(wanted)
    assert [type(answer) for answer in answers] == [StoreUnavailable] * 2
    assert clock.now_ms() < NOW + 400


def test_an_engine_that_sends_no_items_with_statements_gives_the_same_answers(
    dynamo: DynamoBench, clock: TestClock
) -> None:
    class Wordless(Silent):
        def answer(self, name: str, number: int, method: Callable[..., Any], request: dict[str, Any]) -> Any:
            answer = super().answer(name, number, method, request)
            for one in answer.get("Responses", ()) if name == "batch_execute_statement" else ():
                one.get("Error", {}).pop("Item", None)
            return answer

    store = store_on(Locked(Wordless(dynamo.client), 0), dynamo, clock)
    claims = [won(answer) for answer in store.claim_many([asked(name) for name in "abc"])]
    dynamo.place(record(key=key("b")))
    errors = store.finish_many([Complete(claim, RESULT, LATER) for claim in claims])
    assert [type(error) for error in errors] == [type(None), ClaimLost, type(None)]
    assert store.finish_many([Complete(claims[0], RESULT, LATER), Complete(claims[2], RESULT, LATER)]) == [None, None]
