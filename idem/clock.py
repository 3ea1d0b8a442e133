"""Time and randomness as arguments."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Protocol


def milliseconds(duration: timedelta) -> int:
    """A duration as this library counts time, rounded down."""
    return duration // timedelta(milliseconds=1)


class Clock(Protocol):
    """Wall-clock time in epoch milliseconds, and what depends on it."""

    def now_ms(self) -> int: ...

    def sleep_ms(self, milliseconds: float) -> None: ...

    async def pause_ms(self, milliseconds: float) -> None:
        """The same for coroutines: others run meanwhile."""
        ...

    def jitter(self) -> float:
        """A random number from 0 up to 1."""
        ...

    def later(self, milliseconds: float, action: Callable[[], None]) -> Callable[[], None]:
        """Do `action` when the time has passed, beside whatever runs then; the returned function calls it off."""
        ...


class SystemClock:
    """The machine's clock. Randomness comes from the operating system: snapshot-restored environments share Python's."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def sleep_ms(self, milliseconds: float) -> None:
        time.sleep(milliseconds / 1000)

    async def pause_ms(self, milliseconds: float) -> None:
        from asyncio import sleep  # noqa: PLC0415 - only coroutine functions need it

        await sleep(milliseconds / 1000)

    def jitter(self) -> float:
        return int.from_bytes(os.urandom(4), "big") / (1 << 32)

    def later(self, milliseconds: float, action: Callable[[], None]) -> Callable[[], None]:
        return _ALARMS.plan(milliseconds / 1000, action)


FAR_SECONDS = (
    1e6  # eleven days: a thread can wait for no more than some decades, and nothing here waits longer than a lease
)


class Alarms:
    """Does things when their time has come, each in a thread of its own.

    One thread waits for all of them, and sleeps on when one is called off: to start or wake a thread for each batch of quick
    work would cost as much as recording it.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._planned: dict[object, tuple[float, Callable[[], None]]] = {}
        self._wakes_at = math.inf
        self._waiter: threading.Thread | None = None

    def plan(self, seconds: float, action: Callable[[], None]) -> Callable[[], None]:
        """Do `action` in so many seconds, unless the returned function is called before."""
        at, mark = time.monotonic() + min(seconds, FAR_SECONDS), object()

        def call_off() -> None:
            with self._changed:
                self._planned.pop(mark, None)

        with self._changed:
            self._planned[mark] = (at, action)
            if self._waiter is None or not self._waiter.is_alive():  # a forked process has no thread of its parent's
                self._waiter = threading.Thread(target=self._wait, name="idem-alarms", daemon=True)
                self._waiter.start()
            elif at < self._wakes_at:
                self._changed.notify_all()
        return call_off

    def _wait(self) -> None:
        while True:
            for action in self._due():
                threading.Thread(target=action, daemon=True).start()

    def _due(self) -> list[Callable[[], None]]:
        """What is to be done now; if that is nothing, wait for the next time or for a change."""
        with self._changed:
            now = time.monotonic()
            due = [mark for mark, (at, _) in self._planned.items() if at <= now]
            if not due:
                self._wakes_at = min((at for at, _ in self._planned.values()), default=math.inf)
                self._changed.wait(None if self._wakes_at == math.inf else self._wakes_at - now)
                self._wakes_at = -math.inf  # awake: it looks again by itself
            return [self._planned.pop(mark)[1] for mark in due]


_ALARMS = Alarms()


DOUBLINGS_MAX = 60  # a float ends at 1,024, and a message without a dead-letter queue is received more often


def backoff_ms(attempt: int, *, base_ms: float, cap_ms: float, jitter: float) -> float:
    """The pause before try number `attempt` + 1 (attempts count from 0): doubling, capped, between half and all of it."""
    return min(cap_ms, base_ms * 2.0 ** min(attempt, DOUBLINGS_MAX)) * (0.5 + jitter / 2)


def new_token() -> str:
    """A claim token: 128 bits from the operating system, drawn at the moment of the call, as 32 hex digits."""
    return os.urandom(16).hex()
