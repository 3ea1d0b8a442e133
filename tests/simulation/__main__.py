"""`python -m tests.simulation`: the proof for whole invocations. `--replay LINE` tells one world."""

from __future__ import annotations

import argparse
import logging
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed

from tests.simulation.choices import Kind, switched_off
from tests.simulation.explore import SEED, Job, short, thorough
from tests.simulation.parts import Tally
from tests.simulation.story import Story, replayed
from tests.simulation.threads import on_one_thread


def prove(jobs: list[Job], processes: int) -> tuple[Tally, Story | None]:
    """Run the jobs, telling how each ended, until one breaks a rule."""
    total, begun = Tally(), time.monotonic()
    with ProcessPoolExecutor(processes, initializer=quiet) as pool:
        futures = {pool.submit(job.run): job for job in jobs}
        for number, future in enumerate(as_completed(futures), start=1):
            tally, story = future.result()
            total.add(tally)
            say(
                f"{number:>3}/{len(jobs)} {time.monotonic() - begun:>5.0f} s {total.worlds:>8} worlds"
                f" {total.invocations:>9} invocations | {futures[future].name}"
            )
            if story is not None:
                pool.shutdown(cancel_futures=True, wait=False)
                return total, story
    return total, None


def met(tally: Tally) -> str:
    """How often each feature was met, by kind, and what was never met."""
    lines, never = [], []
    for kind in dict.fromkeys(kind.name for kind in Kind.all):
        labels = dict.fromkeys(label for one in Kind.all if one.name == kind for label in one.labels)
        counts = {label: tally.features.get(f"{kind}={label}", 0) for label in labels}
        lines.append(f"{kind:>18}  " + ", ".join(f"{label} {count}" for label, count in counts.items()))
        never += [f"{kind}={label}" for label, count in counts.items() if not count]
    return "\n".join([*lines, "", "never met: " + (", ".join(never) or "nothing")])


def quiet() -> None:
    """What the code under test logs is not the proof's output."""
    logging.disable(logging.CRITICAL)


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--scale", type=float, default=1.0, help="how many random worlds; 1 is a few minutes")
    parser.add_argument("--short", action="store_true", help="what the tests run")
    parser.add_argument(
        "--without", nargs="*", default=[], metavar="KIND=LABEL", help="features to switch off, * allowed"
    )
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--replay", metavar="LINE", help="tell one world: SEED:RUN[:name=label,...]")
    asked = parser.parse_args()
    quiet()
    without = frozenset(switched_off(asked.without))
    if asked.replay:
        with on_one_thread():
            world = replayed(asked.replay, without)
        say("\n".join(world.notes or ()))
        say(f"\n{world.referee.breach or 'no rule is broken'}")
        return int(world.referee.breach is not None)
    jobs = short(without) if asked.short else thorough(asked.seed, asked.scale, without)
    tally, story = prove(jobs, asked.processes)
    if story is not None:
        with on_one_thread():
            say("\n" + story.told())
        return 1
    say(
        f"\nno rule was broken in {tally.worlds} worlds: {tally.invocations} invocations, {tally.runs} starts of work,"
        f" {tally.calls} calls to the table, {tally.deaths} deaths of a process\n\n{met(tally)}\n\n"
        "effects made again, each as the README's table says: "
        + (", ".join(f"{why} {times}" for why, times in tally.again.items()) or "none")
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
