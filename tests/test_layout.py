"""A test is found from the source's name, and the source from the test's.

The tests of `idem/dynamo/sender.py` are `tests/idem/dynamo/test_sender.py` and, where one file would hold several ideas,
`test_sender_<idea>.py` beside it. A row for each room says where its tests are; both directions have a short list of
exceptions, each with its reason, and an exception that is no longer one has to go.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """Where a room's tests stand. untested, unnamed: its sources and its tests without a partner, and why."""

    sources: str
    tests: str
    untested: dict[str, str] = field(default_factory=dict)
    unnamed: dict[str, str] = field(default_factory=dict)

    def source_names(self) -> list[str]:
        return [path.stem for path in sorted((ROOT / self.sources).glob("*.py")) if path.stem != "__init__"]

    def test_names(self) -> list[str]:
        return [path.stem.removeprefix("test_") for path in sorted((ROOT / self.tests).glob("test_*.py"))]

    def lonely_sources(self) -> set[str]:
        return {name for name in self.source_names() if not any(_is_of(test, name) for test in self.test_names())}

    def lonely_tests(self) -> set[str]:
        return {test for test in self.test_names() if not any(_is_of(test, name) for name in self.source_names())}


def _is_of(test: str, source: str) -> bool:
    return test == source or test.startswith(f"{source}_")


ROOMS = [
    Room(
        sources="idem",
        tests="tests/idem",
        untested={
            "__main__": "three lines around the command line, which tests/operators starts",
            "delivery": "values without behaviour: how each ending comes about is in test_consumer and test_batch",
            "flow": "rules that are seen only through their two callers, in test_consumer and test_decorator",
            "progress": "values of a batch on its way, which nobody else sees: test_batch",
        },
        unnamed={
            "peer_faults": "one test for each fault that users of other libraries reported, wherever it would be here",
        },
    ),
    Room(sources="idem/dynamo", tests="tests/idem/dynamo"),
    Room(sources="idem/powertools", tests="tests/idem/powertools"),
    Room(sources="idem/sources", tests="tests/sources", untested={"content": "each source reads with it"}),
    Room(
        sources="idem/webhooks",
        tests="tests/webhooks",
        untested={
            "header_forms": "parts of a scheme, which test_schemes takes through every provider",
            "header_scheme": "the same",
            "scheme": "the same",
            "signatures": "the same",
        },
    ),
    Room(
        sources="idem/webhooks/providers",
        tests="tests/webhooks/providers",
        untested=dict.fromkeys(
            (path.stem for path in (ROOT / "idem/webhooks/providers").glob("[!_]*.py") if path.stem != "stripe"),
            "test_schemes takes every provider through the same tests; one is also seen whole, up to what is credited",
        ),
    ),
    Room(
        sources="idem/wrappers",
        tests="tests/wrappers",
        untested={"positions": "where a NewestOnly keeps what it has seen: test_newest_only"},
    ),
    Room(sources="idem/operators", tests="tests/operators"),
    Room(sources="idem/operators/commands", tests="tests/operators/commands"),
    Room(
        sources="idem/cdk",
        tests="tests/cdk",
        unnamed={"readme_sample": "the constructs as the README shows them"},
    ),
    Room(
        sources="idem/on_lambda",
        tests="tests/on_lambda",
        untested={
            "collector": "seen in a process of its own: test_entry",
            "metrics": "names, which test_observer counts and tests/cdk/test_dashboard looks for",
        },
    ),
]


def test_every_folder_of_the_package_has_its_room() -> None:
    folders = {path.parent.relative_to(ROOT).as_posix() for path in (ROOT / "idem").rglob("[!_]*.py")}
    assert folders == {room.sources for room in ROOMS}


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.sources)
def test_every_source_has_a_test_of_its_name(room: Room) -> None:
    assert room.source_names()
    assert room.lonely_sources() == set(room.untested)


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.sources)
def test_every_test_has_a_source_of_its_name(room: Room) -> None:
    assert room.test_names()
    found = room.lonely_tests()
    assert {test for test in found if not any(_is_of(test, name) for name in room.unnamed)} == set()
    assert {name for name in room.unnamed if not any(_is_of(test, name) for test in found)} == set()
