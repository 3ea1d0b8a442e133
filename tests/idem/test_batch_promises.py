"""What an invocation promises: one delivery's ending touches no other, and nothing that has ended waits to be recorded."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest

from idem import Commit, Consumer, Delivery, Done, Key, MemoryStore, NotStarted, Policy, Retry, SqsSource, keys
from idem.delivery import Busy, Ending, Outcome, Unavailable
from idem.errors import WorkStopped
from idem.record import Claim, Request, Status, StoredResult
from idem.testing import Crash, FaultyStore, LambdaContext, crash_after, lose_answer, redeliver, sqs_event
from tests.idem.builders import NOW
from tests.idem.clocks import TestClock
from tests.idem.consumers import DAY, Bench

MINUTE_MS = 60_000
PATIENCE_S = 20  # until a test that waits for another thread gives up


def ids(*names: str) -> list[dict[str, str]]:
    return [{"id": name} for name in names]


def status(bench: Bench, name: str) -> Status | None:
    found = bench.memory.get(Key("orders.fulfil", name))
    return found.status if found else None


def asking(bench: Bench, *, work: Any = None, plan: Any = None) -> Bench:
    """The same bench, whose consumer asks a function of the test's itself."""
    bench.consumer = replace(bench.consumer, work=work, plan=plan)
    return bench


# --- no lane waits for another ---


class Announcing(MemoryStore):
    """Says when the outcomes of `a` and `b` are recorded."""

    def __init__(self) -> None:
        super().__init__()
        self.recorded = {"a": threading.Event(), "b": threading.Event()}

    def complete(self, claim: Claim, result: StoredResult, expires_at: int | None, writes: Any = None) -> None:
        super().complete(claim, result, expires_at, writes)
        if claim.key.identity in self.recorded:
            self.recorded[claim.key.identity].set()

    def seen(self) -> bool:
        return all(one.wait(PATIENCE_S) for one in self.recorded.values())


def three_lanes(store: Announcing, work: Any, record_within: timedelta) -> list[Outcome]:
    endings: list[Ending] = []
    consumer = Consumer(
        operation="orders.fulfil",
        source=SqsSource(),
        key=keys.field("id"),
        policy=Policy(retention=DAY),
        store=store,
        work=work,
        concurrency=3,
        record_within=record_within,
        observe=endings.append,
    )
    assert consumer(sqs_event(*ids("a", "b", "slow")), None) == {"batchItemFailures": []}
    return [ending.outcome for ending in endings]


@pytest.mark.parametrize("record_within", [timedelta(0), timedelta(milliseconds=20)])
def test_quick_work_is_recorded_while_slow_work_of_another_lane_still_runs(record_within: timedelta) -> None:
    store = Announcing()

    def work(delivery: Delivery, _claim: Claim) -> str:
        return str(store.seen()) if delivery.payload["id"] == "slow" else "quick"

    outcomes = three_lanes(store, work, record_within)
    assert outcomes[2] == Done("True", replayed=False, attempt=1)


@pytest.mark.parametrize("record_within", [timedelta(0), timedelta(milliseconds=20)])
def test_a_quick_coroutine_is_recorded_while_a_slow_one_still_runs(record_within: timedelta) -> None:
    store = Announcing()

    async def work(delivery: Delivery, _claim: Claim) -> str:
        return str(await asyncio.to_thread(store.seen)) if delivery.payload["id"] == "slow" else "quick"

    outcomes = three_lanes(store, work, record_within)
    assert outcomes[2] == Done("True", replayed=False, attempt=1)


def test_the_next_one_of_a_group_waits_for_no_other_lane() -> None:
    started = threading.Event()

    def work(delivery: Delivery, _claim: Claim) -> bool:
        if delivery.payload["id"] == "second":
            started.set()
        return delivery.payload["id"] != "slow" or started.wait(PATIENCE_S)

    endings: list[Ending] = []
    consumer = Consumer(
        operation="orders.fulfil",
        source=SqsSource(),
        key=keys.field("id"),
        policy=Policy(retention=DAY),
        store=MemoryStore(),
        work=work,
        concurrency=2,
        record_within=timedelta(minutes=1),
        observe=endings.append,
    )
    event = sqs_event(*ids("first", "second"), group="A")
    event["Records"].append({**sqs_event(*ids("slow"), group="B")["Records"][0], "messageId": "slow"})
    consumer(event, None)
    assert [ending.outcome for ending in endings] == [Done(result=True, replayed=False, attempt=1)] * 3


# --- one ending never touches another ---


@dataclass(frozen=True)
class Unmarkable(Exception):
    """An error that takes no note."""

    code: int


def broken_writes() -> Iterator[Any]:
    yield from ()
    raise KeyError("made up")


class OddEnd(BaseException):
    """No Exception, and of nobody's making but the work's."""


ODD_ENDS: dict[str, Callable[[], Any]] = {
    "writes that break": lambda: Commit(broken_writes()),  # type: ignore[arg-type]
    "exit": lambda: sys.exit("made up"),
    "no exception": lambda: _raise(OddEnd()),
    "generator exit": lambda: _raise(GeneratorExit()),
    "cancelled": lambda: _raise(asyncio.CancelledError()),
    "takes no note": lambda: _raise(Unmarkable(7)),
    "writes in a list": lambda: [Commit([])],
    "writes beside a result": lambda: (Commit([]), "r"),
    "writes in an object": lambda: {"commit": Commit([])},
    "lazy": lambda: map(str, [1]),
}


def _raise(error: BaseException) -> None:
    raise error


@pytest.mark.parametrize("end", ODD_ENDS)
@pytest.mark.parametrize("concurrency", [1, 3])
def test_work_that_ends_oddly_fails_alone(clock: TestClock, end: str, concurrency: int) -> None:
    def work(payload: Any, _claim: Claim) -> Any:
        return ODD_ENDS[end]() if payload["id"] == "bad" else payload["id"]

    bench = Bench(clock, work, concurrency=concurrency)
    first, bad, last = bench(*ids("a", "bad", "b"), seconds=60)
    assert (type(first), type(bad), type(last)) == (Done, Retry, Done)
    assert (status(bench, "a"), status(bench, "bad"), status(bench, "b")) == (
        Status.SUCCEEDED,
        Status.FAILED,
        Status.SUCCEEDED,
    )


@pytest.mark.parametrize("end", ODD_ENDS)
def test_a_coroutine_that_ends_oddly_fails_alone(clock: TestClock, end: str) -> None:
    async def work(delivery: Delivery, _claim: Claim) -> Any:
        if delivery.payload["id"] != "bad":
            return delivery.payload["id"]
        return ODD_ENDS[end]()

    bench = asking(Bench(clock, concurrency=2), work=work)
    assert [type(outcome) for outcome in bench(*ids("a", "bad", "b"), seconds=60)] == [Done, Retry, Done]


def test_an_error_that_is_no_exception_is_told_with_its_cause(clock: TestClock) -> None:
    outcome = Bench(clock, lambda _payload, _claim: sys.exit(3)).one()
    assert isinstance(outcome, Retry)
    assert isinstance(outcome.error, WorkStopped)
    assert isinstance(outcome.error.__cause__, SystemExit)


def test_what_awaits_a_cancelled_task_fails_alone(clock: TestClock) -> None:
    async def work(delivery: Delivery, _claim: Claim) -> Any:
        if delivery.payload["id"] == "bad":
            task = asyncio.ensure_future(asyncio.Event().wait())
            task.cancel()
            await task
        return delivery.payload["id"]

    bench = asking(Bench(clock), work=work)
    assert [type(outcome) for outcome in bench(*ids("a", "bad", "b"), seconds=60)] == [Done, Retry, Done]


@pytest.mark.parametrize("concurrency", [1, 2])
def test_what_has_ended_is_recorded_before_the_end_of_the_process_leaves(clock: TestClock, concurrency: int) -> None:
    def work(payload: Any, _claim: Claim) -> Any:
        if payload["id"] == "bad":
            raise KeyboardInterrupt
        return payload["id"]

    bench = Bench(clock, work, concurrency=concurrency)
    with pytest.raises(KeyboardInterrupt):
        bench(*ids("a", "bad"), seconds=60)
    assert (status(bench, "a"), status(bench, "bad")) == (Status.SUCCEEDED, Status.IN_PROGRESS)


def test_after_the_end_of_a_process_no_more_work_starts(clock: TestClock) -> None:
    def work(payload: Any, _claim: Claim) -> Any:
        raise Crash(payload["id"])

    bench = Bench(clock, work)
    with pytest.raises(Crash, match="bad"):
        bench(*ids("bad", "b"), seconds=60)
    assert bench.ran == ["bad"]


def one_after_another(functions: Sequence[Callable[[], None]], _width: int) -> None:
    """Lanes beside each other, in an order that a test can count on."""
    raised: list[BaseException] = []
    for function in functions:
        try:
            function()
        except BaseException as error:  # noqa: BLE001 - it is raised when all have ended, whatever it is
            raised.append(error)
    if raised:
        raise raised[0]


def test_after_the_end_of_a_process_no_other_lane_starts_work(clock: TestClock) -> None:
    def work(_payload: Any, _claim: Claim) -> Any:
        raise KeyboardInterrupt

    bench = Bench(clock, work, concurrency=2, beside=one_after_another)
    with pytest.raises(KeyboardInterrupt):
        bench(*ids("bad", "b", "c"), seconds=60)
    assert bench.ran == ["bad"]


@pytest.mark.parametrize("error", [RuntimeError, OddEnd])
def test_an_error_of_the_last_recording_never_hides_what_ended_the_process(
    clock: TestClock, error: type[BaseException]
) -> None:
    class Broken(MemoryStore):
        def complete(self, *_given: Any) -> None:
            raise error("made up")

    def work(payload: Any, _claim: Claim) -> Any:
        if payload["id"] == "bad":
            raise KeyboardInterrupt
        return payload["id"]

    with pytest.raises(KeyboardInterrupt):
        Bench(clock, work, store=Broken(clock))(*ids("a", "bad"), seconds=60)


def test_an_error_that_takes_no_note_is_reported_also_when_it_cannot_be_recorded(clock: TestClock) -> None:
    def work(_payload: Any, _claim: Claim) -> Any:
        raise Unmarkable(7)

    store = FaultyStore(MemoryStore(clock), lose_answer("fail"))
    assert Bench(clock, work, store=store).one() == Retry(Unmarkable(7))


@pytest.mark.parametrize("plans", [False, True])
def test_a_classify_that_fails_on_an_error_that_takes_no_note_leaves_it_to_the_policys_otherwise(
    clock: TestClock,
    plans: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    def classify(error: Exception) -> None:
        raise ValueError(error)

    def work(*_given: Any) -> Any:
        raise Unmarkable(7)

    policy = Policy(retention=DAY, classify=classify)
    bench = asking(Bench(clock, policy=policy), **{"plan" if plans else "work": work})
    assert bench.one() == Retry(Unmarkable(7))


def test_a_classify_that_gives_no_kind_is_said_and_the_work_is_not_lost(clock: TestClock) -> None:
    def work(_payload: Any, _claim: Claim) -> Any:
        raise ValueError("made up")

    bench = Bench(clock, work, policy=Policy(retention=DAY, classify=lambda _error: "permanent"))  # type: ignore[arg-type, return-value]
    outcome = bench.one()
    assert isinstance(outcome, Retry)
    assert "Kind" in str(outcome.error)
    assert isinstance(outcome.error.__cause__, ValueError)
    assert isinstance(bench.one(), Retry)
    assert len(bench.ran) == 2


# --- leases and time ---


def test_work_never_starts_on_a_lease_that_is_nearly_over(clock: TestClock) -> None:
    def work(_payload: Any, claim: Claim) -> None:
        assert clock.now_ms() <= claim.lease_until - 1_000 - 500  # the lease's margin, and the reserve
        clock.pass_ms(3 * MINUTE_MS)

    bench = Bench(clock, work)
    batch = ids(*"abcdefghij")
    outcomes = bench(*batch)
    assert [type(outcome) for outcome in outcomes] == [Done] * 5 + [NotStarted] * 5
    assert [type(outcome) for outcome in bench(*batch)] == [Done] * 10
    assert bench.ran == list("abcdefghij")


class Slow(MemoryStore):
    """A store whose verb takes its time."""

    def __init__(self, clock: TestClock, verb: str, milliseconds: int) -> None:
        super().__init__(clock)
        self._verb, self._ms, self._slow_clock = verb, milliseconds, clock

    def begin(self, claim: Claim) -> Claim:
        self._take("begin")
        return super().begin(claim)

    def claim(self, wanted: Request) -> Any:
        answer = super().claim(wanted)
        self._take("claim")
        return answer

    def _take(self, verb: str) -> None:
        if verb == self._verb:
            self._slow_clock.pass_ms(self._ms)


@pytest.mark.parametrize("verb", ["claim", "begin"])
def test_time_is_looked_at_after_the_last_call_before_the_work(clock: TestClock, verb: str) -> None:
    policy = Policy(retention=DAY, starts_max=2)
    store = Slow(clock, verb, 5_000)
    bench = Bench(clock, store=store, policy=policy, reserve=timedelta(seconds=6))
    assert isinstance(bench.one(seconds=10), NotStarted)
    assert bench.ran == []
    assert store.records == {}  # given back: the next delivery starts at once, and no start counts


@pytest.mark.parametrize(("verb", "starts_max"), [("claim", None), ("begin", 3)])
def test_a_later_attempt_that_is_given_back_leaves_its_number_and_no_start(
    clock: TestClock, verb: str, starts_max: int | None
) -> None:
    def work(payload: Any, _claim: Claim) -> Any:
        raise ValueError(payload)

    store = Slow(clock, verb, 5_000)
    bench = Bench(clock, work, store=store, policy=Policy(retention=DAY, starts_max=starts_max))
    assert isinstance(bench.one(seconds=60), Retry)
    assert isinstance(bench.one(seconds=5), NotStarted)
    (left,) = store.records.values()
    assert (left.status, left.attempt, left.starts) == (Status.FAILED, 2, 1)
    assert bench.ran == ["o-1"]


def test_the_record_of_work_in_progress_never_expires_before_its_lease(clock: TestClock) -> None:
    def work(_payload: Any, _claim: Claim) -> None:
        lives.extend((one.expires_at, one.lease_until) for one in bench.memory.records.values())

    lives: list[tuple[int | None, int | None]] = []
    bench = Bench(clock, work, policy=Policy(retention=timedelta(seconds=1)))
    bench.one(seconds=900)
    assert lives == [(NOW // 1000 + 902, NOW + 901_000)]


def test_waiting_for_an_attempt_in_flight_never_delays_other_work(clock: TestClock) -> None:
    def work(payload: Any, _claim: Claim) -> Any:
        assert payload["id"] == "new"
        return clock.now_ms() - NOW

    bench = Bench(clock, work, policy=Policy(retention=DAY, wait=timedelta(seconds=10)))
    nested: list[list[Outcome]] = []

    def holding(names: str) -> None:
        """Hold these keys, one inside the work of the other, and deliver the batch meanwhile."""
        if names:
            Bench(clock, lambda _payload, _claim: holding(names[1:]), store=bench.memory).one({"id": names[0]})
        else:
            nested.append(bench(*ids("x", "y", "z", "new"), seconds=30))

    holding("xyz")
    (outcomes,) = nested
    assert [type(outcome) for outcome in outcomes] == [Busy, Busy, Busy, Done]
    assert outcomes[3] == Done(0, replayed=False, attempt=1)
    assert clock.now_ms() - NOW <= 10_000  # all waited together


# --- starts ---


def run_after(clock: TestClock, fault: Any, policy: Policy) -> list[str]:
    """What runs over two deliveries, the first of which meets a fault."""
    bench = Bench(clock, store=FaultyStore(MemoryStore(clock), fault), policy=policy)
    redeliver(bench.consumer, sqs_event({"id": "o-1"}), times=2, clock=clock, context=lambda: LambdaContext(clock))
    return bench.ran


@pytest.mark.parametrize("verb", ["claim", "begin"])
def test_work_that_never_started_runs_however_few_starts_are_allowed(clock: TestClock, verb: str) -> None:
    assert run_after(clock, lose_answer(verb), Policy(retention=DAY, starts_max=1)) == ["o-1"]


def test_a_crash_between_claim_and_work_counts_as_no_start(clock: TestClock) -> None:
    assert run_after(clock, crash_after("claim"), Policy(retention=DAY, starts_max=1)) == ["o-1"]


# --- groups and twins ---


def test_a_twin_in_a_healthy_group_runs_when_the_first_one_was_kept_back_by_its_own(clock: TestClock) -> None:
    def work(payload: Any, _claim: Claim) -> Any:
        if payload["id"] == "bad":
            raise ValueError("made up")
        return payload["id"]

    bench = Bench(clock, work)
    event = sqs_event(*ids("bad", "twin", "twin"), group="A")
    event["Records"][2]["attributes"] = {**event["Records"][2]["attributes"], "MessageGroupId": "B"}
    answer = bench.consumer(event, LambdaContext(clock))
    assert [one["itemIdentifier"] for one in answer["batchItemFailures"]] == ["message-1", "message-2"]
    assert [type(ending.outcome) for ending in bench.endings] == [Retry, NotStarted, Done]


# --- plans ---


def test_the_life_of_a_planned_record_counts_from_its_outcome(clock: TestClock) -> None:
    planned: list[str] = []

    def plan(delivery: Delivery) -> Commit:
        planned.append(delivery.payload["id"])
        clock.pass_ms(14 * MINUTE_MS)
        return Commit([])

    bench = asking(Bench(clock, policy=Policy(retention=timedelta(minutes=15))), plan=plan)
    assert bench.one(seconds=900) == Done(None, replayed=False, attempt=1)
    clock.pass_ms(2 * MINUTE_MS)
    assert bench.one(seconds=900) == Done(None, replayed=True, attempt=1)
    assert len(bench.memory.records) == 1


# --- what an ending tells ---


def test_an_ending_tells_all_that_an_observer_needs(clock: TestClock) -> None:
    bench = Bench(clock, lambda _payload, _claim: object())
    bench.one()
    (first,) = bench.endings
    assert (first.attempt, first.starts, first.claim_ms, first.record_ms) == (1, 1, 0, 0)
    assert first.not_kept is not None
    bench.one()
    (again,) = bench.endings
    assert (again.attempt, again.starts, again.record_ms, again.not_kept) == (1, None, None, None)


def test_a_table_that_gives_no_answer_tells_no_attempt(clock: TestClock) -> None:
    bench = Bench(clock, store=FaultyStore(MemoryStore(clock), lose_answer("claim")))
    assert isinstance(bench.one(), Unavailable)
    (ending,) = bench.endings
    assert (ending.attempt, ending.starts) == (None, None)


def test_a_held_key_tells_whose_attempt_is_in_the_way(clock: TestClock) -> None:
    def again(_payload: Any, _claim: Claim) -> None:
        inner = Bench(clock, store=bench.memory)
        assert isinstance(inner.one(), Busy)
        seen.append(inner.endings[0].attempt)

    seen: list[int | None] = []
    bench = Bench(clock, again)
    bench.one()
    assert seen == [1]
