"""Faults that users of other libraries reported: each behaviour must be right here. The fault is named beside its test."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from idem import MemoryStore, Policy, Retention, keys, once
from idem.clock import new_token
from idem.delivery import Busy, Done, Rejected
from idem.dynamo.schema import TTL_ATTRIBUTE, to_item
from idem.dynamo.store import DynamoStore
from idem.errors import (
    ClaimLost,
    MissingKeyPart,
    RequestMismatch,
)
from idem.record import Key, Status
from idem.testing import sqs_event
from tests.idem.benches import DynamoBench
from tests.idem.builders import FAILURE, KEY, LATER, NOW, NOW_S, RESULT, lapsed, record, request, won
from tests.idem.clients import Repeating
from tests.idem.clocks import TestClock
from tests.idem.consumers import DAY, Bench, raising

ORDER = Key("orders.fulfil", "o-1")


# --- ownership ---


# Powertools 3.37: UpdateItem and DeleteItem without a condition, so a first attempt overwrites its successor's record.
@pytest.mark.parametrize("verb", ["complete", "fail", "release"])
def test_a_late_finisher_does_not_touch_its_successors_record(dynamo: DynamoBench, clock: TestClock, verb: str) -> None:
    first = won(dynamo.store.claim(request("first", lease_until=NOW + 1_000)))
    clock.pass_ms(2_000)
    won(dynamo.store.claim(request("second")))
    before = dynamo.raw(KEY)
    with pytest.raises(ClaimLost):
        finish(dynamo.store, first, verb)
    assert dynamo.raw(KEY) == before


# Powertools 3.37: completing a record that was deleted meanwhile silently creates it again.
@pytest.mark.parametrize("verb", ["complete", "fail"])
def test_a_deleted_record_is_not_created_again(dynamo: DynamoBench, verb: str) -> None:
    claim = won(dynamo.store.claim(request()))
    dynamo.store.release(claim)
    with pytest.raises(ClaimLost):
        finish(dynamo.store, claim, verb)
    assert dynamo.raw(KEY) is None


def finish(store: Any, claim: Any, verb: str) -> None:
    match verb:
        case "complete":
            store.complete(claim, RESULT, LATER)
        case "fail":
            store.fail(claim, FAILURE, LATER)
        case _:
            store.release(claim)


# powertools-typescript #5675: a duplicate that was refused deletes a record that it never owned.
def test_a_refused_duplicate_leaves_the_record_alone(clock: TestClock) -> None:
    bench = Bench(clock, check=lambda delivery: delivery.payload)
    bench.one({"id": "o-1", "n": 1})
    before = dict(bench.memory.records)
    bench.one({"id": "o-1", "n": 2})
    bench.one({"id": "o-1", "n": 1})
    assert bench.memory.records == before


# amazon-dynamodb-lock-client #1 and #62: no number that rises with every owner, so the resource cannot refuse an old one.
def test_the_attempt_number_rises_at_every_takeover(clock: TestClock) -> None:
    store = MemoryStore(clock)
    attempts = []
    for token in "abcd":
        claim = won(store.claim(request(token, lease_until=clock.now_ms() + 1_000)))
        attempts.append(claim.attempt)
        clock.pass_ms(2_000)
    assert attempts == [1, 2, 3, 4]


# aws-sdk-java #2667: the SDK's retry of a lost answer is refused by its own claim.
def test_a_repeated_claim_recognises_itself(dynamo: DynamoBench, clock: TestClock) -> None:
    store = DynamoStore(Repeating(dynamo.client), dynamo.table, clock=clock)
    assert won(store.claim(request())).token == "mine"


# Powertools: any exception deletes the record; failures are never kept (#218, #801).
def test_a_failure_is_remembered(clock: TestClock) -> None:
    bench = Bench(clock, raising(ValueError("no")), policy=Policy(retention=DAY, permanent=(ValueError,)))
    assert isinstance(bench.one(), Rejected)
    assert isinstance(bench.one(), Rejected)
    assert bench.ran == ["o-1"]


# --- time ---


# powertools-java #1281: seconds compared with milliseconds.
def test_a_lease_is_milliseconds_and_a_life_is_seconds(clock: TestClock) -> None:
    store = MemoryStore(clock)
    store.records[KEY] = record(lease_until=NOW + 1_000, expires_at=NOW_S + 3_600)
    clock.pass_ms(999)
    assert not isinstance(store.claim(request()), type(won(store.claim(request(key=Key("other", "k"))))))
    clock.pass_ms(1)
    assert won(store.claim(request())).attempt == 3


# A time to live in milliseconds lies millennia away: the record is never deleted.
def test_the_time_to_live_is_a_number_of_seconds(clock: TestClock) -> None:
    bench = Bench(clock, policy=Policy(retention=Retention.QUEUE))
    bench.one()
    (stored,) = bench.memory.records.values()
    assert to_item(stored)[TTL_ATTRIBUTE] == {"N": str(NOW_S + 29 * 86_400)}


# Expired items are still there: DynamoDB deletes them days late.
def test_an_expired_record_is_no_answer(dynamo: DynamoBench) -> None:
    dynamo.place(record(Status.SUCCEEDED, expires_at=NOW_S))
    assert won(dynamo.store.claim(request())).attempt == 1


# The record's life is shorter than the run: it expires while the work is at it.
def test_a_record_of_work_in_progress_outlives_its_lease_however_short_the_retention(clock: TestClock) -> None:
    def check(_payload: Any, _claim: Any) -> None:
        clock.pass_ms(14 * 60_000)
        assert isinstance(Bench(clock, store=bench.memory).one(), Busy)

    bench = Bench(clock, check, policy=Policy(retention=timedelta(minutes=1)))
    assert isinstance(bench.one(), Done)


# Powertools #1763, #8386: without a registered context there is no lease, and a crash blocks the key until it expires.
def test_a_crash_blocks_the_key_for_a_lease_and_not_for_its_life(clock: TestClock) -> None:
    def dies(_payload: Any, _claim: Any) -> None:
        raise KeyboardInterrupt

    bench = Bench(clock, dies)
    with pytest.raises(KeyboardInterrupt):
        bench.one()
    clock.pass_ms(16 * 60_000)
    assert isinstance(Bench(clock, store=bench.memory).one(), Done)


# A warm environment keeps the context of its previous invocation.
def test_the_lease_is_that_of_the_current_invocation(clock: TestClock) -> None:
    bench = Bench(clock)
    bench.one({"id": "a"}, seconds=900)
    bench.one({"id": "b"}, seconds=3)
    assert bench.claims[1].lease_until == NOW + 4_000


# Snapshot-restored environments share random state: tokens drawn from it would be equal.
def test_tokens_do_not_come_from_pythons_random_state() -> None:
    random.seed(1)
    first = new_token()
    random.seed(1)
    assert first != new_token()


# --- keys ---


# The whole event as key never repeats: receipt handle and receive count change with every delivery.
def test_the_payload_is_the_same_work_at_every_delivery(clock: TestClock) -> None:
    bench = Bench(clock, key=keys.payload_hash())
    bench.one(receive_count=1)
    assert bench.one(receive_count=2) == Done({"id": "o-1"}, replayed=True, attempt=1)


# JSON text instead of JSON value: another order or spacing of the same payload is another key.
def test_the_same_json_written_otherwise_is_the_same_work(clock: TestClock) -> None:
    bench = Bench(clock, key=keys.payload_hash())
    bench('{"id": "o-1", "n": 1.0}')
    (again,) = bench('{"n":1,"id":"o-1"}')
    assert isinstance(again, Done)
    assert again.replayed


# The same payload under two operations; a key built from code names (#5897) forgets everything at a renaming.
def test_operations_have_their_own_keys_and_code_names_are_in_none(clock: TestClock) -> None:
    store = MemoryStore(clock)
    fulfil = Bench(clock, store=store)
    refund = Bench(clock, store=store, operation="orders.refund")
    fulfil.one()
    refund.one()
    assert (fulfil.ran, refund.ran) == (["o-1"], ["o-1"])
    assert set(store.records) == {ORDER, Key("orders.refund", "o-1")}


# The same business fact under two message ids; a redrive from the dead-letter queue gives a new message id.
def test_one_fact_under_two_message_ids_is_one_piece_of_work(clock: TestClock) -> None:
    bench = Bench(clock)
    event = sqs_event({"id": "o-1"})
    bench.consumer(event)
    event["Records"][0]["messageId"] = "another"
    bench.consumer(event)
    assert bench.ran == ["o-1"]


# Powertools: a missing key means a warning and no protection, and `[tenant, null]` counts as a key.
@pytest.mark.parametrize("payload", [{}, {"tenant": "t"}, {"tenant": "t", "order": None}])
def test_without_a_whole_key_nothing_is_run(clock: TestClock, payload: Any) -> None:
    bench = Bench(clock, key=keys.fields("tenant", "order"))
    (outcome,) = bench(payload)
    assert isinstance(outcome, Rejected)
    assert isinstance(outcome.error, MissingKeyPart)
    assert bench.ran == []


# --- payload check ---


# powertools-typescript #2058, powertools-java #2260: the check is skipped when the record comes back with the failed write.
@pytest.mark.parametrize("stored", [record(), lapsed(), record(Status.SUCCEEDED), record(Status.FAILED)])
def test_the_payload_is_checked_against_the_record_that_comes_back(dynamo: DynamoBench, stored: Any) -> None:
    dynamo.place(replace(stored, request_hash="v1:aa"))
    answer = dynamo.store.claim(request(request_hash="v1:bb"))
    assert type(answer).__name__ == "Mismatch"


# powertools-typescript #5705: an identical retry is refused after completion, because the hash was lost.
def test_completing_keeps_the_hash(dynamo: DynamoBench) -> None:
    claim = won(dynamo.store.claim(request(request_hash="v1:aa")))
    dynamo.store.complete(claim, RESULT, LATER)
    assert type(dynamo.store.claim(request("next", request_hash="v1:aa"))).__name__ == "Succeeded"
    assert type(dynamo.store.claim(request("next", request_hash="v1:bb"))).__name__ == "Mismatch"


def test_a_mismatch_is_an_error_of_its_own(clock: TestClock) -> None:
    @once(
        operation="o",
        key=keys.field("key"),
        check=lambda delivery: delivery.payload,
        store=MemoryStore(clock),
        policy=Policy(retention=DAY),
        clock=clock,
    )
    def work(key: str, amount: int) -> tuple[str, int]:
        return key, amount

    work("k", 1)
    with pytest.raises(RequestMismatch):
        work("k", 2)


# --- results ---


# Powertools: a result that cannot be saved leaves the record in progress, and the work repeats at every redelivery.
@pytest.mark.parametrize(
    "result",
    [datetime(2026, 11, 30, tzinfo=UTC), "x" * 450_000, object(), float("nan"), {1, 2}],
    ids=lambda one: type(one).__name__,
)
def test_work_is_done_once_whatever_it_returns(dynamo: DynamoBench, clock: TestClock, result: Any) -> None:
    bench = Bench(clock, lambda _payload, _claim: result, store=dynamo.store)
    for _ in range(3):
        assert isinstance(bench.one(), Done)
    assert bench.ran == ["o-1"]


# Powertools #8090: falsy results replay as None. #2164: nothing tells a replay from a first run.
@pytest.mark.parametrize("result", [0, False, "", [], {}, None])
def test_falsy_results_replay_as_they_are_and_say_that_they_do(clock: TestClock, result: Any) -> None:
    bench = Bench(clock, lambda _payload, _claim: result)
    first, again = bench.one(), bench.one()
    assert isinstance(first, Done)
    assert isinstance(again, Done)
    assert (json.dumps(first.result), json.dumps(again.result)) == (json.dumps(result),) * 2
    assert (first.replayed, again.replayed) == (False, True)


# Tuples and integer keys change shape on replay.
def test_a_result_has_one_shape_from_the_first_run_on(clock: TestClock) -> None:
    bench = Bench(clock, lambda _payload, _claim: {1: (1, 2)})
    first, again = bench.one(), bench.one()
    assert isinstance(first, Done)
    assert isinstance(again, Done)
    assert first.result == again.result == {"1": [1, 2]}
