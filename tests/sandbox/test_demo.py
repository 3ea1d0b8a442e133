"""The demo, as a newcomer runs it: the real stack, deployed by the real CDK, on an account of its own."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

import pytest

from idem import Key, Record, Status
from sandbox.isolation import ROOT
from sandbox.stories import QUEUE_STORIES, WEBHOOK_STORIES, Story

DEMO_SECONDS = 240  # it takes under one minute; other work on the machine may slow it down


@pytest.mark.e2e
def test_the_demo_ends_with_every_effect_there_exactly_once() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "sandbox.demo"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=DEMO_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Every effect is there exactly once" in done.stdout
    assert done.stderr == ""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    told = [line.split("  ")[1] for line in done.stdout.splitlines() if line.rstrip().endswith("right")]
    assert len(told) == len(QUEUE_STORIES + WEBHOOK_STORIES)
    assert all(subject in readme for subject in told)


def story(**changes: object) -> Story:
    base = Story(title="t", subject="ORDER#1", key=Key("o", "1"), effects=1, status=Status.SUCCEEDED, messages=["m-1"])
    for name, value in changes.items():
        setattr(base, name, value)
    return base


def record(status: Status) -> Record:
    return Record(key=Key("o", "1"), status=status, claim_token="t", attempt=1, starts=1, claimed_at=0)


@pytest.mark.parametrize(
    ("told", "effects", "status", "dead"),
    [
        (story(), 2, Status.SUCCEEDED, []),  # a second effect
        (story(), 0, Status.SUCCEEDED, []),  # a lost one
        (story(), 1, Status.IN_PROGRESS, []),  # not recorded
        (story(), 1, Status.SUCCEEDED, ["m-1"]),  # done, and yet among the dead
        (story(effects=0, status=Status.FAILED, dead=True), 0, Status.FAILED, []),  # a poison message that vanished
        (story(effects=0, status=None), 0, Status.SUCCEEDED, []),  # a record where there must be none
    ],
)
def test_a_story_that_ended_wrongly_says_so(told: Story, effects: int, status: Status, dead: list[str]) -> None:
    faults = told.faults(Counter({"ORDER#1": effects}), record(status), dead)
    assert len(faults) == 1


def test_a_story_that_ended_well_has_nothing_to_say() -> None:
    assert story().faults(Counter({"ORDER#1": 1}), record(Status.SUCCEEDED), []) == []
    poison = story(effects=0, status=Status.FAILED, dead=True)
    assert poison.faults(Counter(), record(Status.FAILED), ["m-1"]) == []
    assert story(effects=0, status=None, messages=[]).faults(Counter(), None, []) == []
