"""Which worlds are looked at: every single odd choice and every pair of them from a dull world, then random ones.

A job is a share of them that one process can do. Its first broken rule ends it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tests.simulation.choices import DULL, Choices, Kind
from tests.simulation.parts import Tally
from tests.simulation.story import Story, shrunk
from tests.simulation.threads import on_one_thread
from tests.simulation.world import World, watch

SEED = 20261201
HAPPENS = frozenset(
    {"fault", "ending", "duration", "effect", "awaiting", "depth", "batch", "environment", "twice", "call"}
)
"""Kinds of what happens, as against what the function and its policy are."""

Base = dict[str, str]

TWO_KEYS: Base = {"m1.key": "K1"}
BASES: Mapping[str, Base] = {
    "queue": {},
    "queue, two keys": TWO_KEYS,
    "queue, commit": {"mode": "commit"},
    "queue, guard": {"mode": "guard"},
    "queue, coroutine": {"style": "coroutine"} | TWO_KEYS,
    "queue, lanes": {"concurrency": "2", "record_within": "0"} | TWO_KEYS,
    "queue, lanes of coroutines": {"style": "coroutine", "concurrency": "2"} | TWO_KEYS,
    "queue, two starts": {"starts_max": "2"} | TWO_KEYS,
    "queue, held": {"lapsed": "hold"},
    "queue, no context": {"context": "none"} | TWO_KEYS,
    "queue, its first start fails": {"starts_max": "2", "K0/1.ending": "transient"},
    "queue, much time to record": {"record_within": "1 h"} | TWO_KEYS,
    "ordered queue": {"source": "fifo", "m1.group": "g1"},
    "ordered queue, a group": {"source": "fifo"} | TWO_KEYS,
    "ordered queue, a group in lanes": {"source": "fifo", "concurrency": "2", "record_within": "0"} | TWO_KEYS,
    "ordered queue, twins apart": {"source": "fifo", "messages": "3", "m1.key": "K1", "m2.key": "K1", "m2.group": "g1"},
    "stream": {"source": "stream"} | TWO_KEYS,
    "webhook": {"source": "webhook"},
    "webhook, commit": {"source": "webhook", "mode": "commit"},
    "invocation": {"source": "invoke"},
    "function": {"source": "once"},
    "function, two starts": {"source": "once", "starts_max": "2"},
    "function, coroutine": {"source": "once", "style": "coroutine"},
}
PAIRS = (
    "queue",
    "queue, two keys",
    "queue, commit",
    "queue, guard",
    "queue, lanes of coroutines",
    "queue, two starts",
    "ordered queue",
    "function",
    "function, coroutine",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A share of the search. depth: how many odd choices at most, from `base`; or random worlds from `first` on."""

    name: str
    base: Base = field(default_factory=dict)
    depth: int = 0
    share: tuple[int, int] = (0, 1)
    seed: int = SEED
    first: int = 1
    count: int = 0
    without: frozenset[str] = frozenset()

    def worlds(self) -> Iterator[World]:
        if self.depth:
            yield from self._enumerated()
        for run in range(self.first, self.first + self.count):
            yield watch(Choices(self.seed, run, None, self.without))

    def _enumerated(self) -> Iterator[World]:
        dull = self._world(self.base)
        yield dull
        part, parts = self.share
        for number, (name, label) in enumerate(self._odd(dull, after=None)):
            if number % parts != part:
                continue
            single = self._world({**self.base, name: label})
            yield single
            if self.depth > 1 and single.referee.breach is None:
                for other, second in self._odd(single, after=name):
                    yield self._world({**self.base, name: label, other: second})

    def _world(self, fixed: Base) -> World:
        return watch(Choices(self.seed, DULL, fixed, self.without))

    def _odd(self, world: World, *, after: str | None) -> Iterator[tuple[str, str]]:
        """Every other label of every choice that the world asked for, after the named one."""
        waiting = after is not None
        for name, (kind, label) in world.choices.taken.items():
            if waiting:
                waiting = name != after
            elif name not in self.base and self._counts(kind):
                yield from ((name, other) for other in kind.labels if other != label)

    def _counts(self, kind: Kind) -> bool:
        return self.depth == 1 or kind.name in HAPPENS

    def run(self) -> tuple[Tally, Story | None]:
        """What was looked at, and the story of the first rule that was broken."""
        tally = Tally()
        with on_one_thread():
            for world in self.worlds():
                tally.add(world.tally)
                tally.met(world.choices.taken)
                if world.referee.breach is not None:
                    return tally, shrunk(world)
        return tally, None


def short(without: frozenset[str] = frozenset()) -> list[Job]:
    """What `make test` runs: every single odd choice from the dull worlds, and some random ones."""
    return [*_singles(without), Job(name="random", count=1_000, without=without)]


def _singles(without: frozenset[str]) -> list[Job]:
    return [Job(name=f"{name}, one odd choice", base=base, depth=1, without=without) for name, base in BASES.items()]


def thorough(seed: int, scale: float, without: frozenset[str] = frozenset()) -> list[Job]:
    """What `make prove` runs."""
    jobs = [
        Job(name=f"{name}, two odd happenings", base=BASES[name], depth=2, share=(part, 4), without=without)
        for name in PAIRS
        for part in range(4)
    ]
    jobs += _singles(without)
    size = int(2_500 * scale)
    jobs += [
        Job(name=f"random from {first}", seed=seed, first=first, count=size, without=without)
        for first in range(1, 16 * size, max(1, size))
    ]
    return jobs
