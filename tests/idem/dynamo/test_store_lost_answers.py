"""An answer that is lost on the network changes nothing: the token in the record shows whose it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from idem.errors import StoreUnavailable
from idem.record import Claim, Key, Record, Status, Succeeded, claimed_record
from idem.writes import Update
from tests.idem.benches import DynamoBench, store_on
from tests.idem.builders import FAILURE, KEY, LATER, NOW_S, RECLAIMABLE, RESULT, lapsed, record, request, won
from tests.idem.clients import Losing, Repeating, Silent, Wrapper
from tests.idem.clocks import TestClock

EARLIER: dict[str, Record | None] = {
    "absent": None,
    "lapsed": lapsed(),
    "reclaimable": record(Status.FAILED, failure=RECLAIMABLE),
    "expired": record(Status.SUCCEEDED, expires_at=NOW_S - 1),
}
earlier = pytest.mark.parametrize("found", EARLIER.values(), ids=EARLIER)
ENGINES: dict[str, Callable[[Any], Wrapper]] = {
    "repeats": Repeating,
    "repeats and sends no item": lambda client: Repeating(Silent(client)),
}
repeated = pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)


def count_up(bench: DynamoBench) -> Update:
    """A write that shows how often it was made."""
    return Update(bench.orders, {"orderId": {"S": "o-1"}}, "ADD made :one", values={":one": {"N": "1"}})


def made(bench: DynamoBench) -> int:
    order = bench.order("o-1")
    return int(order["made"]["N"]) if order else 0


@earlier
@repeated
def test_a_claim_whose_answer_was_lost_recognises_itself(
    dynamo: DynamoBench, clock: TestClock, engine: Callable[[Any], Wrapper], found: Record | None
) -> None:
    if found:
        dynamo.place(found)
    claim = won(store_on(engine(dynamo.client), dynamo, clock).claim(request()))
    assert claim.token == "mine"
    assert dynamo.store.get(KEY) == claimed_record(claim)
    assert claim.attempt == (1 if found is None or found.expires_at == NOW_S - 1 else found.attempt + 1)


@earlier
def test_a_claim_without_any_answer_starts_nothing_and_is_still_mine(
    dynamo: DynamoBench, clock: TestClock, found: Record | None
) -> None:
    if found:
        dynamo.place(found)
    loses_the_last = 1 if found is None else 2

    class LosesTheWrite(Wrapper):
        def answer(self, name: str, number: int, method: Callable[..., Any], request: dict[str, Any]) -> Any:
            answer = method(**request)
            if (name, number) == ("put_item", loses_the_last):
                raise ConnectionError("reset by peer")
            return answer

    client = LosesTheWrite(dynamo.client)
    with pytest.raises(StoreUnavailable):
        store_on(client, dynamo, clock).claim(request())
    assert client.count("put_item") == loses_the_last  # not sent again: botocore has already tried
    assert won(dynamo.store.claim(request())).token == "mine"


@pytest.mark.parametrize("status", [Status.SUCCEEDED, Status.FAILED])
@pytest.mark.parametrize("engine", [lambda client: Losing(client, "update_item"), *ENGINES.values()])
def test_an_outcome_whose_answer_was_lost_is_recorded(
    dynamo: DynamoBench, clock: TestClock, engine: Callable[[Any], Wrapper], status: Status
) -> None:
    claim = won(dynamo.store.claim(request()))
    store = store_on(engine(dynamo.client), dynamo, clock)
    if status is Status.SUCCEEDED:
        store.complete(claim, RESULT, LATER)
    else:
        store.fail(claim, FAILURE, LATER)
    stored = dynamo.store.get(KEY)
    assert stored is not None
    assert (stored.status, stored.expires_at) == (status, LATER)


@pytest.mark.parametrize("engine", [lambda client: Losing(client, "delete_item"), *ENGINES.values()])
def test_a_release_whose_answer_was_lost_is_made(
    dynamo: DynamoBench, clock: TestClock, engine: Callable[[Any], Wrapper]
) -> None:
    claim = won(dynamo.store.claim(request()))
    store_on(engine(dynamo.client), dynamo, clock).release(claim)
    assert dynamo.raw(KEY) is None


@pytest.mark.parametrize("engine", [lambda client: Losing(client, "update_item"), *ENGINES.values()])
def test_a_begin_whose_answer_was_lost_counts_at_most_one_start(
    dynamo: DynamoBench, clock: TestClock, engine: Callable[[Any], Wrapper]
) -> None:
    claim = won(dynamo.store.claim(request(starts_max=9)))
    store = store_on(engine(dynamo.client), dynamo, clock)
    try:
        started = store.begin(claim)
    except StoreUnavailable:
        started = store.begin(claim)
    stored = dynamo.store.get(KEY)
    assert stored is not None
    assert stored.starts == started.starts == 1


@pytest.mark.parametrize("engine", [lambda client: Losing(client, "transact_write_items"), *ENGINES.values()])
def test_a_commit_whose_answer_was_lost_writes_once(
    dynamo: DynamoBench, clock: TestClock, engine: Callable[[Any], Wrapper]
) -> None:
    claim = won(dynamo.store.claim(request()))
    store_on(engine(dynamo.client), dynamo, clock).complete(claim, RESULT, LATER, [count_up(dynamo)])
    stored = dynamo.store.get(KEY)
    assert stored is not None
    assert (stored.status, made(dynamo)) == (Status.SUCCEEDED, 1)


@earlier
@pytest.mark.parametrize("engine", [lambda client: Losing(client, "transact_write_items"), *ENGINES.values()])
def test_a_guard_whose_answer_was_lost_writes_once_and_says_so(
    dynamo: DynamoBench, clock: TestClock, engine: Callable[[Any], Wrapper], found: Record | None
) -> None:
    if found:
        dynamo.place(found)
    answer = store_on(engine(dynamo.client), dynamo, clock).guard(request(), RESULT, [count_up(dynamo)])
    stored = dynamo.store.get(KEY)
    assert stored is not None
    assert answer == Succeeded(stored)
    assert (stored.claim_token, made(dynamo)) == ("mine", 1)


@pytest.mark.parametrize("verb", ["commit", "guard"])
def test_a_repeated_transaction_has_the_same_client_token_and_another_one_has_another(
    dynamo: DynamoBench, clock: TestClock, verb: str
) -> None:
    client = Losing(dynamo.client, "transact_write_items")
    store = store_on(client, dynamo, clock)

    claim = won(store.claim(request(key=Key("orders", "commit"))))

    def send() -> None:
        if verb == "guard":
            store.guard(request(), RESULT, [count_up(dynamo)])
        else:
            store.complete(claim, RESULT, LATER, [count_up(dynamo)])

    send()
    clock.pass_ms(60_000)
    send()
    first, repeated_, later = (
        asked["ClientRequestToken"] for name, asked in client.sent if name == "transact_write_items"
    )
    assert first == repeated_ != later
    assert len(first) <= 36
    assert made(dynamo) == 1


@pytest.mark.parametrize(
    "stored",
    [record(), lapsed(), record(Status.SUCCEEDED), record(Status.FAILED), record(Status.FAILED, failure=RECLAIMABLE)],
    ids=["held", "lapsed", "succeeded", "failed", "reclaimable"],
)
def test_an_engine_that_sends_no_item_gives_the_same_answers(
    dynamo: DynamoBench, clock: TestClock, stored: Record
) -> None:
    dynamo.place(stored)
    answer = store_on(Silent(dynamo.client), dynamo, clock).claim(request())
    held = dynamo.store.get(KEY)
    dynamo.place(stored)
    assert answer == dynamo.store.claim(request())
    assert held == dynamo.store.get(KEY)
    assert held == (claimed_record(answer) if isinstance(answer, Claim) else stored)
