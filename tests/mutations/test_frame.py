"""What becomes of a fault: caught, without an end, or survived."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.mutations.frame import Fate, Mutation, Verdict, ended, judge, score

CHANGES = [("kept = True", "kept = False")]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "idem").mkdir()
    (tmp_path / "idem" / "one.py").write_text("kept = True\n")
    return tmp_path


def test_the_fault_is_in_the_copy_only(source: Path) -> None:
    seen: list[str] = []

    def search(copy: Path, _mutation: Mutation) -> str | None:
        seen.append((copy / "idem" / "one.py").read_text())
        return "a rule"

    verdict = judge(Mutation("made up", "one.py", CHANGES), source, search)
    assert (verdict.fate, verdict.why) == (Fate.CAUGHT, "a rule")
    assert seen == ["kept = False\n"]
    assert (source / "idem" / "one.py").read_text() == "kept = True\n"


def test_what_nothing_finds_has_survived(source: Path) -> None:
    assert judge(Mutation("made up", "one.py", CHANGES), source, lambda _copy, _one: None).fate is Fate.SURVIVED


@pytest.mark.parametrize(("hangs", "fate"), [(True, Fate.ENDLESS), (False, Fate.SURVIVED)])
def test_a_search_without_an_end_is_noticed_only_where_the_fault_is_to_hang(
    source: Path, *, hangs: bool, fate: Fate
) -> None:
    def search(copy: Path, _mutation: Mutation) -> str | None:
        raise subprocess.TimeoutExpired(["search", str(copy)], 7)

    verdict = judge(Mutation("made up", "one.py", CHANGES, hangs=hangs), source, search)
    assert (verdict.fate, verdict.why) == (fate, "no end within 7 s")


def test_a_run_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    (tmp_path / "hanging.py").write_text("import threading\nthreading.Event().wait()\n")
    with pytest.raises(subprocess.TimeoutExpired):
        ended(tmp_path, "hanging", [], 0.2)


def test_the_score_names_every_way_to_end() -> None:
    verdicts = [Verdict(Mutation("made up", "", []), fate, "", 1) for fate in (*Fate, Fate.CAUGHT)]
    assert score(verdicts) == "2 caught, 1 without an end, 1 survived, of 4"
