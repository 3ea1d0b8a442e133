"""Break the code on purpose, one fault after the other, and see whether anybody notices: what all lists of mutations share.

Each fault is put into a copy of the code; the working tree is never touched. A fault ends in one of three ways:

    caught           the search fails on the copy, and says which test or rule it was
    without an end   the search stands still on the copy, as the fault says that it would (`hangs`): whoever waits for it notices
    survived         nothing noticed, or there was no answer in time from a fault that should not stand still
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parents[2]
LEFT_OUT = shutil.ignore_patterns(".*", "node_modules", "__pycache__", "cdk.out", "dist")


@dataclass(frozen=True, slots=True)
class Mutation:
    """`changes`: what to replace by what, in one file. Every old text must be found exactly once.

    finder: the tests to begin with, where that saves time. hangs: what it does is never to end.
    """

    name: str
    file: str
    changes: Sequence[tuple[str, str]]
    finder: str | None = None
    hangs: bool = False

    def applied(self, root: Path) -> str:
        """The changed source. Raises LookupError if the source is no longer what the mutation was written for."""
        text = (root / "idem" / self.file).read_text()
        for old, new in self.changes:
            if text.count(old) != 1:
                raise LookupError(f"mutation {self.name!r}: found {text.count(old)} times in idem/{self.file}: {old!r}")
            text = text.replace(old, new)
        return text


UNCHANGED = Mutation("none", "", [])


class Fate(StrEnum):
    """How a fault ended."""

    CAUGHT = "caught"
    ENDLESS = "without an end"
    SURVIVED = "survived"


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a mutation ended, and what says so."""

    mutation: Mutation
    fate: Fate
    why: str
    seconds: float

    def __str__(self) -> str:
        fate = self.fate.upper() if self.fate is Fate.SURVIVED else self.fate
        return f"{self.seconds:>5.1f} s  {self.mutation.name:64} {fate}" + (f": {self.why}" if self.why else "")


Search = Callable[[Path, Mutation], str | None]
"""Looks for a fault in a copy of the code: what found it, None if nothing did. Raises TimeoutExpired."""


def ended(copy: Path, module: str, arguments: Sequence[str], seconds: float) -> subprocess.CompletedProcess[str]:
    """`python -m module` on the copy, ended. Raises TimeoutExpired; no process of it is left then, either."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [sys.executable, "-m", module, *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, cwd=copy, env=environment, stdout=pipe, stderr=pipe, text=True, start_new_session=True
    ) as process:
        try:
            out, errors = process.communicate(timeout=seconds)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, errors)


def judge(mutation: Mutation, source: Path, search: Search) -> Verdict:
    """Put the fault into a copy of `source`, and search."""
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="idem-mutation-") as folder:
        copy = Path(folder) / "copy"
        shutil.copytree(source, copy)
        if mutation.changes:
            (copy / "idem" / mutation.file).write_text(mutation.applied(source))
        try:
            found = search(copy, mutation)
        except subprocess.TimeoutExpired as error:
            fate, why = Fate.ENDLESS if mutation.hangs else Fate.SURVIVED, f"no end within {error.timeout:.0f} s"
        else:
            fate, why = Fate.CAUGHT if found else Fate.SURVIVED, found or ""
    return Verdict(mutation, fate, why, time.monotonic() - begun)


def score(verdicts: Sequence[Verdict]) -> str:
    """How many of how many ended in which way."""
    counts = Counter(verdict.fate for verdict in verdicts)
    return ", ".join(f"{counts[fate]} {fate}" for fate in Fate) + f", of {len(verdicts)}"


def judge_all(asked: Sequence[Mutation], search: Search, beside: int, *, unchanged: bool) -> int:
    """Judge mutations, `beside` at once, telling how each ended and the score: the status to exit with.

    unchanged: the search is made without any of them, too, and must find nothing.
    """
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="idem-mutations-") as folder, ThreadPoolExecutor(beside) as pool:
        source = Path(folder) / "source"
        shutil.copytree(ROOT, source, ignore=LEFT_OUT)
        first = pool.submit(judge, UNCHANGED, source, search) if unchanged else None
        verdicts = []
        for verdict in pool.map(partial(judge, source=source, search=search), asked):
            verdicts.append(verdict)
            _say(str(verdict))
        sound = first.result() if first else None
    _say(f"\n{score(verdicts)}, in {time.monotonic() - begun:.0f} s")
    if sound and (sound.fate is not Fate.SURVIVED or sound.why):
        _say(f"but without any of them it is {sound.fate}: {sound.why}; so this says nothing")
        return 2
    return int(any(verdict.fate is Fate.SURVIVED for verdict in verdicts))


def main(prog: str, mutations: Sequence[Mutation], search: Search) -> int:
    """The command line of a list of mutations. Words: only those whose names have one, and no search without any of them.

    Exits with 1 if a fault survives, with 2 if the search finds one where there is none.
    """
    options = argparse.ArgumentParser(prog=prog)
    options.add_argument("words", nargs="*", metavar="WORD")
    options.add_argument("--beside", type=int, default=os.cpu_count(), metavar="N", help="how many at once")
    given = options.parse_args()
    words: list[str] = given.words
    asked = [one for one in mutations if not words or any(word in one.name for word in words)]
    if not asked:
        options.error(f"no mutation has any of these words in its name: {', '.join(words)}")
    return judge_all(asked, search, given.beside, unchanged=not words)


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
