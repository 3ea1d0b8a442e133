"""`python -m tests.mutations`: break the layer on purpose, one fault at a time, and see whether the tests notice.

Each fault is put into a copy of the code; the working tree is never touched. Exits with 1 if a fault survives, with 2 if the
tests fail without one.
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

from tests.mutations.listed import MUTATIONS, ROOT, Mutation

TESTS = (  # what finds most of them soonest comes first
    "tests/schedules/test_schedules.py::test_no_schedule_with_one_fault_and_no_random_one_breaks_a_rule",
    "tests/idem/test_agreement.py",
    "tests/idem/test_lost_answers.py",
    "tests/idem",
    "tests/schedules/test_schedules.py",
)
COPIED = ("idem", "tests", "sandbox", "pyproject.toml", "README.md")
TIMEOUT_SECONDS = 240
UNCHANGED = Mutation("none", "", [])


@dataclass(frozen=True, slots=True)
class Verdict:
    mutation: Mutation
    caught_by: str | None
    seconds: float


def judge(mutation: Mutation) -> Verdict:
    """Run the tests on a copy with this fault in it, until the first one fails."""
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="idem-mutation-") as folder:
        copy = Path(folder)
        for name in COPIED:
            _copy(ROOT / name, copy / name)
        if mutation.changes:
            (copy / "idem" / mutation.file).write_text(mutation.applied(ROOT))
        tests = [test for test in TESTS if (ROOT / test.partition("::")[0]).exists()]
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-x",
            "-q",
            "-p",
            "no:cacheprovider",
            "-m",
            "not e2e",
            "--tb=no",
            *tests,
        ]
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        ended = subprocess.run(
            [*command, "-o", "addopts=--import-mode=importlib -rf"],
            cwd=copy,
            env=environment,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
    return Verdict(mutation, _caught_by(ended), time.monotonic() - begun)


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    elif source.exists():
        shutil.copy2(source, target)


def _caught_by(ended: subprocess.CompletedProcess[str]) -> str | None:
    """The test that failed; None if all passed. A run that did not get to the tests is no verdict."""
    if ended.returncode == 0:
        return None
    found = re.search(r"^FAILED (.+?)(?: - .*)?$", ended.stdout, re.MULTILINE)
    if ended.returncode != 1 or not found:
        raise RuntimeError(f"the tests did not run:\n{ended.stdout[-3000:]}{ended.stderr[-2000:]}")
    return found[1].rpartition("/")[2]


def main() -> int:
    begun = time.monotonic()
    survivors = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        sound = pool.submit(judge, UNCHANGED)
        for verdict in pool.map(judge, MUTATIONS):
            survivors += verdict.caught_by is None
            _say(f"{verdict.seconds:>5.1f} s  {verdict.mutation.name:56} {verdict.caught_by or 'SURVIVED'}")
        failing = sound.result().caught_by
    _say(f"\n{len(MUTATIONS) - survivors} of {len(MUTATIONS)} caught, in {time.monotonic() - begun:.0f} s")
    if failing:
        _say(f"but without any of them {failing} fails as well, so this says nothing")
    return 2 if failing else min(survivors, 1)


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
