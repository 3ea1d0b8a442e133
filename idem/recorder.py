"""The recorder: outcomes that are ready travel together, and none waits for long.

What is put in is recorded within `within_ms`, at once if that is zero, and always before `close` returns. Whoever asks with `flush`
finds everything recorded that was put in before.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

from idem.clock import Clock

BUSY_MS = 1  # between two looks whether another recording is over: less than one takes


class Item(Protocol):
    """Something to be recorded. `lease_until` (epoch ms) is when it becomes too late for that. `ran`: its work has run."""

    @property
    def lease_until(self) -> int: ...

    @property
    def ran(self) -> bool: ...


T = TypeVar("T", bound=Item)


class Recorder(Generic[T]):
    """Records items through `record`, several at once, beside whatever runs.

    Works tell it when they start; while one runs, a timer sees to it that what has ended before is recorded in time. Nothing waits
    for a timer when nothing runs: then somebody is about to put in more, to flush, or to close.
    """

    def __init__(self, record: Callable[[Sequence[T]], None], clock: Clock, within_ms: float) -> None:
        self._record = record
        self._clock = clock
        self._within_ms = within_ms
        self._state = threading.Lock()  # over what follows; never held while the table is asked
        self._sending = threading.Lock()  # held while a flush asks the table
        self._waiting: list[T] = []
        self._due = 0.0
        self._running = 0
        self._call_off: Callable[[], None] | None = None
        self._failure: BaseException | None = None

    def starting(self) -> None:
        """A work starts now."""
        with self._state:
            self._running += 1
            self._plan()

    def ended(self) -> None:
        """A work has ended."""
        with self._state:
            self._running -= 1

    def put(self, item: T) -> None:
        """Record `item` in time."""
        if self._within_ms <= 0 and item.ran:
            self._record([item])
            return
        now_ms = self._clock.now_ms()
        due = now_ms + min(self._within_ms, max(0, item.lease_until - now_ms))
        with self._state:
            if due < self._due or not self._waiting:
                self._due = due
                self._stop_timer()
            self._waiting.append(item)
            self._plan()

    def flush_if_due(self) -> None:
        """Record what has waited long enough."""
        if self._waiting and self._clock.now_ms() >= self._due:
            self.flush()

    def flush(self) -> None:
        """Record what was put in."""
        while not self._sending.acquire(blocking=False):
            self._clock.sleep_ms(BUSY_MS)  # another lane or the timer is at it
        self._send()

    def _send(self) -> None:
        try:
            with self._state:
                self._stop_timer()
                items, self._waiting = self._waiting, []
            if items:
                self._record(items)
        finally:
            self._sending.release()

    def close(self) -> None:
        """Record what is left, and wait for what is under way. Raises what a timer's recording raised."""
        self.flush()
        if self._failure is not None:
            raise self._failure

    def _plan(self) -> None:
        """Set the timer, if something waits while a work runs."""
        if self._waiting and self._running and self._call_off is None:
            self._call_off = self._clock.later(max(0, self._due - self._clock.now_ms()), self._on_time)

    def _stop_timer(self) -> None:
        if self._call_off is not None:
            self._call_off()
            self._call_off = None

    def _on_time(self) -> None:
        if not self._sending.acquire(blocking=False):  # what it takes was put in before what this timer is for
            with self._state:
                self._call_off = self._clock.later(BUSY_MS, self._on_time)
            return
        try:
            self._send()
        except BaseException as failure:  # noqa: BLE001 - in a thread nobody would hear of it: `close` raises it
            self._failure = failure
