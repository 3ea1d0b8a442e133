"""The short form of the proof for whole invocations. `python -m tests.simulation` runs the long one."""

from __future__ import annotations

import ast
import logging
from collections.abc import Iterator

import pytest

from tests.mutations.frame import ROOT, Mutation
from tests.simulation.choices import DULL, Choices, Kind, switched_off
from tests.simulation.explore import Job, short
from tests.simulation.mutations.listed import MUTATIONS
from tests.simulation.rules import Rule
from tests.simulation.story import replayed, shrunk
from tests.simulation.threads import on_one_thread
from tests.simulation.world import World, watch

COIN = Kind("coin", {"heads": 1, "tails": 1})
OUTSIDE = {"context": "none", "clocks": "outside the margin", "lease": "5 s", "visibility": "a third", "m1.gap": "4 s"}


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("job", short(), ids=lambda job: job.name)
def test_no_world_breaks_a_rule(job: Job) -> None:
    tally, story = job.run()
    print(f"{tally.worlds} worlds, {tally.invocations} invocations")  # noqa: T201 - pytest shows it with -rP
    if story is not None:
        with on_one_thread():
            pytest.fail(story.told(), pytrace=False)


def test_a_choice_is_the_same_whatever_else_is_chosen() -> None:
    alone, among = Choices(7, 3), Choices(7, 3)
    for number in range(50):
        among.pick(f"other {number}", COIN)
    assert [alone.pick(f"coin {number}", COIN) for number in range(50)] == [
        among.pick(f"coin {number}", COIN) for number in range(50)
    ]
    assert {alone.pick(f"coin {number}", COIN) for number in range(50)} == {"heads", "tails"}


def test_the_same_choices_give_the_same_world() -> None:
    with on_one_thread():
        told = [watch(Choices(11, 23), notes=True).notes for _ in range(2)]
    assert told[0] == told[1]
    assert told[0]


def test_a_world_is_the_dull_one_with_its_odd_choices() -> None:
    with on_one_thread():
        for run in range(1, 30):
            world = watch(Choices(5, run), notes=True)
            again = watch(Choices(5, DULL, world.choices.odd()), notes=True)
            assert again.notes == world.notes


def forbidding_other_contents(choices: Choices) -> World:
    """A world with a rule that this test makes up."""
    world = watch(choices)
    world.referee.breach = None
    if any(message.content == "other" for message in world.sender.messages[:1]):
        world.referee.broken(Rule.ENDS, "the first content is another")
    return world


def test_a_breach_shrinks_to_the_choices_that_matter_and_its_line_names_them() -> None:
    with on_one_thread():
        worlds = (forbidding_other_contents(Choices(1, run)) for run in range(1, 200))
        story = shrunk(next(world for world in worlds if world.referee.breach), forbidding_other_contents)
        assert list(story.odd.values()) == ["other"]
        assert replayed(story.name).choices.odd() == story.odd


def test_a_feature_that_is_switched_off_is_not_met() -> None:
    without = switched_off(["ending=[!c]*", "fault=*", "source=once"]) - {"ending=ok", "fault=none"}
    tally, _ = Job(name="some", count=40, without=frozenset(without)).run()
    assert tally.features["ending=ok"]
    assert not [feature for feature in tally.features if feature in without]


def test_clocks_that_differ_by_more_than_the_margin_make_effects_twice() -> None:
    """What the margin in the README's table means: inside it the rules hold, outside it the effect may be made again."""
    with on_one_thread():
        outside = watch(
            Choices(1, DULL, {**OUTSIDE, "K0/1.duration": "half", "i0.batch": "1", "i1.environment": "new"})
        )
    assert outside.tally.again == {"clocks further apart than the margin": 1}


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_mutation_finds_its_source_and_changes_it_to_code(mutation: Mutation) -> None:
    changed = mutation.applied(ROOT)
    assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse((ROOT / "idem" / mutation.file).read_text()))
