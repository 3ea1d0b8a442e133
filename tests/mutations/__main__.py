"""`python -m tests.mutations [--beside N] [WORD ...]`: break the layer on purpose, and see whether the tests notice.

Each fault is put into a copy of the code; the working tree is never touched. With words, only the faults whose names have one.
N faults are looked for beside each other, by default one for each processor.
Exits with 1 if a fault survives, with 2 if the tests fail without any.
"""

from __future__ import annotations

import argparse
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

from tests.mutations.listed import MUTATIONS, ROOT, Mutation

STAGES = (  # what finds most of them soonest comes first, and moto late, because it is slow
    ("tests/schedules/test_schedules.py", "-k", "one_fault"),
    ("tests/idem", "-k", "not moto"),
    ("tests/idem", "tests/schedules"),
)
LEFT_OUT = shutil.ignore_patterns(".*", "node_modules", "__pycache__", "cdk.out", "dist")
TIMEOUT_SECONDS = 240
UNCHANGED = Mutation("none", "", [])


@dataclass(frozen=True, slots=True)
class Verdict:
    mutation: Mutation
    caught_by: str | None
    seconds: float


def judge(mutation: Mutation, source: Path) -> Verdict:
    """Run the tests on a copy of `source` with this fault in it, until the first one fails."""
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="idem-mutation-") as folder:
        copy = Path(folder) / "copy"
        shutil.copytree(source, copy)
        if mutation.changes:
            (copy / "idem" / mutation.file).write_text(mutation.applied(source))
        stages = STAGES if mutation.changes else STAGES[-1:]
        if mutation.finder:
            stages = ((mutation.finder,), *stages)
        found = (_caught_by(copy, stage) for stage in stages)
        caught_by = next(filter(None, found), None)
    return Verdict(mutation, caught_by, time.monotonic() - begun)


def _caught_by(copy: Path, stage: tuple[str, ...]) -> str | None:
    """The test of a stage that failed; None if all passed. A run that did not get to the tests is no verdict."""
    options = [
        "-x",
        "-q",
        "-p",
        "no:cacheprovider",
        "-m",
        "not e2e",
        "--tb=line",
        "-o",
        "addopts=--import-mode=importlib -rf",
    ]
    try:
        ended = subprocess.run(
            [sys.executable, "-m", "pytest", *options, *stage],
            cwd=copy,
            env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"no end within {TIMEOUT_SECONDS} s in {stage[0]}"
    if ended.returncode == 0:
        return None
    found = re.search(r"^FAILED (.+?)(?: - .*)?$", ended.stdout, re.MULTILINE)
    if ended.returncode != 1 or not found:
        raise RuntimeError(f"the tests did not run:\n{ended.stdout[-3000:]}{ended.stderr[-2000:]}")
    return re.sub(r"\s+", " ", found[1].rpartition("/")[2])


def main() -> int:
    begun = time.monotonic()
    options = argparse.ArgumentParser(prog="python -m tests.mutations")
    options.add_argument("words", nargs="*", metavar="WORD")
    options.add_argument("--beside", type=int, default=os.cpu_count(), metavar="N")
    given = options.parse_args()
    words: list[str] = given.words
    asked = [one for one in MUTATIONS if not words or any(word in one.name for word in words)]
    with tempfile.TemporaryDirectory(prefix="idem-mutations-") as folder, ThreadPoolExecutor(given.beside) as pool:
        source = Path(folder) / "source"
        shutil.copytree(ROOT, source, ignore=LEFT_OUT)
        verdicts = []
        for verdict in pool.map(lambda one: judge(one, source), asked):
            verdicts.append(verdict)
            _say(f"{verdict.seconds:>5.1f} s  {verdict.mutation.name:52} {verdict.caught_by or 'SURVIVED'}")
        failing = None if words else judge(UNCHANGED, source).caught_by
    caught = sum(verdict.caught_by is not None for verdict in verdicts)
    _say(f"\n{caught} of {len(asked)} caught, in {time.monotonic() - begun:.0f} s")
    if failing:
        _say(f"but without any of them {failing} fails as well, so this says nothing")
    return 2 if failing else int(caught < len(asked))


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
