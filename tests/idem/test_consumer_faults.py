"""When something goes wrong around the work: what is recorded, and what the next delivery gets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from idem import Commit, Lapsed, MemoryStore, Policy, Put
from idem.delivery import Busy, Done, Overtaken, Rejected, Retry, Unavailable, Unsettled
from idem.dynamo.schema import primary_key, to_item
from idem.errors import (
    ClaimLost,
    CorruptRecord,
    StoredFailure,
    TransactionRefused,
    UnsettledWork,
    WriteRefused,
)
from idem.record import Status, StoredResult
from idem.results import NotKept
from idem.testing import Crash, FaultyStore, crash_after, lose_answer, refuse
from tests.idem.benches import DynamoBench
from tests.idem.builders import KEY, NOW
from tests.idem.builders import record as another
from tests.idem.clocks import TestClock
from tests.idem.consumers import DAY, POLICY, Bench, Final, raising, stored


def test_an_error_that_cannot_be_recorded_is_still_the_works_own(clock: TestClock) -> None:
    error = Final("no such customer")
    store = FaultyStore(MemoryStore(clock), refuse("fail"))
    outcome = Bench(clock, raising(error), store=store, policy=POLICY).one()
    assert outcome == Retry(error)  # not Rejected: nobody could answer for it the next time
    assert any("record" in note for note in error.__notes__)


def test_an_error_that_cannot_be_released_is_still_the_works_own(clock: TestClock) -> None:
    error = KeyError("x")
    outcome = Bench(
        clock, raising(error), store=FaultyStore(MemoryStore(clock), refuse("release")), policy=POLICY
    ).one()
    assert outcome == Retry(error)
    assert error.__notes__


def test_work_whose_claim_was_lost_is_not_reported_as_done(clock: TestClock) -> None:
    def overtaken(_payload: Any, _claim: Any) -> None:
        bench.memory.records[KEY] = replace(another(), key=KEY)

    bench = Bench(clock, overtaken)
    outcome = bench.one()
    assert isinstance(outcome, Overtaken)
    assert isinstance(outcome.error, ClaimLost)
    assert stored(bench) == replace(another(), key=KEY)


def test_work_that_failed_after_its_claim_was_lost_keeps_its_error(clock: TestClock) -> None:
    def overtaken(_payload: Any, _claim: Any) -> None:
        bench.memory.records[KEY] = replace(another(), key=KEY)
        raise Final

    bench = Bench(clock, overtaken, policy=POLICY)
    outcome = bench.one()
    assert isinstance(outcome, Retry)
    assert isinstance(outcome.error, Final)
    assert stored(bench) == replace(another(), key=KEY)


def test_done_work_that_could_not_be_recorded_is_not_acknowledged(clock: TestClock) -> None:
    bench = Bench(clock, store=FaultyStore(MemoryStore(clock), refuse("complete")))
    outcome = bench.one()
    assert isinstance(outcome, Unavailable)
    assert outcome.ran


def test_while_the_table_is_away_nothing_is_run(clock: TestClock) -> None:
    bench = Bench(clock, store=FaultyStore(MemoryStore(clock), refuse("claim"), refuse("claim", 2)))
    for _ in range(2):
        outcome = bench.one()
        assert isinstance(outcome, Unavailable)
        assert not outcome.ran
    assert bench.ran == []
    assert isinstance(bench.one(), Done)


def test_a_record_that_cannot_be_read_is_not_guessed_at(clock: TestClock) -> None:
    class Corrupt(MemoryStore):
        def claim(self, wanted: Any) -> Any:
            raise CorruptRecord(wanted.key, "made up")

    bench = Bench(clock, store=Corrupt(clock))
    outcome = bench.one()
    assert isinstance(outcome, Unavailable)
    assert (outcome.ran, bench.ran) == (False, [])


@pytest.mark.parametrize("error", [KeyboardInterrupt, Crash])
def test_what_ends_the_process_is_not_caught_and_leaves_the_claim_to_its_lease(
    clock: TestClock, error: type[BaseException]
) -> None:
    def dies(_payload: Any, _claim: Any) -> None:
        raise error

    bench = Bench(clock, dies)
    with pytest.raises(error):
        bench.one(seconds=30)
    assert stored(bench).status is Status.IN_PROGRESS
    assert bench.one({"id": "o-1"}, seconds=30) == Busy(NOW + 31_000 + 2_000)


def test_work_that_died_is_run_again_after_its_lease(clock: TestClock) -> None:
    dead = Bench(clock, store=FaultyStore(MemoryStore(clock), crash_after("claim")))
    with pytest.raises(Crash):
        dead.one(seconds=30)
    clock.pass_ms(31_000 + 2_000)
    assert dead.one(seconds=30) == Done({"id": "o-1"}, replayed=False, attempt=2)


def test_work_that_died_is_left_to_a_person_where_the_policy_holds_it(clock: TestClock) -> None:
    policy = Policy(retention=DAY, lapsed=Lapsed.HOLD)
    dead = Bench(clock, store=FaultyStore(MemoryStore(clock), crash_after("begin")), policy=policy)
    with pytest.raises(Crash):
        dead.one(seconds=30)
    clock.pass_ms(600_000)
    outcome = dead.one(seconds=30)
    assert isinstance(outcome, Unsettled)
    assert isinstance(outcome.error, UnsettledWork)
    assert dead.ran == []


def test_an_answer_lost_after_recording_makes_the_redelivery_a_replay(clock: TestClock) -> None:
    bench = Bench(clock, store=FaultyStore(MemoryStore(clock), lose_answer("complete")))
    assert isinstance(bench.one(), Unavailable)
    assert bench.one() == Done({"id": "o-1"}, replayed=True, attempt=1)
    assert bench.ran == ["o-1"]


def test_writes_are_committed_with_the_record(clock: TestClock) -> None:
    write = Put("orders", {"orderId": {"S": "o-1"}})
    bench = Bench(clock, lambda _payload, _claim: Commit([write], {"shipped": True}))
    assert bench.one() == Done({"shipped": True}, replayed=False, attempt=1)
    assert bench.one() == Done({"shipped": True}, replayed=True, attempt=1)
    assert bench.memory.written == [write]


def test_a_refused_write_is_the_works_failure_and_classified_like_one(clock: TestClock) -> None:
    write = Put("orders", {"orderId": {"S": "o-1"}}, condition="attribute_not_exists(orderId)")
    store = MemoryStore(clock, refuse=lambda _write: True)
    policy = Policy(retention=DAY, permanent=(WriteRefused,))
    bench = Bench(clock, lambda _payload, _claim: Commit([write]), store=store, policy=policy)
    outcome = bench.one()
    assert isinstance(outcome, Rejected)
    assert isinstance(outcome.error, WriteRefused)
    again = bench.one()
    assert isinstance(again, Rejected)
    assert isinstance(again.error, StoredFailure)
    assert store.written == []


@pytest.mark.parametrize("writes", [[42], [{"Put": {}}], [{}], None, 7])
def test_a_commit_that_cannot_be_sent_is_the_works_failure(clock: TestClock, writes: Any) -> None:
    bench = Bench(clock, lambda _payload, _claim: Commit(writes))
    outcome, other = bench({"id": "o-1"}, {"id": "o-2"})
    for ending in (outcome, other):
        assert isinstance(ending, Retry)
        assert isinstance(ending.error, TransactionRefused)
    assert stored(bench).status is Status.FAILED


ODD_RESULTS = {"no JSON": "{broken", "100,000 levels": "[" * 100_000, "5,000 digits": "1" * 5_000, "nothing": ""}


@pytest.mark.parametrize("text", ODD_RESULTS.values(), ids=ODD_RESULTS)
def test_a_stored_result_that_nobody_can_read_was_not_kept_and_its_neighbours_are_done(
    clock: TestClock, text: str
) -> None:
    bench = Bench(clock)
    done = another(Status.SUCCEEDED, result=StoredResult("json", text))
    bench.memory.records[KEY] = done
    first, second, third = bench({"id": "o-0"}, {"id": "o-1"}, {"id": "o-2"})
    assert isinstance(second, Done)
    assert isinstance(second.result, NotKept)
    assert [type(one) for one in (first, third)] == [Done, Done]
    assert bench.ran == ["o-0", "o-2"]
    assert bench.memory.records[KEY] == done


@pytest.mark.parametrize(
    "changes",
    [
        {"schema": {"N": "99"}},
        {"origin": {"L": []}},
        {"decided": {"S": "release"}},
        {"claimToken": {"N": "1"}},
        {"status": {"S": "done"}},
    ],
    ids=repr,
)
@pytest.mark.parametrize("concurrency", [1, 3])
def test_an_item_that_is_no_record_keeps_back_its_own_delivery_alone(
    clock: TestClock, dynamo: DynamoBench, changes: dict[str, Any], concurrency: int
) -> None:
    item = to_item(another(), dynamo.sort_value) | changes
    dynamo.client.put_item(TableName=dynamo.table, Item=item)
    bench = Bench(clock, store=dynamo.store, concurrency=concurrency)
    first, second, third = bench({"id": "o-0"}, {"id": "o-1"}, {"id": "o-2"})
    assert isinstance(second, Unavailable)
    assert isinstance(second.error, CorruptRecord)
    assert [type(one) for one in (first, third)] == [Done, Done]
    address = primary_key(KEY, dynamo.sort_value)
    assert dynamo.client.get_item(TableName=dynamo.table, Key=address)["Item"] == item
