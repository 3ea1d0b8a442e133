"""Performs the work that a world has chosen for a start: takes its time, makes its effect, ends in its way."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING, Any

from tests.simulation import catalogue as kinds
from tests.simulation import works
from tests.simulation.fibers import current
from tests.simulation.parts import Run
from tests.simulation.settings import ms

if TYPE_CHECKING:
    from tests.simulation.environment import Environment
    from tests.simulation.world import World

FOR_EVER_MS = 10**9


class Performer:
    """The functions that one environment's consumer is given."""

    def __init__(self, world: World, environment: Environment) -> None:
        self._world = world
        self._environment = environment

    def work(self, delivery: Any, claim: Any) -> Any:
        return self._perform(*_subject(delivery.payload), claim)

    async def work_async(self, delivery: Any, claim: Any) -> Any:
        return await self._perform_async(*_subject(delivery.payload), claim)

    def plan(self, delivery: Any) -> Any:
        return self._perform(*_subject(delivery.payload), None)

    async def plan_async(self, delivery: Any) -> Any:
        return await self._perform_async(*_subject(delivery.payload), None)

    def function(self, k: str, c: str, claim: Any) -> Any:
        return self._perform(k, c, claim)

    async def function_async(self, k: str, c: str, claim: Any) -> Any:
        return await self._perform_async(k, c, claim)

    def _perform(self, key: str, content: str, claim: Any) -> Any:
        run = self._begin(key, content, claim)
        try:
            half = self._duration(run) / 2
            self._environment.hub.pause(half)
            self._middle(run)
            self._environment.hub.pause(half)
            return self._end(run)
        except BaseException as error:
            self._raised(run, error)
            raise

    async def _perform_async(self, key: str, content: str, claim: Any) -> Any:
        run = self._begin(key, content, claim)
        blocks = self._world.pick(f"{run}.awaiting", kinds.AWAITING) == "blocks"
        try:
            half = self._duration(run) / 2
            await self._spend(run, half, blocks=blocks)
            self._middle(run)
            await self._spend(run, half, blocks=blocks)
            awaited = works.AWAITED.get(run.ending)
            if awaited is not None:
                await awaited()
            return self._end(run)
        except BaseException as error:
            self._raised(run, error)
            raise

    async def _spend(self, run: Run, milliseconds: float, *, blocks: bool) -> None:
        if blocks:
            span = [self._environment.hub.now, math.inf]  # without an end where the process dies meanwhile
            run.invocation.blocked.append(span)
            self._environment.hub.pause(milliseconds)
            span[1] = self._environment.hub.now
        else:
            await asyncio.sleep(milliseconds / 1000)

    def _begin(self, key: str, content: str, claim: Any) -> Run:
        self._environment.still_lives()
        invocation = current().owner
        run = self._world.referee.started(key, content, claim, invocation)
        settings = self._world.settings
        kind = kinds.ENDINGS[settings.mode, "coroutine" if settings.is_async else "plain"]
        run.ending = self._world.pick(f"{run}.ending", kind)
        return run

    def _duration(self, run: Run) -> float:
        label = self._world.pick(f"{run}.duration", kinds.DURATION)
        settings, now = self._world.settings, self._environment.hub.now
        ends_at = run.invocation.ends_at
        left = max(0, (ends_at - now) if ends_at is not None else settings.horizon)
        match label:
            case "half":
                return settings.horizon / 2
            case "to the brink":
                return max(0, left - settings.reserve - 100)
            case "over":
                return left + 2_000
            case "a lease":
                return settings.policy.lease.total_seconds() * 1000 + settings.margin + 5_000
            case "hangs":
                return FOR_EVER_MS
            case _:
                return ms(label)

    def _middle(self, run: Run) -> None:
        """The effect of work in claim mode; the effects of a Commit are written with the record."""
        self._environment.still_lives()
        if run.ending == "dies before its effect":
            self._environment.crash()
        nothing = run.ending in works.NEVER_RUN or run.ending in works.MISPLACED
        if self._world.settings.mode == "claim" and not nothing and self._has_effect(run):
            self._world.referee.effect(run)
        if run.ending == "dies after its effect":
            self._environment.crash()

    def _has_effect(self, run: Run) -> bool:
        return self._world.pick(f"{run}.effect", kinds.EFFECT) == "yes"

    def _end(self, run: Run) -> Any:
        """Return or raise what was chosen."""
        name, ending = str(run), run.ending
        referee = self._world.referee
        if ending in works.RAISES:
            error = works.RAISES[ending]()
            raise error
        if ending in works.NEVER_RUN:
            referee.ended(run, done=False, never_ran=True)
            return works.NEVER_RUN[ending]()
        if ending in works.MISPLACED:
            referee.ended(run, done=False, never_ran=True)
            return works.MISPLACED[ending](run.key)
        if ending in works.COMMITS:
            referee.ended(run, done=ending in works.MAY_SUCCEED)
            return works.COMMITS[ending](run.key, name)
        referee.ended(run, done=True)
        if self._world.settings.mode != "claim":
            return works.COMMITS["commit"](run.key, name)
        if ending == "deep":
            return works.nested(int(self._world.pick(f"{run}.depth", kinds.DEPTH)))
        return works.VALUES[ending](name)

    def _raised(self, run: Run, error: BaseException) -> None:
        if not self._environment.dead:
            self._world.referee.ended(run, done=False, error=error)


def _subject(payload: Any) -> tuple[str, str]:
    """The key and content of a delivery, whatever its source."""
    if "data" in payload:
        return payload["id"], payload["data"]["object"]["c"]
    return payload["k"], payload["c"]
