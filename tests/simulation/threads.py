"""What the code under test takes from the standard library to wait with: locks, a pool, an event loop. Here they stop fibers."""

from __future__ import annotations

import asyncio
import concurrent.futures.thread  # noqa: F401 - loaded while locks are the real ones: it keeps one of its own
import gc
import math
import os
import sys
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from idem.decorator import store_threads
from tests.simulation.fibers import START_MS, Died, Fiber, current, is_fiber

REAL_LOCK = threading.Lock


class FiberLock:
    """A lock that stops the fiber that has to wait for it."""

    def __init__(self) -> None:
        self._owner: Fiber | None = None
        self._waiting: deque[Fiber] = deque()

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:  # noqa: FBT001, FBT002 - threading's own
        if not is_fiber():
            return True  # what a dead process left behind is collected: nobody competes for it
        fiber = current()
        if self._owner is not None:
            if not blocking or timeout == 0:
                return False
            self._waiting.append(fiber)
            if timeout > 0:
                fiber.sleeps = fiber.process.hub.at(fiber.process.hub.now + timeout * 1000, fiber.wake)
            fiber.process.hub.wait()
            if self._owner is not fiber:  # the time-out woke it
                self._waiting.remove(fiber)
                return False
            return True
        self._owner = fiber
        return True

    def release(self) -> None:
        self._owner = self._waiting.popleft() if self._waiting else None
        if self._owner is not None:
            self._owner.wake_soon()

    def locked(self) -> bool:
        return self._owner is not None

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


def _lock() -> Any:
    return FiberLock() if is_fiber() else REAL_LOCK()


class Loop(asyncio.BaseEventLoop):
    """An event loop on the world's time, whose threads are fibers."""

    _check_closed: Callable[[], None]  # what every loop has, and the type stubs leave out
    _run_once: Callable[[], None]
    _stopping: bool
    _thread_id: int | None

    def __init__(self) -> None:
        super().__init__()
        self._fiber = current()
        self._idle = False
        self._selector = self
        self._clock_resolution = 1e-6

    def time(self) -> float:
        return (self._fiber.process.hub.now - START_MS) / 1000

    def run_forever(self) -> None:
        self._check_closed()
        self._thread_id = threading.get_ident()
        asyncio._set_running_loop(self)  # noqa: SLF001 - offered to event loops
        try:
            while True:
                self._fiber.process.still_lives()
                self._run_once()
                if self._stopping:
                    break
        finally:
            self._stopping = False
            self._thread_id = None
            asyncio._set_running_loop(None)  # noqa: SLF001

    def select(self, timeout: float | None) -> list[Any]:
        """Wait until a timer is due or a thread has something to say."""
        if timeout is not None and timeout <= 0:
            return []
        hub = self._fiber.process.hub
        self._idle = True
        try:
            if timeout is None:
                hub.wait()
            else:
                hub.pause(math.ceil(timeout * 1000 - 1e-3))
        finally:
            self._idle = False
        return []

    def _process_events(self, event_list: list[Any]) -> None:
        pass

    def _write_to_self(self) -> None:
        if self._idle:
            self._fiber.wake_soon()

    def run_in_executor(self, _executor: Any, function: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:  # type: ignore[override]
        """The call in a fiber of its own, whatever executor is given: that starts no thread before it is asked to."""
        future = self.create_future()
        fiber = current()

        def run() -> None:
            try:
                value = function(*args)
            except Died:
                raise
            except BaseException as error:  # noqa: BLE001 - handed to whoever awaits it
                self.call_soon_threadsafe(_settle, future, None, error)
            else:
                self.call_soon_threadsafe(_settle, future, value, None)

        fiber.process.spawn(run, fiber.owner)
        return future

    def call_soon_threadsafe(self, callback: Any, *args: Any, context: Any = None) -> Any:  # type: ignore[override]
        """Silent once the loop is closed: nobody waits for a thread that was left behind."""
        return None if self.is_closed() else super().call_soon_threadsafe(callback, *args, context=context)

    def call_exception_handler(self, context: Any) -> None:
        """A task that a dead process leaves behind is no news."""


def _settle(future: asyncio.Future[Any], value: Any, error: BaseException | None) -> None:
    if future.cancelled():
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(value)


class LoopPolicy(asyncio.DefaultEventLoopPolicy):
    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        return Loop() if is_fiber() else super().new_event_loop()

    def set_event_loop(self, loop: asyncio.AbstractEventLoop | None) -> None:
        """Nobody asks for it: a fiber's loop is the one that runs."""


def beside(tasks: Sequence[Callable[[], None]], width: int) -> None:
    """Run the tasks in fibers, at most `width` at once; returns when all have ended. Raises the first error of any."""
    fiber = current()
    waiting, running, errors = deque(tasks), 0, []

    def lane() -> None:
        nonlocal running
        try:
            while waiting:
                try:
                    waiting.popleft()()
                except BaseException as error:  # noqa: BLE001 - raised again by the one who waits
                    fiber.process.still_lives()
                    errors.append(error)
        finally:
            running -= 1
            if not running and not fiber.process.dead:
                fiber.wake_soon()

    running = min(width, len(tasks))
    for _ in range(running):
        fiber.process.spawn(lane, fiber.owner)
    if running:
        fiber.process.hub.wait()
    if errors:
        raise errors[0]


@contextmanager
def on_one_thread() -> Iterator[None]:
    """While this lasts, locks and event loops that a fiber makes are ours."""
    (
        store_threads(os.getpid(), "claim"),
        store_threads(os.getpid(), "record"),
    )  # made before, with locks that outlive this
    names = ("Lock", "_allocate_lock")
    before = {name: getattr(threading, name) for name in names}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        policy = asyncio.get_event_loop_policy()  # type: ignore[deprecated]
        asyncio.set_event_loop_policy(LoopPolicy())  # type: ignore[deprecated]
        for name in names:
            setattr(threading, name, _lock)
        told = sys.unraisablehook
        sys.unraisablehook = lambda unraisable: None if unraisable.exc_type is Died else told(unraisable)
        try:
            yield
        finally:
            gc.collect()  # coroutines of dead processes, which end by what they would have done next
            sys.unraisablehook = told
            for name, value in before.items():
                setattr(threading, name, value)
            asyncio.set_event_loop_policy(policy)  # type: ignore[deprecated]
