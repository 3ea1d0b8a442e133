"""Work that only writes to DynamoDB: a plan, one transaction with the record, and no claim before it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from idem import Commit, Consumer, Delivery, MemoryStore, Policy, Put, SqsSource, keys
from idem.delivery import Done, Ending, NotStarted, Outcome, Rejected, Retry, Unavailable
from idem.errors import ConfigurationError, RequestMismatch, StoredFailure, WriteRefused
from idem.record import Answer, Key, Record, Request, Status
from idem.testing import FaultyStore, LambdaContext, lose_answer, refuse, sqs_event
from tests.idem.benches import Bench as StoreBench
from tests.idem.builders import lapsed, record
from tests.idem.clocks import TestClock
from tests.idem.consumers import DAY, Final

KEY = Key("orders.enter", "o-1")


class Planned:
    """A consumer with a plan, and what became of what it was given."""

    def __init__(self, clock: TestClock, store: Any, plan: Any, **more: Any) -> None:
        self.endings: list[Ending] = []
        self.planned: list[str] = []
        self._plan = plan
        self.consumer = Consumer(
            operation="orders.enter",
            source=SqsSource(clock=clock),
            key=keys.field("id"),
            plan=self._planned,
            policy=Policy(retention=DAY, permanent=(Final,)),
            store=store,
            observe=self.endings.append,
            clock=clock,
        )
        self.consumer = replace(self.consumer, **more)

    def _planned(self, delivery: Delivery) -> Any:
        self.planned.append(delivery.payload["id"])
        return self._plan(delivery)

    def __call__(self, *payloads: Any) -> list[Outcome]:
        self.endings.clear()
        self.consumer(sqs_event(*payloads or ({"id": "o-1"},)))
        return [ending.outcome for ending in self.endings]


def entering(bench: StoreBench) -> Any:
    return lambda delivery: Commit([bench.put_order(delivery.payload["id"], only_new=True)], {"entered": True})


def test_the_writes_and_the_record_are_made_at_once_and_once(bench: StoreBench, clock: TestClock) -> None:
    planned = Planned(clock, bench.store, entering(bench))
    assert planned() == [Done({"entered": True}, replayed=False, attempt=1)]
    assert planned() == [Done({"entered": True}, replayed=True, attempt=1)]
    stored = bench.store.get(KEY)
    assert stored is not None
    assert stored.status is Status.SUCCEEDED
    assert bench.order("o-1") == {"orderId": {"S": "o-1"}}


def test_a_batch_of_plans_is_answered_one_by_one(bench: StoreBench, clock: TestClock) -> None:
    planned = Planned(clock, bench.store, entering(bench))
    planned({"id": "o-2"})
    outcomes = planned({"id": "o-1"}, {"id": "o-2"}, {"id": "o-1"}, {"id": "o-3"})
    assert [type(one) for one in outcomes] == [Done] * 4
    assert [isinstance(one, Done) and one.replayed for one in outcomes] == [False, True, True, False]


@pytest.mark.parametrize("seconds", [0.1, 0.4])
def test_no_plan_starts_without_the_time_to_make_its_writes(clock: TestClock, seconds: float) -> None:
    planned = Planned(clock, MemoryStore(clock), lambda _delivery: Commit([]))
    planned.consumer(sqs_event({"id": "o-1"}), LambdaContext(clock, seconds=seconds))
    assert [type(ending.outcome) for ending in planned.endings] == [NotStarted]
    assert planned.planned == []


def test_a_refused_write_is_the_plans_failure_and_leaves_no_record(bench: StoreBench, clock: TestClock) -> None:
    Planned(clock, bench.store, entering(bench), operation="orders.seed")()
    (outcome,) = Planned(clock, bench.store, entering(bench))()
    assert isinstance(outcome, Retry)
    assert isinstance(outcome.error, WriteRefused)
    assert bench.store.get(KEY) is None


def test_a_permanent_error_of_a_plan_is_recorded_and_answers_from_then_on(clock: TestClock) -> None:
    def plan(_delivery: Delivery) -> Any:
        raise Final("no such customer")

    planned = Planned(clock, MemoryStore(clock), plan)
    (first,) = planned()
    (again,) = planned()
    assert isinstance(first, Rejected)
    assert isinstance(first.error, Final)
    assert isinstance(again, Rejected)
    assert isinstance(again.error, Final | StoredFailure)
    assert again.recorded


def test_a_transient_error_of_a_plan_leaves_no_record(clock: TestClock) -> None:
    def plan(_delivery: Delivery) -> Any:
        raise TimeoutError

    store = MemoryStore(clock)
    (outcome,) = Planned(clock, store, plan)()
    assert isinstance(outcome, Retry)
    assert store.records == {}


@pytest.mark.parametrize("value", [None, {"entered": True}, [Put("orders", {})]])
def test_a_plan_that_returns_no_commit_is_a_mistake_and_records_nothing(clock: TestClock, value: Any) -> None:
    store = MemoryStore(clock)
    (outcome,) = Planned(clock, store, lambda _delivery: value)()
    assert isinstance(outcome, Retry)
    assert isinstance(outcome.error, ConfigurationError)
    assert store.records == {}


def test_writes_left_over_in_a_plans_result_are_a_mistake_and_record_nothing(clock: TestClock) -> None:
    store = MemoryStore(clock)
    (outcome,) = Planned(clock, store, lambda _delivery: Commit([], [Put("orders", {})]))()
    assert isinstance(outcome, Retry)
    assert store.records == {}


@pytest.mark.parametrize("writes", [[42], [{"Put": {}}], None, 7])
def test_a_plan_that_cannot_be_sent_is_its_own_failure_and_stops_no_other(clock: TestClock, writes: Any) -> None:
    bad, good = Planned(
        clock,
        MemoryStore(clock),
        lambda delivery: Commit(writes if delivery.payload["id"] == "bad" else [], None),
    )({"id": "bad"}, {"id": "good"})
    assert isinstance(bad, Retry)
    assert isinstance(good, Done)


@pytest.mark.parametrize("found", [record(), lapsed(), record(Status.FAILED)], ids=["held", "lapsed", "failed"])
def test_what_stands_under_the_key_decides(clock: TestClock, found: Record) -> None:
    store = MemoryStore(clock)
    store.records[KEY] = replace(found, key=KEY)
    (outcome,) = Planned(clock, store, lambda _delivery: Commit([]))()
    assert isinstance(outcome, Done) is (found == lapsed())
    assert found == lapsed() or store.records[KEY] == replace(found, key=KEY)


def test_another_request_under_the_same_key_is_refused(clock: TestClock) -> None:
    planned = Planned(clock, MemoryStore(clock), lambda _delivery: Commit([]), check=lambda delivery: delivery.payload)
    planned({"id": "o-1", "n": 1})
    (outcome,) = planned({"id": "o-1", "n": 2})
    assert isinstance(outcome, Rejected)
    assert isinstance(outcome.error, RequestMismatch)


def test_while_the_table_is_away_nothing_is_acknowledged(clock: TestClock) -> None:
    planned = Planned(clock, FaultyStore(MemoryStore(clock), refuse("guard")), lambda _delivery: Commit([]))
    (outcome,) = planned()
    assert isinstance(outcome, Unavailable)
    assert planned() == [Done(None, replayed=False, attempt=1)]


def test_an_answer_lost_after_the_transaction_makes_the_redelivery_a_replay(clock: TestClock) -> None:
    memory = MemoryStore(clock)
    write = Put("orders", {"orderId": {"S": "o-1"}})
    planned = Planned(clock, FaultyStore(memory, lose_answer("guard")), lambda _delivery: Commit([write], 7))
    (outcome,) = planned()
    assert isinstance(outcome, Unavailable)
    assert planned() == [Done(7, replayed=True, attempt=1)]
    assert memory.written == [write]


def test_the_claim_of_a_plan_that_is_rejected_for_good_lives_for_its_lease(clock: TestClock) -> None:
    claimed: list[Record] = []

    class Watched(MemoryStore):
        def claim(self, wanted: Request) -> Answer:
            answer = super().claim(wanted)
            claimed.append(self.records[wanted.key])
            return answer

    store = Watched(clock, refuse=lambda _write: True)
    policy = Policy(retention=timedelta(seconds=5), permanent=(WriteRefused,))
    (outcome,) = Planned(clock, store, lambda _delivery: Commit([Put("orders", {"pk": {"S": "1"}})]), policy=policy)()
    assert isinstance(outcome, Rejected)
    (held,) = claimed
    assert held.expires_at is not None
    assert held.lease_until is not None
    assert held.expires_at * 1000 >= held.lease_until
