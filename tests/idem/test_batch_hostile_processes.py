"""Interrupts, forks, broken stores, positions and held work: none of it touches another delivery."""
# ruff: noqa: BLE001, PLR0917

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from idem import (
    Claim,
    Consumer,
    Delivery,
    Done,
    Ending,
    MemoryStore,
    NotStarted,
    Policy,
    Retry,
    SqsSource,
    keys,
    once,
)
from idem.dynamo.statements import Together
from idem.dynamo.store import DynamoStore
from idem.errors import ConfigurationError, InProgress, StoreUnavailable
from idem.policy import Lapsed
from idem.record import Status
from idem.testing import Crash, sqs_event
from idem.wrappers.also_once import also_once
from idem.wrappers.newest_only import NewestOnly
from idem.wrappers.positions import MemoryPositions
from tests.idem.builders import asked
from tests.idem.clocks import TestClock
from tests.idem.consumers import DAY, Bench

PATIENCE_S = 20


def ids(*names: str) -> list[dict[str, str]]:
    return [{"id": name} for name in names]


def raise_(error: BaseException) -> Any:
    raise error


def system(store: Any, work: Any, endings: list[Ending] | None = None, **more: Any) -> Consumer:
    return Consumer(
        **{
            "operation": "orders.fulfil",
            "source": SqsSource(),
            "key": keys.field("id"),
            "policy": Policy(retention=DAY),
            "store": store,
            "work": work,
            "observe": endings.append if endings is not None else None,
        }
        | more
    )


# --- held work: an attempt that never started ---


class DiesBeforeStart(MemoryStore):
    dies = False

    def begin(self, claim: Claim) -> Claim:
        if self.dies:
            raise Crash
        return super().begin(claim)


def test_a_second_attempt_that_never_started_is_no_persons_business(clock: TestClock) -> None:
    """The first attempt failed and said so; the second one died between its claim and its start: nothing is unknown."""
    store = DiesBeforeStart(clock)
    fails = [ValueError("made up")]
    bench = Bench(
        clock,
        lambda _payload, _claim: raise_(fails.pop()) if fails else 1,
        store=store,
        policy=Policy(retention=DAY, lapsed=Lapsed.HOLD),
    )
    assert isinstance(bench.one(seconds=60), Retry)
    store.dies = True
    with suppress(Crash):
        bench.one(seconds=60)
    store.dies = False
    clock.advance(timedelta(minutes=5))
    assert isinstance(bench.one(seconds=60), Done)


# --- the recorder's gap, seen from an invocation ---


@pytest.mark.parametrize("names", [("a", "slow")])
def test_an_invocation_whose_last_work_ends_just_when_the_timer_begins_to_record_is_answered(names: Any) -> None:
    taken, go_on = threading.Event(), threading.Event()
    endings: list[Ending] = []

    def stop_before_sending(frame: Any, event: str, _arg: Any) -> Any:
        if event == "call" and frame.f_code.co_name == "_send" and not taken.is_set():
            taken.set()
            go_on.wait(1)
        return None

    def work(delivery: Delivery, _claim: Claim) -> None:
        if delivery.payload["id"] == "slow":
            assert taken.wait(PATIENCE_S)

    threading.settrace(stop_before_sending)  # of the threads that start from now on: the timer's
    try:
        answer = system(MemoryStore(), work, endings, record_within=timedelta(milliseconds=20))(
            sqs_event(*ids(*names)), None
        )
    finally:
        threading.settrace(None)
        go_on.set()
    assert answer == {"batchItemFailures": []}


# --- wrappers ---


def newest(work: Any, positions: Any) -> Any:
    return NewestOnly(positions=positions, object_key=keys.field("object"), position=lambda d: d.payload["at"])(work)


class AsyncWork:
    async def __call__(self, _delivery: Delivery, _claim: Claim) -> None:
        """Never runs."""


def test_newest_only_around_an_object_that_is_awaited_is_refused_when_it_is_built(clock: TestClock) -> None:
    with pytest.raises(ConfigurationError):
        newest(AsyncWork(), MemoryPositions(clock))


def test_a_position_whose_work_returned_what_is_refused_is_not_applied(clock: TestClock) -> None:
    positions = MemoryPositions(clock)
    done: list[int] = []

    def work(delivery: Delivery, _claim: Claim) -> Any:
        if delivery.payload["at"] == 20:
            return (one for one in "a")  # refused: nothing of it ran
        return done.append(delivery.payload["at"])

    bench = Bench(clock)
    bench.consumer = replace(bench.consumer, work=newest(work, positions))
    bench.one({"id": "e-20", "object": "o", "at": 20}, seconds=60)
    bench.one({"id": "e-10", "object": "o", "at": 10}, seconds=60)
    assert done == [10]


def test_a_position_whose_work_ended_by_what_is_no_exception_is_given_up(clock: TestClock) -> None:
    positions = MemoryPositions(clock)
    done: list[int] = []

    def work(delivery: Delivery, _claim: Claim) -> Any:
        if delivery.payload["at"] == 20:
            sys.exit("made up")
        return done.append(delivery.payload["at"])

    bench = Bench(clock)
    bench.consumer = replace(bench.consumer, work=newest(work, positions))
    bench.one({"id": "e-20", "object": "o", "at": 20}, seconds=60)
    bench.one({"id": "e-10", "object": "o", "at": 10}, seconds=60)
    assert done == [10]


class Away(MemoryStore):
    away = True

    def claim(self, wanted: Any) -> Any:
        if self.away:
            raise StoreUnavailable("claim", "Timeout", "made up")
        return super().claim(wanted)


def test_a_second_guard_without_an_answer_uses_up_no_start_of_the_first(clock: TestClock) -> None:
    second = Away(clock)
    work = also_once(
        lambda _d, _c: 1, operation="orders.content", store=second, policy=Policy(retention=DAY), clock=clock
    )
    bench = Bench(clock, policy=Policy(retention=DAY, starts_max=1))
    bench.consumer = replace(bench.consumer, work=work)
    bench.one(seconds=60)
    second.away = False
    assert isinstance(bench.one(seconds=60), Done)


# --- stores that fail at each verb, with each kind of error ---


class FailsAt(MemoryStore):
    def __init__(self, clock: Any, verb: str, error: BaseException) -> None:
        super().__init__(clock)
        self.verb, self.error = verb, error


def failing(verb: str) -> Any:
    def method(self: Any, *args: Any) -> Any:
        if self.verb == verb and any("bxd" in repr(arg) for arg in args):
            raise self.error
        return getattr(MemoryStore, verb)(self, *args)

    return method


for _verb in ("claim", "begin", "complete", "fail", "release", "get", "guard"):
    setattr(FailsAt, _verb, failing(_verb))


@pytest.mark.parametrize(
    "error", [OSError("x"), RecursionError("x"), StoreUnavailable("a", "b", "c")], ids=lambda e: type(e).__name__
)
@pytest.mark.parametrize("verb", ["claim", "begin", "complete", "fail", "release", "get"])
@pytest.mark.parametrize("concurrency", [1, 3])
@pytest.mark.parametrize("within", [0, 50])
@pytest.mark.parametrize("end", ["returns", "raises", "forgets"])
def test_a_store_failing_at_one_verb_touches_one(
    clock: TestClock, error: Any, verb: str, concurrency: int, within: int, end: str
) -> None:
    def work(payload: Any, _claim: Claim) -> Any:
        if payload["id"] == "bxd" and end != "returns":
            raise KeyError("x") if end == "forgets" else ValueError("x")
        return 1

    bench = Bench(
        clock,
        work,
        store=FailsAt(clock, verb, error),
        concurrency=concurrency,
        record_within=timedelta(milliseconds=within),
        policy=Policy(retention=DAY, starts_max=3, forget=(KeyError,)),
    )
    first, _, last = bench(*ids("a", "bxd", "b"), seconds=60)
    assert (type(first), type(last)) == (Done, Done)


# --- deadlines ---


@pytest.mark.parametrize("seconds", [0, 0.001, 0.4, 0.5, 0.501, 1, -5])
@pytest.mark.parametrize("concurrency", [1, 7])
def test_deadlines_nearly_over(clock: TestClock, seconds: float, concurrency: int) -> None:
    bench = Bench(clock, concurrency=concurrency, policy=Policy(retention=DAY, starts_max=2))
    outcomes = bench(*ids("a", "b", "a"), seconds=seconds)
    assert {type(one) for one in outcomes} <= {Done, NotStarted}
    if seconds < 0.5:
        assert bench.ran == []
        assert bench.memory.records == {}


# --- once: re-entrant, several loops, closed while it claims ---


def calls(store: Any, **more: Any) -> Callable[[Callable[..., Any]], Any]:
    return once(
        **{"operation": "invoices.send", "key": keys.field("name"), "store": store, "policy": Policy(retention=DAY)}
        | more
    )


def test_a_call_within_itself_is_in_progress() -> None:
    @calls(MemoryStore())
    async def send(name: str) -> Any:
        return await send(name)

    with pytest.raises(InProgress):
        asyncio.run(send("a"))


def test_several_loops_at_once() -> None:
    store = MemoryStore()
    ran: list[str] = []

    @calls(store, policy=Policy(retention=DAY, wait=timedelta(seconds=10)))
    async def send(name: str) -> str:
        ran.append(name)
        await asyncio.sleep(0)
        return name

    async def all_of() -> None:
        await asyncio.gather(*(send(f"n{n}") for n in range(50)))

    threads = [threading.Thread(target=lambda: asyncio.run(all_of())) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert sorted(ran) == sorted({f"n{n}" for n in range(50)})
    assert {one.status for one in store.records.values()} == {Status.SUCCEEDED}


def test_a_call_that_is_closed_while_it_claims_gives_the_claim_back() -> None:
    go_on, claimed, released = threading.Event(), threading.Event(), threading.Event()

    class Slow(MemoryStore):
        def claim(self, wanted: Any) -> Any:
            go_on.wait(PATIENCE_S)
            answer = super().claim(wanted)
            claimed.set()
            return answer

        def release(self, claim: Any) -> None:
            super().release(claim)
            released.set()

    store = Slow()

    @calls(store)
    async def send(name: str) -> str:
        return name

    async def main() -> None:
        running = send("a")
        running.send(None)
        running.close()
        go_on.set()
        await asyncio.to_thread(released.wait, PATIENCE_S)

    asyncio.run(main())
    assert claimed.is_set()
    assert store.records == {}


# --- growth ---


@pytest.mark.parametrize("kind", ["one", "threads", "async"])
def test_nothing_grows_from_invocation_to_invocation(kind: str) -> None:
    def work(_delivery: Delivery, _claim: Claim) -> Any:
        return 1

    async def work_async(_delivery: Delivery, _claim: Claim) -> Any:
        return 1

    class Forgetful(MemoryStore):
        def complete(self, claim: Claim, *rest: Any) -> None:
            super().complete(claim, *rest)
            del self.records[claim.key]

    consumer = system(Forgetful(), work_async if kind == "async" else work, concurrency=1 if kind == "one" else 3)
    event = sqs_event(*ids(*"abcdefgh"))

    def many() -> int:
        for _ in range(100):
            consumer(event, None)
        gc.collect()
        return len(gc.get_objects())

    many()
    first, threads = many(), threading.active_count()
    assert many() - first < 50
    assert threading.active_count() <= threads


# --- fork ---


def in_child(action: Callable[[], None]) -> int:
    pid = os.fork()
    if pid == 0:
        signal.alarm(5)
        try:
            action()
            os._exit(0)
        except BaseException:
            os._exit(1)
    return os.waitpid(pid, 0)[1]


def test_a_forked_process_records_and_claims_by_itself() -> None:
    store = MemoryStore()

    @calls(store)
    async def send(name: str) -> str:
        return name

    async def fill() -> None:
        await asyncio.gather(*(send(f"n{n}") for n in range(64)))

    asyncio.run(fill())
    assert in_child(lambda: asyncio.run(send("child"))) == 0


def test_a_forked_process_has_threads_of_its_own_for_a_batch() -> None:

    barrier = threading.Barrier(10)

    class Client:
        first = True

        def put_item(self, **_more: Any) -> Any:
            if self.first:
                barrier.wait(5)
            return {}

    client = Client()
    store = DynamoStore(client, "t", together=Together.THREADS)
    assert len(store.claim_many([asked(f"n{n}") for n in range(10)])) == 10
    client.first = False

    def child() -> None:
        assert all(isinstance(one, Claim) for one in store.claim_many([asked(f"m{n}") for n in range(10)]))

    assert in_child(child) == 0
