"""Values, errors, rules, clocks and twins that are odd: none of it touches another delivery."""
# ruff: noqa: FBT001

from __future__ import annotations

import asyncio
import concurrent.futures
import io
import sqlite3
import sys
import threading
import weakref
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from unittest.mock import AsyncMock

import pytest

from idem import (
    Claim,
    Commit,
    Consumer,
    Delivery,
    Done,
    Ending,
    Key,
    MemoryStore,
    NotStarted,
    Policy,
    Put,
    Retry,
    SqsSource,
    keys,
    once,
)
from idem.decorator import THREADS
from idem.errors import ConfigurationError
from idem.policy import Kind
from idem.record import Status
from idem.recorder import Recorder
from idem.results import NotKept
from idem.testing import LambdaContext, sqs_event
from tests.idem.builders import NOW, record
from tests.idem.clocks import TestClock
from tests.idem.consumers import DAY, Bench

PATIENCE_S = 20


def ids(*names: str) -> list[dict[str, str]]:
    return [{"id": name} for name in names]


def odd(end: Callable[[], Any]) -> Callable[[Any, Claim], Any]:
    return lambda payload, _claim: end() if payload["id"] == "bad" else payload["id"]


# --- 1. the recorder: taken out of the waiting list, not yet counted as under way ---


@dataclass(frozen=True)
class Item:
    name: str
    ran: bool = True
    due_by: int = NOW + 60_000


def test_nobody_is_told_that_all_is_recorded_while_a_timer_has_taken_the_items_and_not_yet_sent_them(
    clock: TestClock,
) -> None:
    recorded: list[str] = []
    taken, go_on = threading.Event(), threading.Event()
    recorder: Recorder[Item] = Recorder(lambda items: recorded.extend(item.name for item in items), clock, 50)

    def stop_before_sending(frame: Any, event: str, _arg: Any) -> Any:
        if event == "call" and frame.f_code.co_name == "_send":  # the scheduler may switch threads here
            taken.set()
            go_on.wait(PATIENCE_S)
        return None

    def timer() -> None:
        sys.settrace(stop_before_sending)
        recorder.flush()

    recorder.put(Item("a"))
    thread = threading.Thread(target=timer)
    thread.start()
    assert taken.wait(PATIENCE_S)
    closed = threading.Thread(target=recorder.close)
    closed.start()
    closed.join(0.3)
    too_early = not closed.is_alive() and recorded == []
    go_on.set()
    thread.join()
    closed.join()
    assert not too_early


# --- 2. results that show that something ran ---


def executed() -> Any:
    return sqlite3.connect(":memory:").execute("CREATE TABLE t (a)")


def finished_future() -> Any:
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return pool.submit(int)


RAN: dict[str, Callable[[], Any]] = {
    "a database cursor": executed,
    "a response with a body": lambda: {"Body": io.BytesIO(b"x")},
    "a finished future": finished_future,
}


@pytest.mark.parametrize("end", RAN)
def test_work_that_returns_something_that_was_used_is_done_and_runs_once(clock: TestClock, end: str) -> None:
    bench = Bench(clock, odd(RAN[end]))
    first = bench.one({"id": "bad"}, seconds=60)
    bench.one({"id": "bad"}, seconds=60)
    assert (type(first), bench.ran) == (Done, ["bad"])


def cancelled() -> Any:
    future = concurrent.futures.Future[int]()
    future.cancel()
    return future


def failed() -> Any:
    future = concurrent.futures.Future[int]()
    future.set_exception(ValueError("declined"))
    return future


class Awaitable:
    def __await__(self) -> Any:
        yield


class NotDone(Awaitable):
    done = False


class OddDone(Awaitable):
    def done(self) -> bool:
        raise RuntimeError("made up")


@pytest.mark.parametrize("end", [cancelled, failed, Awaitable, NotDone, OddDone, concurrent.futures.Future])
def test_what_has_not_run_or_has_failed_is_no_result(clock: TestClock, end: Callable[[], Any]) -> None:
    bench = Bench(clock, odd(end))
    first, *_ = bench(*ids("bad"), seconds=60)
    assert isinstance(first, Retry)
    assert isinstance(first.error, ConfigurationError)


class Dead:
    pass


def dead_proxy() -> Any:
    return weakref.proxy(Dead())


class Unreadable(list):  # type: ignore[type-arg]
    def __iter__(self) -> Any:
        raise RuntimeError("session is closed")


@pytest.mark.parametrize("end", [dead_proxy, lambda: Unreadable([1])], ids=["proxy", "list"])
def test_a_value_that_cannot_be_read_is_not_kept_and_the_work_runs_once(clock: TestClock, end: Any) -> None:
    bench = Bench(clock, odd(end))
    bench.one({"id": "bad"}, seconds=60)
    bench.one({"id": "bad"}, seconds=60)
    assert bench.ran == ["bad"]


class NoText:
    def __str__(self) -> str:
        raise RuntimeError("made up")


class LyingError(Exception):
    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        raise RuntimeError("made up")


def raise_(error: BaseException) -> Any:
    raise error


ENDS: dict[str, Callable[[], Any]] = {
    "reason without text": lambda: NotKept(NoText()),  # type: ignore[arg-type]
    "class that cannot be read": lambda: raise_(LyingError()),
}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("concurrency", [1, 3])
def test_odd_ends_fail_alone(clock: TestClock, end: str, concurrency: int) -> None:
    first, _, last = Bench(clock, odd(ENDS[end]), concurrency=concurrency)(*ids("a", "bad", "b"), seconds=60)
    assert (type(first), type(last)) == (Done, Done)


@pytest.mark.parametrize("end", ENDS)
def test_odd_ends_of_a_coroutine_fail_alone(clock: TestClock, end: str) -> None:
    async def work(delivery: Delivery, _claim: Claim) -> Any:
        return ENDS[end]() if delivery.payload["id"] == "bad" else 1

    bench = Bench(clock, concurrency=2)
    bench.consumer = replace(bench.consumer, work=work)
    first, _, last = bench(*ids("a", "bad", "b"), seconds=60)
    assert (type(first), type(last)) == (Done, Done)


WRITE = Put("orders", {"pk": {"S": "1"}})


@pytest.mark.parametrize("result", [lambda: Unbound(), lambda: {"user": Unbound()}], ids=["itself", "inside"])  # noqa: PLW0108
@pytest.mark.parametrize("plans", [False, True])
def test_the_writes_of_a_commit_are_made_whatever_its_result_is(
    clock: TestClock, result: Callable[[], Any], *, plans: bool
) -> None:
    bench = Bench(clock, lambda _payload, _claim: Commit([WRITE], result()))
    if plans:
        bench.consumer = replace(bench.consumer, work=None, plan=lambda _delivery: Commit([WRITE], result()))
    for _ in range(2):
        (outcome,) = bench(*ids("a"), seconds=60)
        assert isinstance(outcome, Done)
    assert bench.memory.written == [WRITE]


class HiddenEnd(BaseException):
    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        raise RuntimeError("made up")


def test_an_end_that_is_no_exception_and_hides_its_class_fails_alone(clock: TestClock) -> None:
    first, bad, last = Bench(clock, odd(lambda: raise_(HiddenEnd())))(*ids("a", "bad", "b"), seconds=60)
    assert [type(one) for one in (first, bad, last)] == [Done, Retry, Done]


# --- rules that return odd things ---


class Unbound:
    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        raise RuntimeError("unbound")


class BrokenValues(dict):  # type: ignore[type-arg]
    def values(self) -> Any:
        raise KeyError("made up")

    def items(self) -> Any:
        raise KeyError("made up")


class NoRepr:
    def __repr__(self) -> str:
        raise RuntimeError("made up")


ODD_PARTS: dict[str, Any] = {
    "proxy": Unbound,
    "dead": dead_proxy,
    "no repr": NoRepr,
    "broken": lambda: BrokenValues(a=1),
    "list": lambda: Unreadable([1]),
    "set": lambda: {1, "a", (1,)},
    "nan": lambda: float("nan"),
    "surrogate": lambda: "\ud800",
    "bytes": lambda: b"x",
    "list of list": lambda: [["a"]],
    "object": object,
}


@pytest.mark.parametrize("part", ODD_PARTS)
@pytest.mark.parametrize("rule", ["key", "check"])
def test_what_a_rule_returns_touches_only_its_own_delivery(clock: TestClock, rule: str, part: str) -> None:
    def failing(delivery: Delivery) -> Any:
        return ODD_PARTS[part]() if delivery.payload["id"] == "bad" else [delivery.payload["id"]]

    rules: dict[str, Any] = {rule: failing}
    first, _, last = Bench(clock, **rules)(*ids("a", "bad", "b"), seconds=60)
    assert (type(first), type(last)) == (Done, Done)


# --- 3. clock that jumps back between two looks at the time ---


class Jumping(TestClock):
    """Goes back by a second at its n-th look from when it is armed."""

    def __init__(self) -> None:
        super().__init__()
        self.left = -1

    def now_ms(self) -> int:
        self.left -= 1
        if self.left == 0:
            self._now_ms -= 1_000
        return super().now_ms()


@pytest.mark.parametrize("looks", range(1, 25))
def test_work_without_a_claim_is_never_called_whatever_the_clock_does(looks: int) -> None:
    clock = Jumping()

    def work(payload: Any, _claim: Claim) -> Any:
        if payload["id"] == "k0":
            clock.pass_ms(59_800)  # into the reserve, so that the next chunk is not claimed
            clock.left = looks
        return 1

    bench = Bench(clock, work, policy=Policy(retention=DAY, otherwise=Kind.PERMANENT))
    names = [f"k{n}" for n in range(26)]
    names = names[1:25] + names[:1] + names[25:]  # k0 is the last of its chunk
    outcomes = bench(*ids(*names), seconds=60)
    assert type(outcomes[-1]) in (NotStarted, Done), outcomes[-1]


# --- 4. three twins in three groups ---


def fifo(*messages: tuple[str, str]) -> dict[str, Any]:
    return {
        "Records": [
            {**sqs_event({"id": name}, group=group)["Records"][0], "messageId": str(number)}
            for number, (group, name) in enumerate(messages)
        ]
    }


@pytest.mark.parametrize("concurrency", [1, 3])
def test_twins_of_three_groups_share_one_run_also_if_the_first_was_kept_back(
    clock: TestClock, concurrency: int
) -> None:
    bench = Bench(clock, odd(lambda: raise_(ValueError())), concurrency=concurrency)
    bench.consumer(fifo(("A", "bad"), ("A", "k"), ("B", "k"), ("C", "k")), LambdaContext(clock, seconds=60))
    assert [type(ending.outcome) for ending in bench.endings] == [Retry, NotStarted, Done, Done]


def test_the_work_of_three_twins_runs_once_also_if_the_second_failed(clock: TestClock) -> None:
    bench = Bench(
        clock, lambda _payload, _claim: raise_(ValueError()), policy=Policy(retention=DAY, wait=timedelta(seconds=2))
    )
    bench.consumer(fifo(("A", "bad"), ("A", "k"), ("B", "k"), ("C", "x"), ("D", "k")), LambdaContext(clock, seconds=60))
    assert bench.ran.count("k") == 1


def test_a_twin_of_what_is_done_does_not_wait_for_one_in_a_group_that_waits(clock: TestClock) -> None:
    bench = Bench(clock, policy=Policy(retention=DAY, wait=timedelta(seconds=8)))
    bench.memory.records[Key("orders.fulfil", "held")] = replace(
        record(Status.IN_PROGRESS), key=Key("orders.fulfil", "held"), lease_until=NOW + 60_000
    )
    messages = fifo(("A", "k"), ("B", "held"), ("B", "k"), ("C", "k"), ("C", "z"))
    bench.consumer(messages, LambdaContext(clock, seconds=60))
    z = bench.endings[-1]
    assert (type(z.outcome), z.started) == (Done, NOW)


# --- 5. contexts ---

TENANT: ContextVar[str | None] = ContextVar("tenant", default=None)


@pytest.mark.parametrize("concurrency", [1, 2])
@pytest.mark.parametrize("coroutine", [False, True])
def test_work_sees_the_context_of_the_handler(clock: TestClock, concurrency: int, coroutine: bool) -> None:
    seen: list[str | None] = []

    def work(_delivery: Delivery, _claim: Claim) -> None:
        seen.append(TENANT.get())

    async def work_async(_delivery: Delivery, _claim: Claim) -> None:
        seen.append(TENANT.get())

    bench = Bench(clock, concurrency=concurrency)
    bench.consumer = replace(bench.consumer, work=work_async if coroutine else work)
    token = TENANT.set("acme")
    try:
        bench(*ids("a", "b"), seconds=60)
    finally:
        TENANT.reset(token)
    assert seen == ["acme", "acme"]


# --- 6. a task of a work's own that exits ---


def test_a_task_of_a_coroutines_own_that_exits_ends_that_work_alone() -> None:
    endings: list[Ending] = []
    ended: list[str] = []
    exited = asyncio.Event()

    async def exits() -> None:
        sys.exit("made up")

    async def work(delivery: Delivery, _claim: Claim) -> Any:
        if delivery.payload["id"] == "bad":
            try:
                await asyncio.gather(exits())
            finally:
                exited.set()
        await exited.wait()
        ended.append(delivery.payload["id"])

    store = MemoryStore()
    consumer = Consumer(
        operation="orders.fulfil",
        source=SqsSource(),
        key=keys.field("id"),
        policy=Policy(retention=DAY),
        store=store,
        work=work,
        concurrency=3,
        observe=endings.append,
    )
    consumer(sqs_event(*ids("a", "bad", "b")), None)
    assert [type(one.outcome) for one in endings] == [Done, Retry, Done]
    assert ended == ["a", "b"]
    assert store.get(Key("orders.fulfil", "a")).status is Status.SUCCEEDED  # type: ignore[union-attr]


# --- 7. when a work started ---


def test_a_works_start_is_when_it_started(clock: TestClock) -> None:
    class Slow(MemoryStore):
        def begin(self, claim: Claim) -> Claim:
            clock.pass_ms(5_000)
            return super().begin(claim)

    bench = Bench(clock, store=Slow(clock), policy=Policy(retention=DAY, starts_max=3))
    bench.one(seconds=60)
    assert bench.endings[0].started == NOW + 5_000


# --- 8. once: recordings behind claims ---


def test_a_call_that_has_ended_is_recorded_while_many_others_wait_for_their_claims() -> None:
    blocked, recorded, full = threading.Event(), threading.Event(), threading.Event()
    stalled: list[str] = []

    class Stalling(MemoryStore):
        def claim(self, wanted: Any) -> Any:
            if wanted.key.identity != "first":
                stalled.append(wanted.key.identity)
                if len(stalled) == THREADS:
                    full.set()
                blocked.wait(PATIENCE_S)
            return super().claim(wanted)

        def complete(self, claim: Claim, *rest: Any) -> None:
            super().complete(claim, *rest)
            if claim.key.identity == "first":
                recorded.set()

    started, go_on = asyncio.Event(), asyncio.Event()

    @once(operation="invoices.send", key=keys.field("name"), store=Stalling(), policy=Policy(retention=DAY))
    async def send(name: str) -> str:
        if name == "first":
            started.set()
            await go_on.wait()
        return name

    async def main() -> bool:
        first = asyncio.create_task(send("first"))
        await started.wait()
        others = [asyncio.create_task(send(f"other-{n}")) for n in range(THREADS + 1)]
        await asyncio.to_thread(full.wait, PATIENCE_S)
        go_on.set()
        in_time = await asyncio.to_thread(recorded.wait, PATIENCE_S)
        blocked.set()
        await asyncio.gather(first, *others)
        return in_time

    assert asyncio.run(main())


def test_an_async_mock_is_awaited(clock: TestClock) -> None:
    bench = Bench(clock)
    bench.consumer = replace(bench.consumer, work=AsyncMock(return_value=1))
    assert isinstance(bench.one(seconds=60), Done)
