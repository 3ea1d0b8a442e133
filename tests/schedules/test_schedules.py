"""The short form of the proof: about 25,000 schedules. `make prove` runs the long one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.schedules.__main__ import Job, for_the_table, short
from tests.schedules.checks import Tally
from tests.schedules.explore import Broken, exhaustive, random, replayed
from tests.schedules.modes import MODES
from tests.schedules.table import ALIKE, BEGIN, COLUMNS, END, ROWS, block, cell, table
from tests.schedules.world import Bounds

README = Path(__file__).parents[2] / "README.md"


@pytest.fixture(scope="session")
def tallies() -> dict[str, Tally]:
    """What the schedules of the table showed, by mode."""
    return {}


def _say(tally: Tally) -> None:
    assert tally.schedules > 0
    print(f"{tally.schedules} schedules")  # noqa: T201 - pytest shows it with -rP


@pytest.mark.parametrize("job", list(short()), ids=str)
def test_no_schedule_with_one_fault_and_no_random_one_breaks_a_rule(job: Job) -> None:
    _say(job.run())


@pytest.mark.parametrize("job", list(for_the_table()), ids=str)
def test_no_schedule_of_the_table_breaks_a_rule(job: Job, tallies: dict[str, Tally]) -> None:
    tallies[job.mode] = job.run()
    _say(tallies[job.mode])


@pytest.mark.parametrize("name", [*COLUMNS, *ALIKE])
def test_what_a_mode_says_can_happen_again_is_what_happens(name: str, tallies: dict[str, Tally]) -> None:
    mode, tally = MODES[name], tallies[name]
    assert set(tally.starts) == mode.starts
    assert set(tally.effects) == mode.effects
    assert set(tally.held) == mode.held


def test_the_table_in_the_readme_is_the_one_that_the_schedules_gave(tallies: dict[str, Tally]) -> None:
    assert block(README.read_text()) == table(tallies), (
        f"paste `python -m tests.schedules --table` between {BEGIN} and {END}"
    )


@pytest.mark.parametrize("name", ALIKE)
def test_a_mode_that_shares_a_column_of_the_table_reads_like_it(name: str, tallies: dict[str, Tally]) -> None:
    shared = ALIKE[name]
    assert [cell(row, name, tallies[name]) for row in ROWS] == [cell(row, shared, tallies[shared]) for row in ROWS]


def test_a_seed_gives_the_same_schedules_again() -> None:
    bounds = Bounds(deliveries=3, faults=4, generations=3, overlapping=True)
    first, second, other = Tally(), Tally(), Tally()
    for tally, seed in ((first, 1), (second, 1), (other, 2)):
        search = random(MODES["complete"], bounds, tally, seed)
        for _ in range(60):
            next(search)
    assert first == second != other


def test_a_broken_schedule_is_told_and_can_be_run_again() -> None:
    mode = MODES["complete"]
    impossible = type(mode)(name=mode.name, title=mode.title, work=mode.work, policy=mode.policy, starts=frozenset())
    with pytest.raises(Broken) as broken:
        for _ in exhaustive(impossible, Bounds(faults=1), Tally()):
            pass
    story = str(broken.value)
    name = story.rpartition("--replay ")[2].strip("'")
    assert "VIOLATION: a second start that nothing explains" in story
    assert "starts its work" in replayed(name)
