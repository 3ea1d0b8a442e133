"""`python -m tests.mutations [--beside N] [WORD ...]`: break the layer on purpose, and see whether the tests notice."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from tests.mutations.frame import Mutation, ended, main
from tests.mutations.listed import MUTATIONS

STAGES = (  # what finds most of them soonest comes first, and moto late, because it is slow
    ("tests/schedules/test_schedules.py", "-k", "one_fault"),
    ("tests/idem", "-k", "not moto"),
    ("tests/idem", "tests/schedules"),
)
OPTIONS = (
    "-x",
    "-q",
    "-p",
    "no:cacheprovider",
    "-m",
    "not e2e",
    "--tb=line",
    "-o",
    "addopts=--import-mode=importlib -rf",
)
STAGE_SECONDS = 240  # of one stage: four times of what the longest one takes without a fault


def search(copy: Path, mutation: Mutation) -> str | None:
    """The first test that fails, stage after stage."""
    stages = STAGES if mutation.changes else STAGES[-1:]
    if mutation.finder:
        stages = ((mutation.finder,), *stages)
    return next(filter(None, (_failed(copy, stage) for stage in stages)), None)


def _failed(copy: Path, stage: tuple[str, ...]) -> str | None:
    """The test of a stage that failed; None if all passed. A run that did not get to the tests is no verdict."""
    run = ended(copy, "pytest", [*OPTIONS, *stage], STAGE_SECONDS)
    if run.returncode == 0:
        return None
    found = re.search(r"^FAILED (.+?)(?: - .*)?$", run.stdout, re.MULTILINE)
    if run.returncode != 1 or not found:
        raise RuntimeError(f"the tests did not run:\n{run.stdout[-3000:]}{run.stderr[-2000:]}")
    return re.sub(r"\s+", " ", found[1].rpartition("/")[2])


if __name__ == "__main__":
    sys.exit(main("python -m tests.mutations", MUTATIONS, search))
