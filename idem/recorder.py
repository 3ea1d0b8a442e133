"""The recorder: outcomes that are ready travel together, and none waits for long.

What is put in is recorded within `within_ms`, at once if that is zero, never later than its own time, and always before `close`
returns. Recordings may be under way beside each other: nobody waits for another one's, unless it asks to with `catch_up`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

from idem.clock import Clock

BUSY_MS, BUSY_MAX_MS = 1, 50  # between two looks whether another recording is over: doubling, as the wait grows


class Recordable(Protocol):
    """Something to be recorded. `due_by` (epoch ms): later there may be no time left for it. `ran`: its work has run."""

    @property
    def due_by(self) -> int: ...

    @property
    def ran(self) -> bool: ...


T = TypeVar("T", bound=Recordable)


class Recorder(Generic[T]):
    """Records items through `record`, several at once, beside whatever runs.

    Works tell it when they start and end; while one is under way, a timer sees to it that what has ended before is recorded in
    time. Nothing waits for a timer when nothing runs: then somebody is about to put in more, to flush, or to close.
    """

    def __init__(self, record: Callable[[Sequence[T]], None], clock: Clock, within_ms: float) -> None:
        self._record = record
        self._clock = clock
        self._within_ms = within_ms
        self._state = threading.Lock()  # over what follows; never held while the table is asked
        self._waiting: list[T] = []
        self._kept: list[T] = []  # what could not be recorded, for `close`: no lane that goes on meets it
        self._due = 0.0
        self._running = 0
        self._under_way = 0
        self._call_off: Callable[[], None] | None = None
        self._failure: BaseException | None = None

    def starting(self) -> None:
        """A work is under way from now on."""
        with self._state:
            self._running += 1
            self._set_timer()

    def ended(self) -> None:
        """A work has ended, or did not start."""
        with self._state:
            self._running -= 1

    def put(self, item: T) -> None:
        """Record `item` in time."""
        if self._within_ms <= 0 and item.ran:
            with self._state:
                self._under_way += 1
            self._send([item])
            return
        now_ms = self._clock.now_ms()
        due = now_ms + min(self._within_ms, max(0, item.due_by - now_ms))
        with self._state:
            if due < self._due or not self._waiting:
                self._due = due
                self._stop_timer()
            self._waiting.append(item)
            self._set_timer()

    def flush_if_due(self) -> None:
        """Record what has waited long enough."""
        if self._waiting and self._clock.now_ms() >= self._due:
            self.flush()

    def flush(self) -> None:
        """Record what waits. Raises what kept an earlier recording from being made."""
        if self._failure is not None:
            raise self._failure
        if not self._waiting:
            return
        with self._state:
            self._stop_timer()
            self._under_way += 1  # before they are taken: nobody may see them neither waiting nor under way
            items, self._waiting = self._waiting, []
            self._under_way -= not items
        if items:
            self._send(items)

    def catch_up(self, enough: Callable[[], bool] = lambda: False) -> None:
        """Record what waits, and wait for what others are recording, until that is `enough` or nothing is under way."""
        self.flush()
        pause = BUSY_MS
        while self._under_way and not enough():
            self._clock.sleep_ms(pause)
            pause = min(2 * pause, BUSY_MAX_MS)
        if self._failure is not None:
            raise self._failure

    def close(self) -> None:
        """Record what is left, and nothing more. What kept a recording from being made is raised, once all else is recorded."""
        failure, self._failure = self._failure, None
        try:
            self.catch_up()
        except BaseException as error:  # noqa: BLE001 - raised below: what broke is tried once more, now that nothing is under way
            failure, self._failure = failure or error, None
        with self._state:
            self._waiting, self._kept = self._kept + self._waiting, []
        self.catch_up()
        self._record = _closed  # whoever gave it holds this recorder: the two would wait for the garbage collector
        if failure is not None:
            raise failure

    def _send(self, items: list[T]) -> None:
        """Record items that are counted as under way."""
        try:
            self._record(items)
        except BaseException:
            with self._state:
                self._kept += items
            raise
        finally:
            with self._state:
                self._under_way -= 1

    def _set_timer(self) -> None:
        """See to it that what waits is recorded in time, if a work is under way that could take long."""
        if self._waiting and self._running and self._call_off is None:
            self._call_off = self._clock.later(max(0, self._due - self._clock.now_ms()), self._on_time)

    def _stop_timer(self) -> None:
        if self._call_off is not None:
            self._call_off()
            self._call_off = None

    def _on_time(self) -> None:
        try:
            self.flush()
        except BaseException as failure:  # noqa: BLE001 - in a thread nobody would hear of it: `close` raises it
            self._failure = failure


def _closed(_: Sequence[object]) -> None:
    raise AssertionError("a recorder that is closed records nothing more")
