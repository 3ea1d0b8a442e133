"""Time and threads of a world, on one thread: fibers that stop in every call and every wait.

A fiber is a greenlet of one environment: an invocation, a lane beside it, a timer's action or a call that a coroutine sends to a
thread. Time moves only while all of them wait. An environment that is frozen keeps its fibers where they are; one that is dead
has each of them end by `Died`, which every later wait and call of theirs raises again, so that nothing of it has an effect.
"""

from __future__ import annotations

import asyncio
from asyncio.tasks import _enter_task, _leave_task
from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

from greenlet import getcurrent, greenlet

from idem.errors import Crash

START_MS = 1_800_000_000_000
WAITS_AFTER_DEATH_MAX = 2_000  # code that goes on after it has died goes on for ever


class Died(Crash):
    """The process is gone. No handler can help it."""


class Stuck(AssertionError):
    """The world does not end."""


class Moment:
    """Something that will happen at a time, unless it is called off."""

    __slots__ = ("action", "at")

    def __init__(self, at: float, action: Callable[[], None] | None) -> None:
        self.at = at
        self.action = action

    def call_off(self) -> None:
        self.action = None


class Hub:
    """What happens next. Times are epoch ms."""

    def __init__(self) -> None:
        self.now: float = START_MS
        self.greenlet = getcurrent()
        self.steps = 0
        self.stopped = False
        self._moments: list[tuple[float, int, Moment]] = []
        self._number = 0
        self._dead: list[Process] = []

    def at(self, when: float, action: Callable[[], None]) -> Moment:
        self._number += 1
        moment = Moment(when, action)
        heappush(self._moments, (when, self._number, moment))
        return moment

    def run(self, steps_max: int, until: float = float("inf")) -> None:
        """Let everything happen that happens before `until`. Raises Stuck if that takes too many steps."""
        while not self.stopped:
            if self._dead:
                self._bury()
            if not self._moments or self._moments[0][0] > until:
                return
            when, _, moment = heappop(self._moments)
            if moment.action is None:
                continue
            self.now = max(self.now, when)
            self.steps += 1
            if self.steps > steps_max:
                raise Stuck(f"no end after {steps_max} steps")
            moment.action()

    def dies(self, process: Process) -> None:
        self._dead.append(process)

    def _bury(self) -> None:
        dead, self._dead = self._dead, []
        for process in dead:
            process.end()

    # --- for the fiber that is running ---

    def pause(self, milliseconds: float) -> None:
        """The running fiber waits for a time."""
        fiber = current()
        fiber.process.still_lives()
        fiber.sleeps = self.at(self.now + milliseconds, fiber.wake)
        self._park(fiber)

    def wait(self) -> None:
        """The running fiber waits until it is woken."""
        fiber = current()
        fiber.process.still_lives()
        self._park(fiber)

    def _park(self, fiber: Fiber) -> None:
        """Leave the fiber, together with what asyncio keeps for its thread."""
        loop = asyncio._get_running_loop()  # noqa: SLF001 - offered to event loops that switch by themselves
        if loop is None:
            self.greenlet.switch()
        else:
            task = asyncio.current_task(loop)
            if task is not None:
                _leave_task(loop, task)
            asyncio._set_running_loop(None)  # noqa: SLF001
            try:
                self.greenlet.switch()
            finally:
                asyncio._set_running_loop(loop)  # noqa: SLF001
                if task is not None:
                    _enter_task(loop, task)
        fiber.process.still_lives()


class Process:
    """One environment's process: its fibers, whether they may run, and whether they are gone."""

    def __init__(self, hub: Hub) -> None:
        self.hub = hub
        self.fibers: set[Fiber] = set()
        self.frozen = False
        self.dead = False
        self._woken: list[Fiber] = []
        self._after_death = 0

    def spawn(self, action: Callable[[], object], owner: Any, delay_ms: float = 0) -> Fiber:
        """A new fiber that begins `action`; owner: what it is working for."""
        fiber = Fiber(self, action, owner)
        self.fibers.add(fiber)
        fiber.sleeps = self.hub.at(self.hub.now + delay_ms, fiber.wake)
        return fiber

    def freeze(self) -> None:
        self.frozen = True

    def thaw(self) -> None:
        self.frozen = False
        woken, self._woken = self._woken, []
        for fiber in woken:
            fiber.sleeps = self.hub.at(self.hub.now, fiber.wake)

    def die(self) -> None:
        if not self.dead:
            self.dead = True
            self.hub.dies(self)

    def still_lives(self) -> None:
        """Raises Died in a process that is dead."""
        if self.dead:
            self._after_death += 1
            if self._after_death > WAITS_AFTER_DEATH_MAX:
                raise Stuck("code goes on after its process has died")
            raise Died

    def woken(self, fiber: Fiber) -> None:
        self._woken.append(fiber)

    def end(self) -> None:
        """Have every fiber end where it is. Called by the hub, when none of them runs."""
        for fiber in list(self.fibers):
            if fiber.sleeps is not None:
                fiber.sleeps.call_off()
            if fiber.begun and not fiber.dead:
                fiber.throw(Died())
        self.fibers.clear()
        self._woken.clear()


class Fiber(greenlet):
    """One thread of a process."""

    def __init__(self, process: Process, action: Callable[[], object], owner: Any) -> None:
        super().__init__(self._live, process.hub.greenlet)
        self.process = process
        self.owner = owner
        self.begun = False
        self.sleeps: Moment | None = None
        self._action = action

    def _live(self) -> None:
        try:
            self._action()
        except Died:
            pass
        finally:
            self.process.fibers.discard(self)

    def wake(self) -> None:
        """Go on, or note that it would have if its process were not frozen."""
        self.sleeps = None
        if self.process.dead:
            return
        if self.process.frozen:
            self.process.woken(self)
            return
        self.begun = True
        self.switch()

    def wake_soon(self) -> None:
        """Go on as soon as the one that runs now has stopped."""
        if self.sleeps is not None:
            self.sleeps.call_off()
        self.sleeps = self.process.hub.at(self.process.hub.now, self.wake)


def current() -> Fiber:
    """The fiber that is running."""
    fiber = getcurrent()
    if not isinstance(fiber, Fiber):
        raise AssertionError("only a fiber can wait")
    return fiber


def is_fiber() -> bool:
    return isinstance(getcurrent(), Fiber)
