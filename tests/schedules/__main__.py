"""`python -m tests.schedules`: the long proof. `--replay NAME` tells one schedule, `--table` prints the README's table."""

from __future__ import annotations

import argparse
import logging
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from itertools import islice

from tests.schedules.checks import Tally
from tests.schedules.explore import Broken, exhaustive, random, replayed
from tests.schedules.modes import MODES
from tests.schedules.table import ALIKE, COLUMNS, table
from tests.schedules.world import Bounds

SKEWS_MS = ((0, 0), (0, 2_000), (2_000, 0))  # together, and the whole margin apart in either direction
SEED = 20261130
LARGEST = "batch-limit"  # 35,000 schedules with one fault: every order's start is a call of its own
LARGE = frozenset({LARGEST, "batch-forget", "limit"})  # their work fails, so that each receive has everything once more


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A share of the proof: a mode, its bounds, and for a random search how many schedules of which seed."""

    mode: str
    bounds: Bounds
    seed: int | None = None
    count: int | None = None

    def __str__(self) -> str:
        bounds = self.bounds
        how = "all" if self.seed is None else f"seed {self.seed}"
        return (
            f"{self.mode:12} {how:14} {bounds.deliveries} deliveries, up to {bounds.faults} faults,"
            f" in {bounds.generations} receives, clocks {list(bounds.skews_ms) if self.seed is None else 'drawn'}"
        )

    def run(self) -> Tally:
        tally = Tally()
        mode = MODES[self.mode]
        steps = (
            exhaustive(mode, self.bounds, tally) if self.seed is None else random(mode, self.bounds, tally, self.seed)
        )
        for _ in islice(steps, self.count):
            pass
        return tally


def quick() -> Iterator[Job]:
    """What the tests run: every mode with one fault and a random search, and the modes of the table with more."""
    yield from short()
    yield from for_the_table()


def short() -> Iterator[Job]:
    """Enough to find most mistakes in a few seconds."""
    for mode in MODES:
        if mode != LARGEST:
            yield Job(mode=mode, bounds=Bounds(faults=1))
    for skews in SKEWS_MS[1:]:
        yield Job(mode="complete", bounds=Bounds(faults=1, skews_ms=skews))
    crowd = Bounds(deliveries=3, faults=4, generations=3, overlapping=True)
    for mode in MODES:
        yield Job(mode=mode, bounds=crowd, seed=SEED, count=100)


def for_the_table() -> Iterator[Job]:
    """What the README's table is made of. Where starts are counted by themselves, two faults make three times as many schedules."""
    for mode in (*COLUMNS, *ALIKE):
        yield Job(mode=mode, bounds=Bounds(faults=1 if MODES[mode].counts_starts else 2))


def thorough(seed: int, scale: float) -> Iterator[Job]:
    """What `make prove` runs. The longest come first, so that no processor waits at the end."""
    yield Job(mode=LARGEST, bounds=Bounds(faults=1))
    uncounted = [mode for mode in COLUMNS if not MODES[mode].counts_starts]
    for mode in uncounted:
        yield Job(mode=mode, bounds=Bounds(faults=2, generations=2))
    for mode in MODES:
        if len(MODES[mode].orders) == 1 and mode not in LARGE:
            for skews in SKEWS_MS if mode in uncounted else SKEWS_MS[:1]:
                yield Job(mode=mode, bounds=Bounds(faults=2, skews_ms=skews))
    for mode in ("commit", "guard"):
        yield Job(mode=mode, bounds=Bounds(faults=2, tokens=True))
    for mode in MODES:
        if mode != LARGEST:
            yield Job(mode=mode, bounds=Bounds(faults=1, generations=1 if mode in LARGE else 3))
        for deliveries in (2, 3, 4):
            crowd = Bounds(deliveries=deliveries, faults=6, generations=4, overlapping=True)
            yield Job(mode=mode, bounds=crowd, seed=seed + deliveries, count=int(2_000 * scale))


def prove(jobs: list[Job]) -> dict[str, Tally]:
    """Run the jobs on all processors, telling how each ended. Raises Broken at the first schedule that breaks a rule."""
    tallies = {name: Tally() for name in MODES}
    begun, total = time.monotonic(), 0
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        futures = {pool.submit(job.run): job for job in jobs}
        for number, future in enumerate(as_completed(futures), start=1):
            try:
                tally = future.result()
            except BaseException:
                pool.shutdown(cancel_futures=True, wait=False)
                raise
            job = futures[future]
            tallies[job.mode].add(tally)
            total += tally.schedules
            _say(
                f"{number:>3}/{len(jobs)} {time.monotonic() - begun:>5.0f} s {total:>8} schedules | {job}: {tally.schedules}"
            )
    return tallies


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.schedules", description=__doc__)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument(
        "--scale", type=float, default=1.0, help="how many random schedules, 1 is about a minute of them"
    )
    parser.add_argument("--quick", action="store_true", help="what the tests run")
    parser.add_argument("--table", action="store_true", help="print only the README's table, from the quick run")
    parser.add_argument("--replay", metavar="NAME", help="tell one schedule, by the name that a broken one printed")
    asked = parser.parse_args()
    logging.disable(logging.CRITICAL)  # what the code under test logs is not the proof's output
    if asked.replay:
        _say(replayed(asked.replay))
        return 0
    if asked.table:
        tallies = {job.mode: job.run() for job in for_the_table()}
        _say(table(tallies))
        return 0
    try:
        tallies = prove(list(quick() if asked.quick else thorough(asked.seed, asked.scale)))
    except Broken as broken:
        _say(str(broken))
        return 1
    _say(f"\nno rule was broken in {sum(tally.schedules for tally in tallies.values())} schedules\n\n{table(tallies)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
