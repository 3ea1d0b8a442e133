"""One delivery: each way it can end, what is then recorded, and what the next delivery gets."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from idem import Kind, MemoryStore, Policy, keys
from idem.delivery import Done, NotStarted, Rejected, Retry, Unavailable
from idem.errors import (
    ConfigurationError,
    InputRefused,
    MissingKeyPart,
    RequestMismatch,
    StoredFailure,
    StoreUnavailable,
)
from idem.record import Status
from idem.testing import FaultyStore, refuse, sqs_event
from tests.idem.builders import KEY, NOW, NOW_S, RECLAIMABLE
from tests.idem.builders import record as another
from tests.idem.clocks import TestClock
from tests.idem.consumers import DAY, POLICY, Bench, Final, Passing, raising, stored


def test_the_first_delivery_runs_the_work_and_every_later_one_gets_its_result(clock: TestClock) -> None:
    bench = Bench(clock, lambda payload, _: {"shipped": payload["id"]})
    assert bench.one() == Done({"shipped": "o-1"}, replayed=False, attempt=1)
    for _ in range(3):
        assert bench.one() == Done({"shipped": "o-1"}, replayed=True, attempt=1)
    assert bench.ran == ["o-1"]


def test_a_record_says_where_its_delivery_came_from_and_when_it_ends(clock: TestClock) -> None:
    bench = Bench(clock)
    bench.one(queue="orders")
    found = stored(bench)
    assert dict(found.origin) == {"source": "sqs", "queue": "orders", "messageId": "message-1"}
    assert (found.status, found.claimed_at, found.finished_at) == (Status.SUCCEEDED, NOW_S, NOW_S)
    assert (found.expires_at, found.lease_until) == (NOW_S + 86_400, None)


def test_retention_counts_from_the_outcome(clock: TestClock) -> None:
    bench = Bench(clock, lambda _payload, _claim: clock.pass_ms(60_500))
    bench.one()
    assert stored(bench).expires_at == NOW_S + 86_400 + 61


def test_the_lease_is_what_is_left_of_the_invocation_plus_a_margin(clock: TestClock) -> None:
    bench = Bench(clock)
    bench.one(seconds=30)
    bench.one({"id": "o-2"})
    assert [claim.lease_until for claim in bench.claims] == [NOW + 31_000, NOW + 15 * 60_000 + 1_000]


def test_a_context_of_an_earlier_invocation_is_not_used_again(clock: TestClock) -> None:
    bench = Bench(clock)
    bench.one(seconds=30)
    clock.pass_ms(600_000)
    bench.one({"id": "o-2"}, seconds=10)
    assert bench.claims[1].lease_until == NOW + 600_000 + 11_000


def test_a_transient_error_is_tried_again_by_the_next_delivery(clock: TestClock) -> None:
    error = Passing("slow")
    bench = Bench(clock, raising(error), policy=POLICY)
    assert bench.one() == Retry(error)
    assert stored(bench).failure is not None
    assert bench.one() == Retry(error)
    assert [claim.attempt for claim in bench.claims] == [1, 2]


def test_a_permanent_error_is_recorded_and_never_tried_again(clock: TestClock) -> None:
    bench = Bench(clock, raising(Final("no such customer")), policy=POLICY)
    first = bench.one()
    assert isinstance(first, Rejected)
    assert isinstance(first.error, Final)
    assert first.recorded
    again = bench.one()
    assert isinstance(again, Rejected)
    assert isinstance(again.error, StoredFailure)
    assert (again.error.type, again.error.reason) == ("Final", "no such customer")
    assert bench.ran == ["o-1"]


def test_an_error_to_forget_leaves_no_record(clock: TestClock) -> None:
    bench = Bench(clock, raising(KeyError("x")), policy=POLICY)
    assert isinstance(bench.one(), Retry)
    assert bench.memory.records == {}


@pytest.mark.parametrize(
    ("otherwise", "ending"), [(Kind.TRANSIENT, Retry), (Kind.PERMANENT, Rejected), (Kind.FORGET, Retry)]
)
def test_an_unlisted_error_is_what_the_policy_says(clock: TestClock, otherwise: Kind, ending: type) -> None:
    bench = Bench(clock, raising(ValueError()), policy=replace(POLICY, otherwise=otherwise))
    assert isinstance(bench.one(), ending)
    assert bool(bench.memory.records) is (otherwise is not Kind.FORGET)


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_work_is_started_as_often_as_the_policy_allows_and_the_last_failure_is_final(
    clock: TestClock, limit: int
) -> None:
    bench = Bench(clock, raising(Passing()), policy=replace(POLICY, starts_max=limit))
    endings = [bench.one() for _ in range(limit + 2)]
    kinds = [type(ending) for ending in endings]
    assert kinds == [Retry] * (limit - 1) + [Rejected] * 3
    assert len(bench.ran) == limit


def test_another_request_under_the_same_key_is_refused_and_never_run(clock: TestClock) -> None:
    bench = Bench(clock, check=lambda delivery: delivery.payload)
    assert isinstance(bench.one({"id": "o-1", "total": 1}), Done)
    outcome = bench.one({"id": "o-1", "total": 2})
    assert isinstance(outcome, Rejected)
    assert isinstance(outcome.error, RequestMismatch)
    assert bench.one({"total": 1.0, "id": "o-1"}) == Done({"id": "o-1", "total": 1}, replayed=True, attempt=1)
    assert bench.ran == ["o-1"]


def test_a_mismatch_is_told_even_while_the_first_is_in_flight(clock: TestClock) -> None:
    def nested(_payload: Any, _claim: Any) -> None:
        inner.append(other.one({"id": "o-1", "total": 2}))

    inner: list[Any] = []
    bench = Bench(clock, nested, check=lambda delivery: delivery.payload)
    other = Bench(clock, store=bench.memory, check=lambda delivery: delivery.payload)
    bench.one({"id": "o-1", "total": 1})
    assert isinstance(inner[0], Rejected)
    assert isinstance(inner[0].error, RequestMismatch)
    assert other.ran == []


@pytest.mark.parametrize(
    "rule",
    [
        lambda delivery: (delivery.payload["absent"],),
        lambda _delivery: (),
        lambda _delivery: None,
        lambda _delivery: (None,),
        lambda _delivery: ("",),
        lambda _delivery: 7,
        lambda delivery: (delivery.payload,),
        keys.field("absent"),
    ],
    ids=["raises", "no part", "null", "a null part", "an empty part", "no sequence", "no text", "missing"],
)
def test_a_delivery_without_a_key_is_rejected_and_the_others_are_worked_on(clock: TestClock, rule: Any) -> None:
    bench = Bench(clock, key=lambda delivery: (rule if delivery.payload["id"] == "bad" else keys.field("id"))(delivery))
    bad, good = bench({"id": "bad"}, {"id": "good"})
    assert isinstance(bad, Rejected)
    assert isinstance(bad.error, InputRefused)
    assert not bad.recorded
    assert isinstance(good, Done)
    assert bench.ran == ["good"]


def test_a_check_that_fails_is_a_rejected_delivery(clock: TestClock) -> None:
    bench = Bench(clock, check=lambda delivery: delivery.payload["absent"])
    outcome = bench.one()
    assert isinstance(outcome, Rejected)
    assert isinstance(outcome.error, MissingKeyPart)


def test_the_work_sees_its_key_and_its_attempt(clock: TestClock) -> None:
    bench = Bench(clock, raising(Passing()), policy=POLICY)
    bench.one()
    bench.one()
    assert [(claim.key, claim.attempt, claim.starts) for claim in bench.claims] == [(KEY, 1, 1), (KEY, 2, 2)]
    assert len({claim.token for claim in bench.claims}) == 2


def test_tokens_are_drawn_anew_for_each_claim(clock: TestClock) -> None:
    bench = Bench(clock, token=iter(["a", "b", "c"]).__next__)
    bench({"id": "o-1"}, {"id": "o-2"})
    bench.one({"id": "o-3"})
    assert [claim.token for claim in bench.claims] == ["a", "b", "c"]


@pytest.mark.parametrize(
    "more",
    [{"operation": "a#b"}, {"plan": lambda _delivery: None}, {"concurrency": 0}],
    ids=["operation", "work and plan", "concurrency"],
)
def test_a_consumer_that_is_put_together_wrongly_is_refused_at_once(clock: TestClock, more: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        Bench(clock, **more)


def test_a_failed_attempt_of_another_worker_is_taken_over(clock: TestClock) -> None:
    bench = Bench(clock)
    bench.memory.records[KEY] = another(Status.FAILED, failure=RECLAIMABLE, attempt=4)
    assert bench.one() == Done({"id": "o-1"}, replayed=False, attempt=5)


def test_the_event_is_what_the_source_says(clock: TestClock) -> None:
    bench = Bench(clock)
    assert bench.consumer(sqs_event()) == {"batchItemFailures": []}
    assert bench.ran == []


def test_a_start_that_the_store_does_not_count_is_not_made(clock: TestClock) -> None:
    store = FaultyStore(MemoryStore(clock), refuse("begin"))
    bench = Bench(clock, store=store, policy=Policy(retention=DAY, starts_max=3))
    first, second = bench({"id": "o-1"}, {"id": "o-2"})
    assert isinstance(first, Unavailable)
    assert not first.ran
    assert isinstance(second, Done)
    assert bench.ran == ["o-2"]


def test_there_is_no_work_without_the_time_to_record_it(clock: TestClock) -> None:
    bench = Bench(clock, reserve=timedelta(seconds=2))
    assert isinstance(bench.one(seconds=1.9), NotStarted)
    assert bench.memory.records == {}
    assert isinstance(bench.one(seconds=2), Done)


def test_store_errors_are_named_as_such(clock: TestClock) -> None:
    outcome = Bench(clock, store=FaultyStore(MemoryStore(clock), refuse("claim"))).one()
    assert isinstance(outcome, Unavailable)
    assert isinstance(outcome.error, StoreUnavailable)
    assert outcome.error.verb == "claim"


def test_a_consumer_without_work_is_refused_at_once(clock: TestClock) -> None:
    with pytest.raises(ConfigurationError):
        replace(Bench(clock).consumer, work=None)
