"""`python -m tests.simulation.mutations [--beside N] [WORD ...]`: the same, judged by whether the short search breaks a rule."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from tests.mutations.frame import Mutation, ended, main
from tests.simulation.mutations.listed import MUTATIONS

SEARCH_SECONDS = 120  # ten times of what a search takes without a fault


def search(copy: Path, _mutation: Mutation) -> str | None:
    """The rule that the short search finds broken."""
    run = ended(copy, "tests.simulation", ["--short", "--processes", "1"], SEARCH_SECONDS)
    if run.returncode == 0:
        return None
    found = re.search(r"^BROKEN {2}(\w+)$", run.stdout, re.MULTILINE)
    if found is None:
        raise RuntimeError(f"the search did not run:\n{run.stdout[-2000:]}{run.stderr[-3000:]}")
    return found[1]


if __name__ == "__main__":
    sys.exit(main("python -m tests.simulation.mutations", MUTATIONS, search))
