"""Lanes: the same code for plain calls, threads and coroutines."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from idem.delivery import Delivery
from idem.lanes import Call, CallEnd, Lane, Late, Raised, Returned, in_thread, in_threads, run, run_async

PATIENCE_S = 20


def lane(names: str, ended: list[tuple[str, CallEnd]]) -> Lane:
    for name in names:
        ended.append((name, (yield Call(Delivery(id=name, payload=None), None))))


def test_a_lane_hears_how_each_of_its_calls_ended() -> None:
    error = ValueError("made up")

    def call(one: Call) -> str:
        if one.delivery.id == "b":
            raise error
        return one.delivery.id

    ended: list[tuple[str, CallEnd]] = []
    run([lane("abc", ended)], call, 1, in_threads)
    assert ended == [("a", Returned("a")), ("b", Raised(error)), ("c", Returned("c"))]


def test_lanes_run_beside_each_other() -> None:
    meeting = threading.Barrier(3, timeout=PATIENCE_S)
    ended: list[tuple[str, CallEnd]] = []
    run([lane(name, ended) for name in "abc"], lambda _call: meeting.wait() >= 0, 3, in_threads)
    assert sorted(name for name, _ in ended) == ["a", "b", "c"]


def test_when_a_function_raises_those_that_wait_do_not_start() -> None:
    ran: list[int] = []

    def failing() -> None:
        raise KeyboardInterrupt

    def quick(number: int) -> None:
        ran.append(number)
        time.sleep(0.01)

    with pytest.raises(KeyboardInterrupt):
        in_threads([failing, *(partial(quick, number) for number in range(100))], 2)
    assert len(ran) < 100


def test_coroutines_run_beside_each_other_and_never_more_than_allowed() -> None:
    running, most, meeting = 0, 0, asyncio.Barrier(2)

    async def call(one: Call) -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await meeting.wait()
        running -= 1
        return one.delivery.id

    ended: list[tuple[str, CallEnd]] = []
    with ThreadPoolExecutor(3) as threads:
        asyncio.run(run_async([lane(name, ended) for name in "abcdef"], call, 2, threads, lambda: 0))
    assert (len(ended), most) == (6, 2)


def test_a_coroutine_does_not_start_when_the_loop_was_blocked_until_it_is_too_late() -> None:
    started: list[str] = []

    async def call(one: Call) -> None:
        started.append(one.delivery.id)

    def timed() -> Lane:
        for latest in (5, 3):
            ended.append((yield Call(Delivery(id=str(latest), payload=None), None, latest)))

    ended: list[CallEnd] = []
    with ThreadPoolExecutor(2) as threads:
        asyncio.run(run_async([timed()], call, 1, threads, lambda: 4))
    assert started == ["5"]
    assert ended == [Returned(None), Late()]


@pytest.mark.parametrize("kind", ["plain", "coroutine"])
def test_what_ends_the_process_is_thrown_into_its_lane(kind: str) -> None:
    thrown: list[BaseException] = []

    def watching() -> Lane:
        try:
            yield Call(Delivery(id="a", payload=None), None)
        except BaseException as error:
            thrown.append(error)
            raise

    def call(_one: Call) -> Any:
        raise KeyboardInterrupt

    async def awaited(_one: Call) -> Any:
        raise KeyboardInterrupt

    def driven() -> None:
        if kind == "plain":
            run([watching()], call, 1, in_threads)
        else:
            with ThreadPoolExecutor(2) as threads:
                asyncio.run(run_async([watching()], awaited, 1, threads, lambda: 0))

    with pytest.raises(KeyboardInterrupt):
        driven()
    assert [type(error) for error in thrown] == [KeyboardInterrupt]


def test_the_cancellation_of_an_invocation_is_no_ending_of_its_works() -> None:
    ended: list[tuple[str, CallEnd]] = []

    async def main() -> None:
        begun = asyncio.Event()

        async def call(_one: Call) -> None:
            begun.set()
            await asyncio.Event().wait()

        running = asyncio.ensure_future(run_async([lane("ab", ended)], call, 1, threads, lambda: 0))
        await begun.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    with ThreadPoolExecutor(2) as threads:
        asyncio.run(asyncio.wait_for(main(), PATIENCE_S))
    assert ended == []


def test_a_work_is_cancelled_with_its_invocation() -> None:
    async def main() -> list[str]:
        begun, stopped = asyncio.Event(), list[str]()

        async def call(one: Call) -> None:
            begun.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                stopped.append(one.delivery.id)
                raise

        running = asyncio.ensure_future(run_async([lane("a", [])], call, 1, threads, lambda: 0))
        await begun.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await asyncio.sleep(0)
        return list(stopped)

    with ThreadPoolExecutor(2) as threads:
        assert asyncio.run(asyncio.wait_for(main(), PATIENCE_S)) == ["a"]


def test_a_step_in_a_thread_ends_before_the_cancellation_of_its_waiting_leaves() -> None:
    started, may_end, ended = threading.Event(), threading.Event(), threading.Event()

    def step() -> None:
        started.set()
        assert may_end.wait(PATIENCE_S)
        ended.set()

    async def main() -> None:
        waiting = asyncio.ensure_future(in_thread(threads, step))
        await asyncio.to_thread(started.wait, PATIENCE_S)
        waiting.cancel()
        await asyncio.sleep(0)
        assert not waiting.done()
        may_end.set()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    with ThreadPoolExecutor(1) as threads:
        asyncio.run(main())
    assert ended.is_set()
