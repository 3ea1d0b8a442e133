"""Every store commits the caller's writes together with the record, or neither."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from idem.errors import ClaimLost, TransactionRefused, WriteRefused
from idem.record import Failed, Held, Key, Mismatch, Record, Status, StoredResult, Succeeded
from idem.store import succeeded
from idem.writes import Delete, Put, Update, Write
from tests.idem.benches import Bench, DynamoBench
from tests.idem.builders import (
    FAILURE,
    KEY,
    LATER,
    NOW,
    NOW_S,
    OTHER_RESULT,
    RECLAIMABLE,
    RESULT,
    lapsed,
    record,
    request,
    won,
)
from tests.idem.clocks import TestClock


def test_a_commit_records_the_outcome_and_makes_the_writes(bench: Bench) -> None:
    claim = won(bench.store.claim(request()))
    stored = bench.store.get(KEY)
    assert stored is not None
    bench.store.complete(claim, RESULT, LATER, [bench.put_order("o-1", only_new=True), bench.put_order("o-2")])
    assert bench.store.get(KEY) == succeeded(stored, RESULT, LATER, NOW)
    assert bench.order("o-1") == {"orderId": {"S": "o-1"}}
    assert bench.order("o-2") == {"orderId": {"S": "o-2"}}


def test_a_repeated_commit_succeeds_and_writes_nothing_again(bench: Bench, clock: TestClock) -> None:
    claim = won(bench.store.claim(request()))
    bench.store.complete(claim, RESULT, LATER, [bench.put_order("o-1", state="first")])
    before = bench.raw(KEY)
    clock.pass_ms(9_000)
    bench.store.complete(claim, OTHER_RESULT, LATER, [bench.put_order("o-1", state="second")])
    assert bench.raw(KEY) == before
    assert bench.order("o-1") == {"orderId": {"S": "o-1"}, "state": {"S": "first"}}


@pytest.mark.parametrize("successor", [record(), record(Status.SUCCEEDED), record(Status.FAILED), None])
def test_a_lost_claim_cannot_commit(bench: Bench, successor: Record | None) -> None:
    claim = won(bench.store.claim(request()))
    if successor:
        bench.place(successor)
    else:
        bench.store.release(claim)
    before = bench.raw(KEY)
    with pytest.raises(ClaimLost) as lost:
        bench.store.complete(claim, RESULT, LATER, [bench.put_order("o-1")])
    assert lost.value.found == successor
    assert bench.raw(KEY) == before
    assert bench.order("o-1") is None


def test_a_commit_is_refused_by_the_callers_own_condition_and_nothing_is_written(bench: Bench) -> None:
    bench.store.guard(_other("seed"), RESULT, [bench.put_order("o-1", state="old")])
    claim = won(bench.store.claim(request()))
    before = bench.raw(KEY)
    writes = [bench.put_order("o-0"), bench.put_order("o-1", only_new=True, state="new")]
    with pytest.raises(WriteRefused) as refused:
        bench.store.complete(claim, RESULT, LATER, writes)
    assert (refused.value.key, refused.value.index) == (KEY, 1)
    if isinstance(bench, DynamoBench):
        assert refused.value.item == {"orderId": {"S": "o-1"}, "state": {"S": "old"}}
    assert bench.raw(KEY) == before
    assert bench.order("o-0") is None
    assert bench.order("o-1") == {"orderId": {"S": "o-1"}, "state": {"S": "old"}}
    bench.store.fail(claim, FAILURE, LATER)  # the claim still holds: its outcome can be recorded


def test_a_guard_makes_the_writes_and_the_record_at_once(bench: Bench) -> None:
    wanted = request(request_hash="v1:aa")
    answer = bench.store.guard(wanted, RESULT, [bench.put_order("o-1", only_new=True)])
    expected = Record(
        key=KEY,
        status=Status.SUCCEEDED,
        claim_token="mine",
        attempt=1,
        starts=1,
        claimed_at=NOW_S,
        finished_at=NOW_S,
        expires_at=wanted.expires_at,
        request_hash="v1:aa",
        result=RESULT,
        origin=wanted.origin,
    )
    assert answer == Succeeded(expected)
    assert bench.store.get(KEY) == expected
    assert bench.order("o-1") == {"orderId": {"S": "o-1"}}


def test_a_duplicate_guard_gets_the_stored_result_and_writes_nothing(bench: Bench) -> None:
    bench.store.guard(request("first"), RESULT, [bench.put_order("o-1", state="first")])
    before = bench.raw(KEY)
    answer = bench.store.guard(request("second"), OTHER_RESULT, [bench.put_order("o-1", state="second")])
    assert isinstance(answer, Succeeded)
    assert (answer.record.claim_token, answer.record.result) == ("first", RESULT)
    assert bench.raw(KEY) == before
    assert bench.order("o-1") == {"orderId": {"S": "o-1"}, "state": {"S": "first"}}


def test_a_repeated_guard_gets_what_its_first_one_stored(bench: Bench, clock: TestClock) -> None:
    first = bench.store.guard(request(), RESULT, [bench.put_order("o-1", state="first")])
    clock.pass_ms(9_000)
    again = bench.store.guard(request(), OTHER_RESULT, [bench.put_order("o-1", state="second")])
    assert again == first
    assert bench.order("o-1") == {"orderId": {"S": "o-1"}, "state": {"S": "first"}}


@pytest.mark.parametrize(
    ("stored", "answers"),
    [
        (record(), lambda found: Held(found, NOW + 30_000)),
        (record(Status.FAILED), Failed),
        (record(request_hash="v1:bb"), Mismatch),
    ],
    ids=["held", "failed", "mismatch"],
)
def test_a_refused_guard_writes_nothing(bench: Bench, stored: Record, answers: Callable[[Record], Any]) -> None:
    bench.place(stored)
    before = bench.raw(KEY)
    answer = bench.store.guard(request(request_hash="v1:aa"), RESULT, [bench.put_order("o-1")])
    assert answer == answers(stored)
    assert bench.raw(KEY) == before
    assert bench.order("o-1") is None


@pytest.mark.parametrize(
    ("stored", "attempt"),
    [
        (lapsed(), 3),
        (record(Status.FAILED, failure=RECLAIMABLE), 3),
        (record(Status.SUCCEEDED, expires_at=NOW_S - 1), 1),
    ],
    ids=["lapsed", "reclaimable", "expired"],
)
def test_a_guard_takes_over_what_a_claim_could_take_over(bench: Bench, stored: Record, attempt: int) -> None:
    bench.place(stored)
    answer = bench.store.guard(request(), RESULT, [bench.put_order("o-1")])
    found = bench.store.get(KEY)
    assert found is not None
    assert answer == Succeeded(found)
    assert (found.claim_token, found.attempt, found.status, found.failure) == ("mine", attempt, Status.SUCCEEDED, None)
    assert bench.order("o-1") == {"orderId": {"S": "o-1"}}


def test_a_guard_is_refused_by_the_callers_own_condition_and_nothing_is_written(bench: Bench) -> None:
    bench.store.guard(_other("seed"), RESULT, [bench.put_order("o-1", state="old")])
    with pytest.raises(WriteRefused) as refused:
        bench.store.guard(request(), RESULT, [bench.put_order("o-1", only_new=True, state="new")])
    assert refused.value.index == 0
    assert bench.raw(KEY) is None
    assert bench.order("o-1") == {"orderId": {"S": "o-1"}, "state": {"S": "old"}}


def big(order_id: str) -> Put:
    return Put("orders", {"orderId": {"S": order_id}, "text": {"S": "x" * 390_000}})


IMPOSSIBLE: dict[str, Sequence[Any]] = {
    "100 writes and the record": [Put("orders", {"orderId": {"S": str(number)}}) for number in range(100)],
    "more than 4 MB": [big(str(number)) for number in range(11)],
    "two writes on one item": [
        Update("orders", {"orderId": {"S": "o-1"}}, "SET a = :a", values={":a": {"S": "1"}}),
        Delete("orders", {"orderId": {"S": "o-1"}}),
    ],
    "a put and a delete of one item": [
        Put("orders", {"orderId": {"S": "o-1"}, "a": {"S": "1"}}),
        Delete("orders", {"orderId": {"S": "o-1"}}),
    ],
    "not an action": [{"Get": {}}],
    "two actions in one": [{"Put": {}, "Delete": {}}],
    "no action": [{}],
    "no table": [{"Put": {"Item": {"orderId": {"S": "o-1"}}}}],
    "no item": [{"Put": {"TableName": "orders"}}],
    "nothing in it": [{"Put": None}],
    "a plain value": [Put("orders", {"orderId": "o-1"})],
    "an empty value": [Put("orders", {"orderId": {}})],
    "a number as text": [Put("orders", {"orderId": {"S": 1}})],
    "something else": [42],
}


@pytest.mark.parametrize("writes", IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_what_no_transaction_can_hold_is_refused_before_anything_is_sent(bench: Bench, writes: Sequence[Write]) -> None:
    claim = won(bench.store.claim(request()))
    before = bench.raw(KEY)
    sent = bench.requests()
    with pytest.raises(TransactionRefused):
        bench.store.complete(claim, RESULT, LATER, writes)
    with pytest.raises(TransactionRefused):
        bench.store.guard(_other("guard"), RESULT, writes)
    assert bench.requests() == sent
    assert bench.raw(KEY) == before


def test_99_writes_and_the_record_are_one_transaction(bench: Bench) -> None:
    claim = won(bench.store.claim(request()))
    bench.store.complete(claim, RESULT, LATER, [bench.put_order(f"o-{number}") for number in range(99)])
    assert bench.order("o-98") == {"orderId": {"S": "o-98"}}


def _other(token: str) -> Any:
    return request(token, key=Key("orders.seed", token))


def test_results_of_every_kind_can_be_committed(bench: Bench) -> None:
    for number, result in enumerate((RESULT, StoredResult("id", "ord-7"), StoredResult("omitted", "too large"))):
        claim = won(bench.store.claim(request(f"t-{number}", key=Key(KEY.operation, f"k-{number}"))))
        bench.store.complete(claim, result, None, [])
        stored = bench.store.get(claim.key)
        assert stored is not None
        assert stored.result == result
