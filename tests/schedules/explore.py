"""Going through schedules: all of them within bounds, or random ones from a seed. A schedule is named by its choices."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from random import Random

from tests.schedules.checks import Tally, Watch
from tests.schedules.mode import Mode
from tests.schedules.modes import MODES
from tests.schedules.world import Bounds, Choices, Violation, World

FAULT_ODDS = 0.15  # of one at a call in a random schedule, while its faults last


class Listed:
    """Choices from a list, then the ordinary ones. Notes what was taken, and out of how many."""

    def __init__(self, listed: Sequence[int] = ()) -> None:
        self._listed = listed
        self.taken: list[int] = []
        self.options: list[int] = []

    def choose(self, options: int, *, fault: bool) -> int:  # noqa: ARG002 - both kinds of choice are listed alike
        at = len(self.taken)
        choice = self._listed[at] if at < len(self._listed) else 0
        self.taken.append(choice)
        self.options.append(options)
        return choice

    def next(self) -> list[int] | None:
        """The next list in order: the last choice that can be raised is raised. None after the last list."""
        for at in range(len(self.taken) - 1, -1, -1):
            if self.taken[at] + 1 < self.options[at]:
                return [*self.taken[:at], self.taken[at] + 1]
        return None


class Drawn:
    """Choices drawn from a seed."""

    def __init__(self, seed: str) -> None:
        self._random = Random(seed)  # noqa: S311 - to be repeated, not to be secret
        self.taken: list[int] = []

    def skew_ms(self) -> int:
        return self._random.choice(SKEWS_MS)

    def choose(self, options: int, *, fault: bool) -> int:
        ordinary = fault and self._random.random() > FAULT_ODDS
        self.taken.append(0 if ordinary else self._random.randrange(options))
        return self.taken[-1]


class Broken(AssertionError):
    """A schedule that breaks a rule, with its name and everything that happened in it."""


def run(mode: Mode, bounds: Bounds, choices: Choices, tally: Tally, log: Callable[[str], None] | None = None) -> None:
    """One schedule. Raises Violation."""
    world = World(choices, bounds, mode.handle, mode.orders, log)
    watch = Watch(world, mode, tally)
    world.run()
    watch.finish()


def exhaustive(mode: Mode, bounds: Bounds, tally: Tally) -> Iterator[None]:
    """Every schedule within the bounds, one at each step of the iterator. Raises Broken."""
    choices: Listed | None = Listed()
    while choices:
        _judge(mode, bounds, choices, tally)
        yield
        following = choices.next()
        choices = Listed(following) if following is not None else None


def random(mode: Mode, bounds: Bounds, tally: Tally, seed: int) -> Iterator[None]:
    """Random schedules without end, the same ones for the same seed. Raises Broken."""
    number = 0
    while True:
        drawn = Drawn(f"{seed}/{mode.name}/{number}")
        skews_ms = [drawn.skew_ms() for _ in range(bounds.deliveries)]
        _judge(mode, replace(bounds, skews_ms=skews_ms), drawn, tally)
        number += 1
        yield


SKEWS_MS = (0, 1_000, 2_000)  # no two of them are further apart than the policy's skew margin


def _judge(mode: Mode, bounds: Bounds, choices: Listed | Drawn, tally: Tally) -> None:
    try:
        run(mode, bounds, choices, tally)
    except Violation as violation:
        raise Broken(f"{violation}\n{told(mode, bounds, choices.taken)}") from None


def told(mode: Mode, bounds: Bounds, taken: Sequence[int]) -> str:
    """The schedule with these choices, as a story, and how to run it again."""
    lines: list[str] = []
    try:
        run(mode, bounds, Listed(taken), Tally(), lines.append)
    except Violation as violation:
        lines.append(f"VIOLATION: {violation}")
    return "\n".join([*lines, f"again: python -m tests.schedules --replay '{name_of(mode, bounds, taken)}'"])


def name_of(mode: Mode, bounds: Bounds, taken: Sequence[int]) -> str:
    last = max((at for at, choice in enumerate(taken) if choice), default=-1)
    skews = ",".join(map(str, bounds.skews_ms))
    parts = [
        mode.name,
        bounds.deliveries,
        bounds.faults,
        bounds.generations,
        int(bounds.overlapping),
        int(bounds.tokens),
        skews,
    ]
    return ":".join([*map(str, parts), ".".join(map(str, taken[: last + 1]))])


def replayed(name: str) -> str:
    """The story of the schedule with this name."""
    mode, deliveries, faults, generations, overlapping, tokens, skews, taken = name.split(":")
    bounds = Bounds(
        deliveries=int(deliveries),
        faults=int(faults),
        generations=int(generations),
        overlapping=bool(int(overlapping)),
        tokens=bool(int(tokens)),
        skews_ms=[int(one) for one in skews.split(",")],
    )
    return told(MODES[mode], bounds, [int(one) for one in taken.split(".") if one])
