"""Lanes: sequences of work that run beside each other, each in its own order.

A lane is a generator. It hands out a call that is to be made, is sent how the call ended, and does the store's part in between; so
the same code serves plain calls, threads and coroutines.

Whatever work raises is how that work ended, and touches nothing else: SystemExit and a cancellation of its own, too. Only
what ends the process (KeyboardInterrupt) or cancels the whole invocation is more: it is thrown into the lane, which raises it.
"""

from __future__ import annotations

import contextvars
import math
from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from idem.delivery import Delivery
from idem.errors import PROCESS_ENDS
from idem.record import Claim

if TYPE_CHECKING:
    from concurrent.futures import Executor

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Call:
    """The user's function is to be called with this, not later than `latest_start` (epoch ms); a plan has no claim."""

    delivery: Delivery
    claim: Claim | None
    latest_start: float = math.inf


@dataclass(frozen=True, slots=True)
class Returned:
    value: Any


@dataclass(frozen=True, slots=True)
class Raised:
    error: BaseException


@dataclass(frozen=True, slots=True)
class Late:
    """The call was not made: it was too late when its turn came."""


CallEnd = Returned | Raised | Late
"""How a call ended."""

Lane = Generator[Call, CallEnd, None]
Beside = Callable[[Sequence[Callable[[], None]], int], None]
"""Runs functions beside each other, at most so many at once. It returns, or raises what one of them raised, when all have ended."""


def run(lanes: Sequence[Lane], call: Callable[[Call], Any], width: int, beside: Beside) -> None:
    """Drive lanes to their ends, `width` at once."""
    if len(lanes) == 1:
        _drive(lanes[0], call)
    else:
        beside([partial(contextvars.copy_context().run, _drive, lane, call) for lane in lanes], width)


async def run_async(
    lanes: Sequence[Lane],
    call: Callable[[Call], Awaitable[Any]],
    width: int,
    threads: Executor,
    now_ms: Callable[[], int],
) -> None:
    """The same for a coroutine function. What a lane asks of the store runs in `threads`, so that it does not hold up the loop.

    Each work is a task of its own: what it cancels or puts into its context is its own, too. Another one may have blocked the loop
    since its lane looked at the time, so that is looked at once more.
    """
    import asyncio  # noqa: PLC0415 - importing it takes longer than most consumers' whole start

    async def drive(lane: Lane) -> None:
        async with turn:
            wanted = await in_thread(threads, partial(_advance, lane, None))
            while wanted is not None:
                work = asyncio.ensure_future(called(wanted))
                cancelled = await waited(lane, work)
                ended: CallEnd = Raised(asyncio.CancelledError()) if work.cancelled() else work.result()
                if isinstance(ended, Raised) and issubclass(type(ended.error), PROCESS_ENDS):
                    ends.append(ended.error)
                    return _stop(lane, ended.error)
                wanted = await in_thread(threads, partial(_advance, lane, ended))
                if cancelled is not None and wanted is not None:
                    lane.throw(cancelled)
        return None

    async def called(wanted: Call) -> CallEnd:
        if now_ms() > wanted.latest_start:
            return Late()
        try:
            return Returned(await call(wanted))
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # noqa: BLE001 - the user's work may raise anything; its policy says what that means
            return Raised(error)

    async def waited(lane: Lane, work: asyncio.Future[CallEnd]) -> BaseException | None:
        """Wait for the work's end. A cancellation here is not its own: the invocation ends, but what has ended is recorded."""
        try:
            await asyncio.wait([work])
        except asyncio.CancelledError as error:
            if not work.done():
                work.cancel()
                lane.throw(error)
            return error
        return None

    # What ends the process is raised when the other lanes have come to a stop: in a task it would end the loop under them.
    ends: list[BaseException] = []
    turn = asyncio.Semaphore(width)
    # Each lane comes to its end before one's exception leaves: it would take the loop and the threads from the others' works.
    for broken in await asyncio.gather(*map(drive, lanes), return_exceptions=True):
        if broken is not None:
            ends.append(broken)
    if ends:
        raise ends[0]


def run_loop(main: Coroutine[Any, Any, None]) -> None:
    """Run `main` in a loop of its own, to its end.

    SystemExit of a task that a work has made leaves the loop, by asyncio's rule. The loop is run on: the work that waits for the
    task gets the error, and what becomes of it is that delivery's own ending.
    """
    import asyncio  # noqa: PLC0415 - as above

    started: list[asyncio.Task[None]] = []

    async def first() -> None:
        started.append(asyncio.ensure_future(main))
        await started[0]

    async def rest() -> None:
        await started[0]

    with asyncio.Runner() as runner:
        part = first
        while True:
            try:
                return runner.run(part())
            except SystemExit:
                if not started or started[0].done():
                    raise
                part = rest


async def in_thread(threads: Executor, step: Callable[[], T]) -> T:
    """Run `step` in a thread and wait for its end, also when the waiting is cancelled meanwhile: that is raised afterwards.

    The threads are not the loop's own ones: the user's works may keep all of those busy.
    """
    import asyncio  # noqa: PLC0415 - as above

    running = asyncio.get_running_loop().run_in_executor(threads, contextvars.copy_context().run, step)
    cancelled: asyncio.CancelledError | None = None
    while not running.done():
        try:
            await asyncio.wait([running])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
    return running.result()


def in_threads(functions: Sequence[Callable[[], None]], width: int) -> None:
    """Beside each other, in threads of their own. When one of them raises, or a signal comes, those that wait do not start."""
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - only consumers with concurrency need it

    with ThreadPoolExecutor(min(width, len(functions))) as pool:
        try:
            for ended in [pool.submit(function) for function in functions]:
                ended.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _drive(lane: Lane, call: Callable[[Call], Any]) -> None:
    wanted = _advance(lane, None)
    while wanted is not None:
        try:
            ended: CallEnd = Returned(contextvars.copy_context().run(call, wanted))
        except PROCESS_ENDS as error:
            lane.throw(error)
        except BaseException as error:  # noqa: BLE001 - the user's work may raise anything; its policy says what that means
            ended = Raised(error)
        wanted = _advance(lane, ended)


def _stop(lane: Lane, error: BaseException) -> None:
    """Tell the lane that the process ends by `error`."""
    with suppress(*PROCESS_ENDS):  # its own answer to that; whoever drives the lanes raises the error
        lane.throw(error)


def _advance(lane: Lane, ended: CallEnd | None) -> Call | None:
    """The lane's next call, None when it has no more."""
    try:
        return next(lane) if ended is None else lane.send(ended)
    except StopIteration:
        return None
