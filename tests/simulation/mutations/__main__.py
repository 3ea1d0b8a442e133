"""`python -m tests.simulation.mutations [WORD ...]`: break the code on purpose, and see whether the short search breaks a rule.

Each fault is put into a copy of the code; the working tree is never touched. With words, only the faults whose names have one.
Exits with 1 if a fault survives, with 2 if the search finds a breach without any.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.mutations.listed import ROOT, Mutation
from tests.simulation.mutations.listed import MUTATIONS

LEFT_OUT = shutil.ignore_patterns(".*", "node_modules", "__pycache__", "cdk.out", "dist")
BUDGET_SECONDS = 120  # of one search: what is not found by then is not found
UNCHANGED = Mutation("none", "", [])


@dataclass(frozen=True, slots=True)
class Verdict:
    """broken: the rule that the search found broken, None if it found none."""

    mutation: Mutation
    broken: str | None
    seconds: float


def judge(mutation: Mutation, source: Path) -> Verdict:
    """Run the short search on a copy of `source` with this fault in it."""
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="idem-mutation-") as folder:
        copy = Path(folder) / "copy"
        shutil.copytree(source, copy)
        if mutation.changes:
            (copy / "idem" / mutation.file).write_text(mutation.applied(source))
        broken = _search(copy)
    return Verdict(mutation, broken, time.monotonic() - begun)


def _search(copy: Path) -> str | None:
    try:
        ended = subprocess.run(
            [sys.executable, "-m", "tests.simulation", "--short", "--processes", "1"],
            cwd=copy,
            env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
            capture_output=True,
            text=True,
            timeout=BUDGET_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None
    if ended.returncode == 0:
        return None
    found = re.search(r"^BROKEN {2}(\w+)$", ended.stdout, re.MULTILINE)
    if found is None:
        raise RuntimeError(f"the search did not run:\n{ended.stdout[-2000:]}{ended.stderr[-3000:]}")
    return found[1]


def main() -> int:
    begun, words = time.monotonic(), sys.argv[1:]
    asked = [one for one in MUTATIONS if not words or any(word in one.name for word in words)]
    with tempfile.TemporaryDirectory(prefix="idem-mutations-") as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        source = Path(folder) / "source"
        shutil.copytree(ROOT, source, ignore=LEFT_OUT)
        caught = 0
        for verdict in pool.map(lambda one: judge(one, source), asked):
            caught += verdict.broken is not None
            _say(f"{verdict.seconds:>5.1f} s  {verdict.mutation.name:56} {verdict.broken or 'SURVIVED'}")
        failing = None if words else judge(UNCHANGED, source).broken
    _say(f"\n{caught} of {len(asked)} caught, in {time.monotonic() - begun:.0f} s")
    if failing:
        _say(f"but without any of them {failing} is broken as well, so this says nothing")
    return 2 if failing else int(caught < len(asked))


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
