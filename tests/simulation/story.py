"""A breach as a story: shrunk to the choices that matter, told in order, with the line that replays it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from tests.simulation.choices import DULL, Choices
from tests.simulation.referee import Breach
from tests.simulation.world import World, watch

TRIES_MAX = 400  # worlds that one story may cost


@dataclass(frozen=True, slots=True)
class Story:
    """A broken rule, and the choices that lead to it from the dullest world."""

    seed: int
    odd: Mapping[str, str]
    breach: Breach

    @property
    def name(self) -> str:
        """What `--replay` takes."""
        choices = ",".join(f"{name}={label}" for name, label in self.odd.items())
        return f"{self.seed}:{DULL}" + (f":{choices}" if choices else "")

    def told(self) -> str:
        world = watch(Choices(self.seed, DULL, self.odd), notes=True)
        lines = [
            f"BROKEN  {self.breach.rule.name}",
            f"promise {self.breach.rule.value}",
            f"found   {self.breach.what}",
            "",
            "chosen  "
            + ("; ".join(f"{name}: {label}" for name, label in self.odd.items()) or "nothing but the dullest"),
            f"policy  {world.settings.policy}",
            "",
            *(world.notes or ()),
            "",
            f"replay  python -m tests.simulation --replay '{self.name}'",
        ]
        return "\n".join(lines)


def shrunk(world: World, watched: Callable[[Choices], World] = watch) -> Story:
    """The story of a world that broke a rule, with as few odd choices as still break it. watched: what runs a world."""
    breach = world.referee.breach
    if breach is None:
        raise AssertionError("this world broke no rule")
    rule, seed = breach.rule, world.choices.seed
    odd = world.choices.odd()
    tries = 0

    def breaks(wanted: Mapping[str, str]) -> World | None:
        nonlocal tries
        tries += 1
        again = watched(Choices(seed, DULL, wanted))
        found = again.referee.breach
        return again if found is not None and found.rule is rule else None

    size = max(1, len(odd) // 2)
    while tries < TRIES_MAX:
        names, smaller = list(odd), False
        for start in range(0, len(names), size):
            left_out = set(names[start : start + size])
            again = breaks({name: label for name, label in odd.items() if name not in left_out})
            if again is not None:
                odd, smaller = again.choices.odd(), True
                breach = again.referee.breach or breach
                break
        if not smaller:
            if size == 1:
                break
            size = max(1, size // 2)
    return Story(seed, odd, breach)


def replayed(line: str, without: Collection[str] = ()) -> World:
    """The world that a replay line names, told."""
    seed, _, rest = line.partition(":")
    run, _, listed = rest.partition(":")
    fixed = dict(one.split("=", 1) for one in listed.split(",")) if listed else {}
    return watch(Choices(int(seed), int(run), fixed, without), notes=True)
