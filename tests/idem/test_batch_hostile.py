"""User code, stores and signals at their worst: each of these once took a neighbour along, ran twice, or never ended."""

from __future__ import annotations

import _thread
import asyncio
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextvars import ContextVar
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from idem import Commit, Consumer, Delivery, Done, Key, MemoryStore, Policy, Put, Retry, SqsSource, Status, keys, once
from idem.clock import SystemClock
from idem.delivery import Busy, NotStarted, Outcome, Unavailable
from idem.errors import ConfigurationError, IdemError, StoreUnavailable
from idem.flow import Flow
from idem.lanes import in_threads
from idem.policy import Lapsed
from idem.record import Answer, Claim, Record, Request, StoredResult
from idem.store import Finish
from idem.testing import Crash, FaultyStore, LambdaContext, lose_answer, sqs_event
from idem.wrappers.also_once import also_once
from tests.idem.builders import NOW
from tests.idem.clocks import TestClock
from tests.idem.consumers import DAY, Bench

PATIENCE_S = 20
TENANT: ContextVar[str | None] = ContextVar("tenant", default=None)
POOL_THREADS = min(32, (os.cpu_count() or 1) + 4)  # what asyncio's own thread pool has
WRITE = Put("orders", {"pk": {"S": "1"}})


def ids(*names: str) -> list[dict[str, str]]:
    return [{"id": name} for name in names]


def status(bench: Bench, name: str) -> Status | None:
    found = bench.memory.get(Key("orders.fulfil", name))
    return found.status if found else None


def odd(end: Callable[[], Any]) -> Callable[[Any, Claim], Any]:
    """Work that ends so on the delivery `bad`."""
    return lambda payload, _claim: end() if payload["id"] == "bad" else payload["id"]


def kind(error: BaseException) -> str:
    return type(error).__name__


def _raise(error: BaseException) -> Any:
    raise error


def runs_of(runs: list[str]) -> Callable[[str], None]:
    def grant(name: str) -> None:
        runs.append(name)

    return grant


class OddEnd(BaseException):
    """No Exception."""


def system_consumer(store: MemoryStore, work: Any, **more: Any) -> Consumer:
    return Consumer(
        **{
            "operation": "orders.fulfil",
            "source": SqsSource(),
            "key": keys.field("id"),
            "policy": Policy(retention=DAY),
            "store": store,
            "work": work,
            **more,
        }
    )


# --- 1. an async lane's recording waits for the other lanes' threads ---


def test_a_coroutine_is_recorded_also_while_the_others_use_all_threads_of_the_loop() -> None:
    recorded = threading.Event()

    class Announcing(MemoryStore):
        def complete(self, claim: Claim, *rest: Any) -> None:
            super().complete(claim, *rest)
            if claim.key.identity == "quick":
                recorded.set()

    async def work(delivery: Delivery, _claim: Claim) -> Any:
        if delivery.payload["id"] == "quick":
            await asyncio.sleep(0.1)
            return None
        return await asyncio.to_thread(recorded.wait, 2)

    seen: list[Any] = []
    consumer = system_consumer(
        Announcing(),
        work,
        concurrency=POOL_THREADS + 1,
        record_within=timedelta(0),
        observe=lambda ending: seen.append(ending.outcome),
    )
    consumer(sqs_event(*ids("quick", *(f"slow-{number}" for number in range(POOL_THREADS)))), None)
    assert [outcome.result for outcome in seen[1:]] == [True] * POOL_THREADS


def test_calls_that_wait_for_an_attempt_do_not_keep_it_from_being_recorded() -> None:
    async def grant(name: str) -> str:
        await asyncio.sleep(0.1)
        return name

    function: Any = once(
        operation="bonus.grant",
        key=keys.field("name"),
        store=MemoryStore(),
        policy=Policy(retention=DAY, wait=timedelta(seconds=2)),
    )(grant)

    async def main() -> list[Any]:
        first = asyncio.ensure_future(function("a"))
        await asyncio.sleep(0.05)
        return await asyncio.gather(first, *(function("a") for _ in range(POOL_THREADS)), return_exceptions=True)

    began = time.monotonic()
    results = asyncio.run(main())
    assert results == ["a"] * (POOL_THREADS + 1)
    assert time.monotonic() - began < 1.8


def test_a_call_that_waits_for_an_attempt_keeps_no_thread_and_can_be_cancelled_at_once() -> None:
    slept: list[float] = []

    class Clock(SystemClock):
        def sleep_ms(self, milliseconds: float) -> None:
            slept.append(milliseconds)

    async def grant(name: str) -> str:
        return name

    store, policy = MemoryStore(), Policy(retention=DAY, wait=timedelta(seconds=2))
    function: Any = once(operation="bonus.grant", key=keys.field("name"), store=store, policy=policy, clock=Clock())(
        grant
    )
    flow = Flow(operation="bonus.grant", store=store, policy=policy)
    store.claim(flow.request(Key("bonus.grant", "a"), ends_at=None))
    began = time.monotonic()

    async def main() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(function("a"), 0.05)

    asyncio.run(main())
    assert time.monotonic() - began < 1
    assert slept == []


# --- 2. a work that cancels its own task takes the batch with it ---


@pytest.mark.parametrize("awaits", [True, False])
@pytest.mark.parametrize("concurrency", [1, 3])
def test_work_that_cancels_its_own_task_fails_alone(
    clock: TestClock,
    awaits: bool,  # noqa: FBT001 - a parameter of the test
    concurrency: int,
) -> None:
    async def work(delivery: Delivery, _claim: Claim) -> Any:
        if delivery.payload["id"] == "bad":
            this = asyncio.current_task()
            assert this is not None
            this.cancel()
            if awaits:
                await asyncio.sleep(1)

    bench = Bench(clock, concurrency=concurrency)
    bench.consumer = replace(bench.consumer, work=work)
    first, _, last = bench(*ids("a", "bad", "b"), seconds=60)
    assert (type(first), type(last)) == (Done, Done)


# --- 3. begin, answered by nobody, outside of a batch ---


def test_a_call_whose_start_got_no_answer_runs_at_the_next_one(clock: TestClock) -> None:
    runs: list[str] = []
    store = FaultyStore(MemoryStore(clock), lose_answer("begin"))
    policy = Policy(retention=DAY, starts_max=1)
    function: Any = once(operation="bonus.grant", key=keys.field("name"), store=store, policy=policy, clock=clock)(
        runs_of(runs)
    )
    with pytest.raises(StoreUnavailable):
        function("a")
    function("a")
    assert runs == ["a"]


def test_a_second_guard_whose_start_got_no_answer_runs_at_the_next_delivery(clock: TestClock) -> None:
    runs: list[str] = []
    memory = MemoryStore(clock)
    work = also_once(
        lambda _delivery, _claim: runs.append("ran"),
        operation="orders.content",
        store=FaultyStore(memory, lose_answer("begin")),
        policy=Policy(retention=DAY, starts_max=1),
        clock=clock,
    )
    bench = Bench(clock, store=memory)
    bench.consumer = replace(bench.consumer, work=work)
    bench.one()
    bench.one()
    assert runs == ["ran"]


def test_a_second_guard_that_is_held_uses_up_no_start_of_the_first(clock: TestClock) -> None:
    memory, policy = MemoryStore(clock), Policy(retention=DAY)
    flow = Flow(operation="orders.content", store=memory, policy=policy, clock=clock)
    memory.claim(flow.request(Key("orders.content", "same"), ends_at=clock.now_ms() + 1_000))
    work = also_once(
        lambda _delivery, _claim: "ran",
        operation="orders.content",
        store=memory,
        policy=policy,
        clock=clock,
        key=lambda _delivery: ["same"],
    )
    bench = Bench(clock, store=memory, policy=Policy(retention=DAY, starts_max=1))
    bench.consumer = replace(bench.consumer, work=work)
    bench.one()
    clock.pass_ms(20 * 60_000)
    assert bench.one() == Done("ran", replayed=False, attempt=1)


@pytest.mark.parametrize("starts_max", [None, 1])
def test_a_second_guard_whose_claim_came_when_its_lease_was_over_runs_nothing(
    clock: TestClock, starts_max: int | None
) -> None:
    class Late(MemoryStore):
        def claim(self, wanted: Request) -> Answer:
            answer = super().claim(wanted)
            clock.pass_ms(61_000)
            return answer

    runs: list[str] = []
    second = Late(clock)
    work = also_once(
        lambda _delivery, _claim: runs.append("ran"),
        operation="orders.content",
        store=second,
        policy=Policy(retention=DAY, starts_max=starts_max),
        clock=clock,
    )
    bench = Bench(clock)
    bench.consumer = replace(bench.consumer, work=work)
    assert isinstance(bench.one(seconds=60), Retry)
    assert (runs, second.records) == ([], {})


# --- 4. when an outcome is due ---


@pytest.mark.parametrize("killed_ms", [29_000, 29_900])
def test_what_has_ended_is_recorded_before_the_invocation_is_killed(clock: TestClock, killed_ms: int) -> None:
    seen: list[Status | None] = []

    def work(payload: Any, _claim: Claim) -> None:
        if payload["id"] == "slow":
            clock.pass_ms(killed_ms)
            seen.append(status(bench, "a"))
            raise Crash("killed by its deadline")

    bench = Bench(clock, work, record_within=timedelta(minutes=5))
    with pytest.raises(Crash):
        bench(*ids("a", "slow"), seconds=30)
    assert seen == [Status.SUCCEEDED]


def test_what_has_ended_is_recorded_in_time_while_the_next_start_gets_no_answer(clock: TestClock) -> None:
    recorded: dict[str, int] = {}

    class Stalling(MemoryStore):
        def begin(self, claim: Claim) -> Claim:
            if claim.key.identity == "b":
                clock.pass_ms(15_000)
            return super().begin(claim)

        def complete(self, claim: Claim, *rest: Any) -> None:
            super().complete(claim, *rest)
            recorded[claim.key.identity] = clock.now_ms() - NOW

    Bench(clock, store=Stalling(clock), policy=Policy(retention=DAY, starts_max=3))(*ids("a", "b"), seconds=60)
    assert recorded["a"] <= 50


# --- 5. endings of a work that still touch others ---


def writes_that(error: BaseException) -> Iterator[Any]:
    yield WRITE
    raise error


class Unbound:
    """A proxy without an object behind it."""

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        raise RuntimeError("unbound")


class BrokenValues(dict[str, int]):
    def values(self) -> Any:
        raise KeyError("made up")


class OddItems(dict[str, int]):
    def items(self) -> Any:
        raise OddEnd


class BrokenLength(dict[str, Any]):
    def __len__(self) -> int:
        raise OSError("made up")


class OddText(Exception):
    def __str__(self) -> str:
        raise OddEnd


def started_generator() -> Any:
    def cleaning_up() -> Iterator[int]:
        try:
            yield 1
        finally:
            raise OSError("made up")

    generator = cleaning_up()
    next(generator)
    return generator


def nested(levels: int) -> Any:
    value: Any = None
    for _ in range(levels):
        value = [value]
    return value


ENDS: dict[str, Callable[[], Any]] = {
    "writes that exit": lambda: Commit(writes_that(SystemExit())),  # type: ignore[arg-type]
    "writes that are cancelled": lambda: Commit(writes_that(asyncio.CancelledError())),  # type: ignore[arg-type]
    "a write that cannot be read": lambda: Commit([BrokenLength(Put={})]),
    "a proxy of nothing": Unbound,
    "a list of a proxy of nothing": lambda: [Unbound()],
    "a generator that cannot be closed": started_generator,
    "an object whose values fail": lambda: BrokenValues(a=1),
    "an object whose members fail oddly": lambda: OddItems(a=1),
    "an error whose text fails oddly": lambda: _raise(OddText()),
}


@pytest.mark.parametrize("end", ENDS)
def test_work_that_ends_like_this_fails_alone(clock: TestClock, end: str) -> None:
    bench = Bench(clock, odd(ENDS[end]))
    first, _, last = bench(*ids("a", "bad", "b"), seconds=60)
    assert (type(first), type(last)) == (Done, Done)


class Unprintable(Exception):
    def __repr__(self) -> str:
        raise ValueError("made up")


@pytest.mark.parametrize("error", [SystemExit(), asyncio.CancelledError(), OddEnd(), Unprintable()], ids=kind)
def test_a_classify_that_fails_so_touches_only_its_own_delivery(clock: TestClock, error: BaseException) -> None:
    policy = Policy(retention=DAY, classify=lambda _error: _raise(error))
    bench = Bench(clock, odd(lambda: _raise(ValueError("made up"))), policy=policy)
    outcomes = bench(*ids("a", "bad", "b"), seconds=60)
    assert [type(outcome) for outcome in outcomes] == [Done, Retry, Done]


@pytest.mark.parametrize("error", [SystemExit(), asyncio.CancelledError(), OddEnd(), Unprintable()], ids=kind)
@pytest.mark.parametrize("rule", ["key", "check"])
def test_a_rule_that_fails_so_touches_only_its_own_delivery(clock: TestClock, rule: str, error: BaseException) -> None:
    def failing(delivery: Delivery) -> Any:
        return _raise(error) if delivery.payload["id"] == "bad" else [delivery.payload["id"]]

    rules: dict[str, Any] = {rule: failing}
    bench = Bench(clock, **rules)
    first, _, last = bench(*ids("a", "bad", "b"), seconds=60)
    assert (type(first), type(last)) == (Done, Done)


def test_an_observer_that_exits_takes_no_answer_along(clock: TestClock) -> None:
    bench = Bench(clock, observe=lambda _ending: _raise(SystemExit()))
    event = sqs_event(*ids("a", "b"))
    assert bench.consumer(event, LambdaContext(clock)) == {"batchItemFailures": []}


def test_a_result_at_the_edge_of_what_json_nests_never_leaves_the_handler(clock: TestClock) -> None:
    left = []
    for levels in range(900, 1_000):
        bench = Bench(clock, odd(lambda levels=levels: nested(levels)))  # type: ignore[misc]
        try:
            bench(*ids("a", "bad", "b"), seconds=60)
        except RecursionError:
            left.append(levels)
    assert left == []


def test_a_stored_result_can_be_replayed_wherever_it_could_be_recorded(clock: TestClock) -> None:
    def deeper(levels: int, call: Callable[[], Any]) -> Any:
        return deeper(levels - 1, call) if levels else call()

    left = []
    for levels in range(700, 1_000, 10):
        bench = Bench(clock, odd(lambda levels=levels: nested(levels)))  # type: ignore[misc]
        bench(*ids("bad"), seconds=60)
        try:
            deeper(30, lambda bench=bench: bench(*ids("a", "bad", "b"), seconds=60))  # type: ignore[misc]
        except RecursionError:
            left.append(levels)
    assert left == []


# --- 6. acknowledged, and nothing written ---


@pytest.mark.parametrize(
    "value",
    [
        [[WRITE]],
        {"writes": [WRITE]},
        {"a": WRITE}.values(),
        Commit([], WRITE),
        Commit([], [Commit([WRITE])]),
        ([Commit([WRITE])],),
    ],
    ids=[
        "in a list of lists",
        "in a list of an object",
        "in a view",
        "as a result",
        "beside writes",
        "in a tuple's list",
    ],
)
def test_writes_that_nobody_would_make_are_refused_however_deep_they_stand(clock: TestClock, value: Any) -> None:
    assert isinstance(Bench(clock, lambda _payload, _claim: value).one(), Retry)


@pytest.mark.parametrize(
    "value",
    [
        lambda: [(one for one in "a")],
        lambda: Commit([], (one for one in "a")),
        lambda: enumerate("a"),
        lambda: iter("a"),
        Future,
        lambda: {"later": Future()},
    ],
    ids=["in a list", "as a Commit's result", "enumerate", "iterator", "a future", "a future in an object"],
)
def test_what_has_not_run_is_refused_wherever_it_stands(clock: TestClock, value: Any) -> None:
    assert isinstance(Bench(clock, lambda _payload, _claim: value()).one(), Retry)


# --- 7. a neighbour that kills the process ---


def test_work_that_never_started_is_no_persons_business(clock: TestClock) -> None:
    def work(payload: Any, _claim: Claim) -> str:
        if len(bench.ran) == 1:
            raise Crash("killed")
        return str(payload["id"])

    bench = Bench(clock, work, policy=Policy(retention=DAY, lapsed=Lapsed.HOLD))
    with pytest.raises(Crash):
        bench(*ids("killer", "b"), seconds=30)
    clock.pass_ms(60_000)
    _, outcome = bench(*ids("killer", "b"), seconds=30)
    assert outcome == Done("b", replayed=False, attempt=2)


# --- 8. waiting has an end, and an unrecorded neighbour, too ---


@pytest.mark.parametrize("count", [1_000, 5_000])
def test_looking_again_at_many_held_keys_ends_with_the_patience(clock: TestClock, count: int) -> None:
    class Reading(MemoryStore):
        def get(self, key: Key) -> Record | None:
            clock.pass_ms(10)
            return super().get(key)

    store, policy = Reading(clock), Policy(retention=DAY, wait=timedelta(seconds=2))
    flow = Flow(operation="orders.fulfil", store=store, policy=policy, clock=clock)
    names = [str(number) for number in range(count)]
    for name in names:
        store.claim(flow.request(Key("orders.fulfil", name), ends_at=None))
    bench = Bench(clock, store=store, policy=policy)
    assert {type(outcome) for outcome in bench(*ids(*names), seconds=30)} == {Busy}
    assert clock.now_ms() - NOW <= 3_000


class FailsOnce(MemoryStore):
    """A user's own store with a fault of its own: the first outcome of `a` raises what no store may raise."""

    def __init__(self) -> None:
        super().__init__()
        self.failed = False

    def complete(self, claim: Claim, *rest: Any) -> None:
        if claim.key.identity == "a" and not self.failed:
            self.failed = True
            raise RuntimeError("made up")
        super().complete(claim, *rest)


def slow_and_twins(store: MemoryStore, *, wait_s: float) -> Callable[[], Any]:
    """A timer records `a`, beside slow work; a twin of it in a group waits for its outcome."""

    def work(delivery: Delivery, _claim: Claim) -> None:
        time.sleep({"slow": 0.4, "a": 0.1}.get(delivery.payload["id"], 0))

    policy = Policy(retention=DAY, wait=timedelta(seconds=wait_s))
    event = sqs_event(*ids("a", "slow", "held"))
    twin = {**sqs_event(*ids("a"), group="G")["Records"][0], "messageId": "twin"}
    event["Records"].append(twin)
    return lambda: system_consumer(store, work, policy=policy, concurrency=4)(event, None)


def test_a_recording_that_broke_in_a_timer_is_reported_alone() -> None:
    answer = slow_and_twins(FailsOnce(), wait_s=0)()
    assert [one["itemIdentifier"] for one in answer["batchItemFailures"]] == ["message-1", "twin"]


def test_rounds_end_also_when_a_recording_broke_in_a_timer() -> None:
    store = FailsOnce()
    flow = Flow(operation="orders.fulfil", store=store, policy=Policy(retention=DAY))
    store.claim(flow.request(Key("orders.fulfil", "held"), ends_at=None))
    answers: list[Any] = []
    thread = threading.Thread(target=lambda: answers.append(slow_and_twins(store, wait_s=0.6)()), daemon=True)
    thread.start()
    thread.join(PATIENCE_S)
    (answer,) = answers
    assert [one["itemIdentifier"] for one in answer["batchItemFailures"]] == ["message-1", "message-3", "twin"]


def test_what_has_ended_is_recorded_although_the_first_recording_was_interrupted(clock: TestClock) -> None:
    class Interrupted(MemoryStore):
        calls = 0

        def finish_many(self, finishes: Sequence[Finish]) -> list[IdemError | None]:
            self.calls += 1
            if self.calls == 1:
                raise KeyboardInterrupt
            return super().finish_many(finishes)

    store = Interrupted(clock)
    bench = Bench(clock, store=store)
    with pytest.raises(KeyboardInterrupt):
        bench(*ids("a", "b"), seconds=60)
    assert [record.status for record in store.records.values()] == [Status.SUCCEEDED] * 2


def test_a_store_that_breaks_on_one_outcome_leaves_the_others_recorded(clock: TestClock) -> None:
    class Breaking(MemoryStore):
        def complete(self, claim: Claim, result: StoredResult, expires_at: int | None, writes: Any = None) -> None:
            if claim.key.identity == "bad":
                raise RuntimeError("made up")
            super().complete(claim, result, expires_at, writes)

    bench = Bench(clock, store=Breaking(clock))
    first, _, last = bench(*ids("a", "bad", "b"), seconds=60)
    assert (type(first), type(last)) == (Done, Done)


@pytest.mark.parametrize("verb", ["claim_many", "finish_many", "begin"])
def test_a_store_that_breaks_on_a_whole_batch_is_reported_and_nothing_leaves(clock: TestClock, verb: str) -> None:
    broken: Any = type("Breaking", (MemoryStore,), {verb: lambda *_given: _raise(RuntimeError("made up"))})
    bench = Bench(clock, store=broken(clock), policy=Policy(retention=DAY, starts_max=3))
    outcomes = bench(*ids("a", "b"), seconds=60)
    assert [type(outcome) for outcome in outcomes] == [Unavailable, Unavailable]


def test_a_store_that_breaks_hides_no_error_of_the_works() -> None:
    class Breaking(MemoryStore):
        def fail(self, *_given: Any) -> None:
            raise RuntimeError("made up")

    function: Any = once(
        operation="bonus.grant", key=keys.field("name"), store=Breaking(), policy=Policy(retention=DAY)
    )(lambda name: _raise(ValueError(name)))
    with pytest.raises(ValueError, match="own"):
        function("own")


# --- 9. a twin's turn ---


def test_a_twin_finds_the_claim_given_back_that_its_first_one_gave_up() -> None:
    """Lane B stands between its recording and its look at the first twin while lane A gives that one's claim back."""
    a_records, b_records, a_is_through = (threading.Event() for _ in range(3))

    def beside(lanes: Sequence[Callable[[], None]], width: int) -> None:
        def lane_a() -> None:
            lanes[0]()
            a_is_through.set()

        in_threads([lane_a, *lanes[1:]], width)

    class Store(MemoryStore):
        def fail(self, claim: Claim, *rest: Any) -> None:
            a_records.set()
            b_records.wait(PATIENCE_S)
            super().fail(claim, *rest)

        def complete(self, claim: Claim, *rest: Any) -> None:
            if claim.key.identity == "x":
                b_records.set()
                a_is_through.wait(PATIENCE_S)
            super().complete(claim, *rest)

    def work(delivery: Delivery, _claim: Claim) -> None:
        if delivery.payload["id"] == "bad":
            raise ValueError("made up")
        if delivery.payload["id"] == "x":
            a_records.wait(PATIENCE_S)

    outcomes = list[Outcome]()
    consumer = system_consumer(
        Store(),
        work,
        concurrency=2,
        beside=beside,
        record_within=timedelta(seconds=5),
        observe=lambda ending: outcomes.append(ending.outcome),
    )
    batch = [("A", "bad"), ("A", "twin"), ("B", "x"), ("B", "twin")]
    records = [
        {**sqs_event({"id": name}, group=group)["Records"][0], "messageId": str(number)}
        for number, (group, name) in enumerate(batch)
    ]
    consumer({"Records": records}, None)
    assert [type(outcome) for outcome in outcomes] == [Retry, NotStarted, Done, Done]


# --- 10. lanes ---


def test_a_group_does_not_wait_for_the_recording_of_another_one() -> None:
    other_ran = threading.Event()

    class Stalling(MemoryStore):
        seen = False

        def complete(self, claim: Claim, *rest: Any) -> None:
            if claim.key.identity == "a":
                self.seen = other_ran.wait(2)
            super().complete(claim, *rest)

    def work(delivery: Delivery, _claim: Claim) -> None:
        if delivery.payload["id"] == "d":
            other_ran.set()

    store = Stalling()
    batch = [("A", "a"), ("A", "b"), ("B", "c"), ("B", "d")]
    records = [
        {**sqs_event({"id": name}, group=group)["Records"][0], "messageId": str(number)}
        for number, (group, name) in enumerate(batch)
    ]
    system_consumer(store, work, concurrency=2)({"Records": records}, None)
    assert store.seen


def test_what_a_coroutine_puts_into_its_context_is_not_seen_by_the_next_delivery() -> None:
    seen: list[str | None] = []

    async def work(delivery: Delivery, _claim: Claim) -> None:
        seen.append(TENANT.get())
        TENANT.set(delivery.payload["id"])

    system_consumer(MemoryStore(), work)(sqs_event(*ids("a", "b")), None)
    assert seen == [None, None]


@pytest.mark.parametrize("concurrency", [1, 2])
def test_what_plain_work_puts_into_its_context_is_not_seen_by_the_next_delivery(concurrency: int) -> None:
    seen: list[str | None] = []

    def work(delivery: Delivery, _claim: Claim) -> None:
        seen.append(TENANT.get())
        TENANT.set(delivery.payload["id"])

    system_consumer(MemoryStore(), work, concurrency=concurrency)(sqs_event(*ids("a", "b"), group="g"), None)
    assert seen == [None, None]
    assert TENANT.get() is None


# --- 11. what is put together wrongly ---


def test_a_reserve_below_zero_is_refused(clock: TestClock) -> None:
    with pytest.raises(ConfigurationError):
        Bench(clock, reserve=timedelta(seconds=-5))


def test_a_second_guard_for_a_coroutine_function_is_refused_when_it_is_built(clock: TestClock) -> None:
    async def work(_delivery: Delivery, _claim: Claim) -> None:
        """Never runs."""

    with pytest.raises(ConfigurationError):
        also_once(work, operation="orders.content", store=MemoryStore(clock), policy=Policy(retention=DAY))


def test_one_time_far_away_does_not_end_the_thread_of_all_alarms() -> None:
    failed: list[Any] = []
    before, threading.excepthook = threading.excepthook, failed.append
    try:
        call_off = SystemClock().later(1e14, lambda: None)
        time.sleep(0.1)
        call_off()
    finally:
        threading.excepthook = before
    assert failed == []


@pytest.mark.parametrize("policy", [{"starts_max": 2}, {"wait": timedelta(seconds=5)}], ids=repr)
def test_a_policy_that_says_nothing_to_a_plan_is_refused(clock: TestClock, policy: dict[str, Any]) -> None:
    bench = Bench(clock, policy=Policy(retention=DAY, **policy))
    with pytest.raises(ConfigurationError, match="plan"):
        replace(bench.consumer, work=None, plan=lambda _delivery: Commit([]))


def test_after_an_interrupt_of_the_main_thread_lanes_start_no_more_work() -> None:
    ran: list[str] = []
    interrupted = threading.Event()

    def work(delivery: Delivery, _claim: Claim) -> None:
        ran.append(delivery.payload["id"])
        if delivery.payload["id"] == "a":
            _thread.interrupt_main()
            interrupted.set()
        interrupted.wait(PATIENCE_S)
        time.sleep(0.05)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    try:
        with pytest.raises(KeyboardInterrupt):
            system_consumer(MemoryStore(), work, concurrency=2)(sqs_event(*ids(*"abcdefgh")), None)
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(ran) < 8
