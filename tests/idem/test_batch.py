"""A batch: one run for each key, order kept inside a group, nothing started that could not be recorded."""

from __future__ import annotations

import gc
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from idem import MemoryStore, Policy
from idem.delivery import Busy, Done, NotStarted, Rejected, Unavailable, Unsettled
from idem.errors import RequestMismatch, StoreUnavailable
from idem.flow import Flow
from idem.record import Claim, Key, Status
from idem.testing import Crash, FaultyStore, refuse, sqs_event
from tests.idem.builders import NOW, RESULT
from tests.idem.builders import record as another
from tests.idem.clocks import TestClock
from tests.idem.consumers import DAY, Bench


def fails_on(*bad: str) -> Any:
    def work(payload: Any, _claim: Any) -> Any:
        if payload["id"] in bad:
            raise ValueError(payload["id"])
        return payload["id"]

    return work


def ids(*names: str) -> list[Any]:
    return [{"id": name} for name in names]


def kinds(outcomes: list[Any]) -> list[str]:
    return [type(outcome).__name__ for outcome in outcomes]


@pytest.mark.parametrize("group", [None, "g"])
def test_a_key_that_comes_twice_in_a_batch_is_run_once_and_both_get_its_outcome(
    clock: TestClock, group: str | None
) -> None:
    bench = Bench(clock, fails_on())
    first, again, other = bench(*ids("a", "a", "b"), group=group)
    assert (first, again) == (Done("a", replayed=False, attempt=1), Done("a", replayed=True, attempt=1))
    assert other == Done("b", replayed=False, attempt=1)
    assert bench.ran == ["a", "b"]


def test_a_key_that_fails_is_not_tried_twice_in_one_batch(clock: TestClock) -> None:
    bench = Bench(clock, fails_on("a"))
    assert kinds(bench(*ids("a", "b", "a"))) == ["Retry", "Done", "Retry"]
    assert bench.ran == ["a", "b"]


def test_a_key_with_two_requests_in_one_batch_is_a_mismatch(clock: TestClock) -> None:
    bench = Bench(clock, fails_on(), check=lambda delivery: delivery.payload)
    first, other, same = bench({"id": "a", "n": 1}, {"id": "a", "n": 2}, {"n": 1.0, "id": "a"})
    assert isinstance(first, Done)
    assert isinstance(other, Rejected)
    assert isinstance(other.error, RequestMismatch)
    assert same == Done("a", replayed=True, attempt=1)
    assert bench.ran == ["a"]


def test_messages_of_a_standard_queue_do_not_stop_each_other(clock: TestClock) -> None:
    assert kinds(Bench(clock, fails_on("b"))(*ids("a", "b", "c"))) == ["Done", "Retry", "Done"]


@pytest.mark.parametrize("before", [Status.IN_PROGRESS, Status.FAILED])
def test_an_ordered_group_stops_at_the_first_message_that_is_not_done(clock: TestClock, before: Status) -> None:
    bench = Bench(clock, fails_on())
    bench.memory.records[Key("orders.fulfil", "b")] = another(before, key=Key("orders.fulfil", "b"))
    first, stopped, *after = bench(*ids("a", "b", "c", "d"), group="g")
    assert isinstance(first, Done)
    assert isinstance(stopped, Busy | Rejected)
    assert kinds(after) == ["NotStarted", "NotStarted"]
    assert bench.ran == ["a"]


def test_a_message_that_cannot_be_read_stops_its_group_too(clock: TestClock) -> None:
    outcomes = Bench(clock, fails_on())({"id": "a"}, "{", {"id": "c"}, group="g")
    assert kinds(outcomes) == ["Done", "Rejected", "NotStarted"]


def test_groups_do_not_stop_each_other_and_are_forgotten_after_the_batch(clock: TestClock) -> None:
    bench = Bench(clock, fails_on("a1"))
    event = sqs_event(*ids("a1", "b1", "a2", "b2"), group="a")
    for record, group in zip(event["Records"], "abab", strict=True):
        record["attributes"] = record["attributes"] | {"MessageGroupId": group}
    answer = bench.consumer(event)
    assert [one["itemIdentifier"] for one in answer["batchItemFailures"]] == ["message-1", "message-3"]
    assert bench.ran == ["a1", "b1", "b2"]
    assert kinds(bench(*ids("a2"), group="a")) == ["Done"]


def test_what_an_ordered_group_did_not_start_can_be_claimed_at_once(clock: TestClock) -> None:
    bench = Bench(clock, fails_on("a"))
    bench(*ids("a", "b"), group="g", seconds=30)
    other = Bench(clock, fails_on(), store=bench.memory)
    assert isinstance(other.one({"id": "b"}), Done)


def test_near_the_end_of_the_invocation_the_rest_is_reported_and_can_be_claimed_at_once(clock: TestClock) -> None:
    bench = Bench(clock, lambda _payload, _claim: clock.pass_ms(4_000))
    outcomes = bench(*ids("a", "b", "c", "d"), seconds=10)
    assert kinds(outcomes) == ["Done", "Done", "Done", "NotStarted"]
    assert bench.ran == ["a", "b", "c"]
    other = Bench(clock, fails_on(), store=bench.memory)
    assert kinds(other(*ids("a", "d"))) == ["Done", "Done"]
    assert other.ran == ["d"]


def test_giving_back_what_was_not_started_keeps_the_count_of_what_was(clock: TestClock) -> None:
    policy = Policy(retention=DAY, starts_max=2)
    failing = Bench(clock, fails_on("b"), policy=policy)
    failing.one({"id": "b"})
    slow = Bench(clock, lambda _payload, _claim: clock.pass_ms(9_800), policy=policy, store=failing.memory)
    assert kinds(slow(*ids("a", "b"), seconds=10)) == ["Done", "NotStarted"]
    last = Bench(clock, fails_on("b"), policy=policy, store=failing.memory)
    assert kinds([last.one({"id": "b"})]) == ["Rejected"]
    assert last.claims[0].starts == 2
    assert last.claims[0].attempt >= 2


@pytest.mark.parametrize("limit", [2, 3])
def test_a_neighbour_that_kills_the_process_uses_up_nobody_elses_attempts(clock: TestClock, limit: int) -> None:
    def work(payload: Any, _claim: Any) -> None:
        if payload["id"] == "killer":
            raise Crash

    bench = Bench(clock, work, policy=Policy(retention=DAY, starts_max=limit))
    for count in range(limit):
        with pytest.raises(Crash):
            bench(*ids("killer", "victim"), seconds=10, receive_count=count + 1)
        clock.pass_ms(60_000)
    killer, victim = bench(*ids("killer", "victim"), seconds=10, receive_count=limit + 1)
    assert isinstance(killer, Unsettled)
    assert isinstance(victim, Done)
    assert bench.ran == ["killer"] * limit + ["victim"]
    assert bench.claims[-1].starts == 1


def test_work_that_was_done_before_a_suspect_is_recorded_before_the_suspect_runs(clock: TestClock) -> None:
    before: list[Status] = []

    def work(payload: Any, _claim: Any) -> None:
        if payload["id"] == "suspect":
            before.append(bench.memory.records[Key("orders.fulfil", "a")].status)

    bench = Bench(clock, work)
    bench(*ids("a", "suspect"), receive_count=2)
    assert before == [Status.SUCCEEDED]


def test_work_that_is_taken_over_is_a_suspect_however_new_its_message_is(clock: TestClock) -> None:
    before: list[Status] = []

    def work(payload: Any, _claim: Any) -> None:
        if payload["id"] == "suspect":
            if "a" not in bench.ran:
                raise Crash
            before.append(bench.memory.records[Key("orders.fulfil", "a")].status)

    bench = Bench(clock, work)
    with pytest.raises(Crash):
        bench(*ids("suspect"), seconds=10)
    clock.pass_ms(60_000)
    bench(*ids("a", "suspect"), seconds=10, receive_count=1)
    assert before == [Status.SUCCEEDED]


def test_one_at_a_time_groups_are_worked_on_in_the_order_of_their_arrival(clock: TestClock) -> None:
    bench = Bench(clock)
    records = [
        {**sqs_event({"id": name}, group=group)["Records"][0], "messageId": name}
        for group, name in [("A", "1"), ("A", "2"), ("B", "3"), ("A", "4"), ("B", "5")]
    ]
    bench.consumer({"Records": records}, None)
    assert bench.ran == ["1", "2", "3", "4", "5"]


def test_a_batch_of_any_size_is_answered_whole(clock: TestClock) -> None:
    names = [f"k-{number}" for number in range(120)]
    bench = Bench(clock, fails_on("k-7", "k-99"))
    outcomes = bench(*ids(*names))
    assert [number for number, outcome in enumerate(outcomes) if not isinstance(outcome, Done)] == [7, 99]
    assert bench.ran == names


def test_an_observer_sees_every_delivery_and_cannot_break_the_answer(
    clock: TestClock, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[Any] = []

    def observe(ending: Any) -> None:
        seen.append(ending)
        raise RuntimeError("the metrics are away")

    bench = Bench(clock, fails_on("b"), observe=observe)
    answer = bench.consumer(sqs_event(*ids("a", "b"), "{"))
    assert [one["itemIdentifier"] for one in answer["batchItemFailures"]] == ["message-2", "message-3"]
    assert [ending.key for ending in seen] == [Key("orders.fulfil", "a"), Key("orders.fulfil", "b"), None]
    assert [ending.operation for ending in seen] == ["orders.fulfil"] * 3
    assert all(ending.started <= ending.ended for ending in seen)
    assert len(caplog.records) >= 3


def test_what_could_not_be_recorded_is_reported_and_the_rest_is_not(clock: TestClock) -> None:
    class Deaf(MemoryStore):
        """Cannot record the outcome of b."""

        def complete(self, claim: Any, result: Any, expires_at: Any, writes: Any = None) -> None:
            if claim.key.identity == "b":
                raise StoreUnavailable("complete", "X", "made up")
            super().complete(claim, result, expires_at, writes)

    outcomes = Bench(clock, fails_on(), store=Deaf(clock))(*ids("a", "b", "c"))
    assert kinds(outcomes) == ["Done", "Unavailable", "Done"]
    assert isinstance(outcomes[1], Unavailable)
    assert outcomes[1].ran


def test_while_the_table_is_away_a_batch_is_reported_whole_and_nothing_is_run(clock: TestClock) -> None:
    bench = Bench(clock, store=FaultyStore(MemoryStore(clock), *[refuse("claim", number) for number in (1, 2, 3)]))
    assert kinds(bench(*ids("a", "b", "c"))) == ["Unavailable"] * 3
    assert bench.ran == []


def test_a_batch_of_redeliveries_runs_only_what_was_not_done(clock: TestClock) -> None:
    bench = Bench(clock, fails_on("b"))
    bench(*ids("a", "b", "c"))
    outcomes = bench(*ids("a", "b", "c", "d"), receive_count=2)
    assert kinds(outcomes) == ["Done", "Retry", "Done", "Done"]
    assert [isinstance(one, Done) and one.replayed for one in outcomes] == [True, False, True, False]
    assert bench.ran == ["a", "b", "c", "b", "d"]


def held(bench: Bench, until: int = NOW + 600_000) -> None:
    key = Key("orders.fulfil", "o-1")
    bench.memory.records[key] = another(key=key, lease_until=until)


class Finishing(MemoryStore):
    """Another worker finishes the key at a given time."""

    at = NOW + 10**9

    def get(self, key: Key) -> Any:
        if self._clock.now_ms() >= self.at:
            self.records[key] = another(Status.SUCCEEDED, key=key, result=RESULT)
        return super().get(key)


def waiting(clock: TestClock, seconds: float) -> tuple[Bench, Finishing]:
    store = Finishing(clock)
    policy = Policy(retention=DAY, wait=DAY.__class__(seconds=seconds))
    bench = Bench(clock, store=store, policy=policy)
    bench.memory = store
    held(bench)
    return bench, store


def test_a_duplicate_is_told_at_once_to_come_back_where_the_policy_does_not_wait(clock: TestClock) -> None:
    bench = Bench(clock)
    held(bench)
    assert bench.one() == Busy(NOW + 602_000)
    assert clock.slept == []


def test_a_duplicate_waits_for_the_attempt_in_flight_and_gets_its_result(clock: TestClock) -> None:
    bench, store = waiting(clock, 5)
    store.at = NOW + 3_000
    assert bench.one() == Done({"shipped": True}, replayed=True, attempt=2)
    assert 3_000 <= sum(clock.slept) <= 4_000
    assert bench.ran == []


def test_a_result_that_comes_in_the_last_pause_is_not_missed(clock: TestClock) -> None:
    bench, store = waiting(clock, 5)
    store.at = NOW + 4_900
    assert bench.one() == Done({"shipped": True}, replayed=True, attempt=2)
    assert sum(clock.slept) == 5_000


def test_patience_ends_and_pauses_grow_meanwhile(clock: TestClock) -> None:
    bench, _ = waiting(clock, 5)
    assert isinstance(bench.one(), Busy)
    assert sum(clock.slept) == 5_000
    assert clock.slept[:4] == [50, 100, 200, 400]
    assert len(clock.slept) < 20


def test_what_ends_in_the_last_pause_is_still_seen(clock: TestClock) -> None:
    bench = Bench(clock, policy=Policy(retention=DAY, wait=timedelta(milliseconds=50)))
    flow = Flow(operation="orders.fulfil", store=bench.memory, policy=Policy(retention=DAY), clock=clock)
    claim = bench.memory.claim(flow.request(Key("orders.fulfil", "o-1"), ends_at=None))
    assert isinstance(claim, Claim)
    clock.later(20, lambda: bench.memory.complete(claim, RESULT, None))
    assert isinstance(bench.one(), Done)
    assert clock.slept == [50]


def test_a_released_key_is_claimed_by_whoever_waits_for_it(clock: TestClock) -> None:
    bench, store = waiting(clock, 5)
    store.records[Key("orders.fulfil", "o-1")] = another(key=Key("orders.fulfil", "o-1"), lease_until=NOW + 500)
    assert bench.one() == Done({"id": "o-1"}, replayed=False, attempt=3)
    assert clock.now_ms() < NOW + 500 + 2_000 + 1_000


def test_waiting_leaves_the_time_that_the_invocation_needs_to_answer(clock: TestClock) -> None:
    bench, _ = waiting(clock, 60)
    assert isinstance(bench.one(seconds=5), Busy)
    assert clock.now_ms() <= NOW + 4_500


def test_retention_of_a_waiting_claim_counts_from_its_outcome(clock: TestClock) -> None:
    bench, store = waiting(clock, 5)
    key = Key("orders.fulfil", "o-1")
    store.records[key] = replace(another(key=key), lease_until=NOW - 1_000)
    bench.one()
    assert store.records[key].expires_at == -(-clock.now_ms() // 1000) + 86_400
    assert isinstance(bench.one({"id": "o-2"}), Done)


def test_an_invocation_leaves_nothing_for_the_garbage_collector(clock: TestClock) -> None:
    bench = Bench(clock, fails_on())
    bench(*ids("a", "b"))
    gc.collect()
    gc.disable()
    try:
        bench(*ids("b", "c"))
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_not_started_says_so(clock: TestClock) -> None:
    bench = Bench(clock)
    (outcome,) = bench(*ids("a"), seconds=0.1)
    assert outcome == NotStarted("the invocation or its lease ends too soon to start it")
    assert bench.ran == []


def test_what_is_done_is_recorded_beside_work_that_takes_long(clock: TestClock) -> None:
    def work(payload: Any, claim: Any) -> None:
        if payload["id"] == "slow" and claim.attempt == 1:
            clock.pass_ms(5_000)
            raise Crash

    bench = Bench(clock, work)
    with pytest.raises(Crash):
        bench(*ids("quick", "slow"), seconds=10)
    clock.pass_ms(60_000)
    assert kinds(bench(*ids("quick", "slow"))) == ["Done", "Done"]
    assert bench.ran == ["quick", "slow", "slow"]
