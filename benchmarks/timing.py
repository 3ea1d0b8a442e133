"""Interleaved repetitions, medians and spread.

The machine may be busy, and busier at one moment than at another. So the contenders of one comparison take turns within each
round, in an order that rotates, and a ratio is taken inside its round: what is reported is the median of the rounds' ratios,
with the smallest and the largest beside it.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

Body = Callable[[], object]
Prepare = Callable[[], Body]


@dataclass(frozen=True, slots=True)
class Sample:
    """Seconds for one unit of work: on the wall, and of CPU over all threads of the process."""

    wall: float
    cpu: float


@dataclass(frozen=True, slots=True)
class Spread:
    """The median of several values, with the smallest and the largest."""

    median: float
    min: float
    max: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        return cls(statistics.median(values), min(values), max(values))


Samples = dict[str, list[Sample]]

ROUNDS_MIN = 5  # however slow the machine is
SECONDS_MAX = 4.0  # for one comparison that has its least rounds: all of them together stay within minutes


def compare(contenders: Mapping[str, Prepare], *, rounds: int, units: int) -> Samples:
    """Measure each contender once in each round. `Prepare` sets up, unmeasured, what does `units` units of work.

    The round before the first is not kept: it fills what a warm process has filled. On a slow machine there are fewer rounds.
    """
    names = list(contenders)
    samples: Samples = {name: [] for name in names}
    started = time.monotonic()
    gc.collect()
    gc.freeze()  # the collector sees what the contenders make, not what this harness holds
    for round_ in range(-1, rounds):
        if round_ >= ROUNDS_MIN and time.monotonic() - started > SECONDS_MAX:
            break
        turn = round_ % len(names)
        for name in names[turn:] + names[:turn]:
            sample = measure(contenders[name](), units)
            if round_ >= 0:
                samples[name].append(sample)
    gc.unfreeze()
    return samples


def measure(body: Body, units: int) -> Sample:
    """Run `body`, which does `units` units of work."""
    cpu, wall = time.process_time(), time.perf_counter()
    body()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return Sample(wall / units, cpu / units)


def ratio(samples: Samples, over: str, under: str, clock: str, scale: float = 1.0) -> Spread:
    """The ratio of two contenders on one clock ("wall" or "cpu"), taken round by round."""
    pairs = zip(samples[over], samples[under], strict=True)
    return Spread.of([scale * getattr(a, clock) / getattr(b, clock) for a, b in pairs])
