"""The wings of the library and those who use them: what may import what, inside a wing and from outside."""

from __future__ import annotations

import importlib

import pytest

from tests.test_architecture import ROOT, WINGS, imports, module_name, own_imports, python_files

# From the bottom up: a file imports only from layers below its own. The door of a wing imports its files.
INSIDE: dict[str, list[set[str]]] = {
    "on_lambda": [
        {"collector", "environment", "metrics"},
        {"clients", "observer"},
        {"secrets_manager"},
        {"entry"},
        {""},
    ],
    "cdk": [
        {"acknowledged", "errors", "variables"},
        {"alarms", "global_tables", "http_front", "packaging", "queue_limits", "table_grants"},
        {"function", "tables"},
        {"queue_consumer"},
        {"dashboard", "webhook_receiver"},
        {""},
    ],
}


@pytest.mark.parametrize("wing", INSIDE)
def test_inside_a_wing_imports_go_down_only(wing: str) -> None:
    level = {name: number for number, names in enumerate(INSIDE[wing]) for name in names}
    files = {module_name(path).removeprefix(wing).removeprefix("."): path for path in python_files(f"idem/{wing}")}
    assert files.keys() == level.keys()
    for own, path in files.items():
        below = {
            name.removeprefix(wing).removeprefix(".") for name in own_imports(path) if name.split(".")[0] == wing
        } - {""}
        assert {name for name in below if level[name] >= level[own]} == set(), f"idem.{wing}.{own}"


@pytest.mark.parametrize("wing", sorted(WINGS.keys() - {"__main__"}))
def test_no_wing_imports_another(wing: str) -> None:
    others = WINGS.keys() - {wing}
    files = python_files(f"idem/{wing}")
    assert files
    for path in files:
        assert {name for name in own_imports(path) if name.split(".")[0] in others} == set(), path


@pytest.mark.parametrize(
    ("folder", "wings", "third_party"),
    [("handlers", {"on_lambda"}, set[str]()), ("stacks", {"cdk"}, {"aws_cdk", "constructs"})],
)
def test_what_is_copied_imports_its_own_wing_only_and_what_that_is_made_of(
    folder: str, wings: set[str], third_party: set[str]
) -> None:
    files = python_files(folder)
    named = {name for path in files for name in imports(path)}
    used = {name.split(".")[1] for name in named if name.startswith("idem.")} & WINGS.keys()
    assert used == wings
    outside = {name.split(".")[0] for name in named if name.split(".")[0] in set[str]().union(*WINGS.values())}
    assert outside == third_party


@pytest.mark.parametrize("wing", INSIDE)
def test_a_wing_has_one_door_and_it_says_what_is_behind_it(wing: str) -> None:
    door = importlib.import_module(f"idem.{wing}")
    names: list[str] = vars(door)["__all__"]
    assert len(names) == len(set(names)) > 5
    files = {path.stem for path in (ROOT / "idem" / wing).glob("*.py")}
    for name in names:
        assert getattr(door, name) is not None
        assert name not in files, f"{name} is a file of idem.{wing}, too"
    said = door.__doc__ or ""
    assert {name for name in files - {"__init__"} if f"{name}.py" not in said} == set()


FOUR_PARTS = (
    "\nKEY = ",
    "\n    def work(delivery: Delivery, claim: Claim)",
    "\nPOLICY = Policy(",
    "\nhandler = lambda_handler(build)",
)


@pytest.mark.parametrize("name", ["orders", "payments"])
def test_each_consumer_has_the_same_four_parts_in_the_same_order(name: str) -> None:
    text = (ROOT / "handlers" / f"{name}.py").read_text()
    places = [text.find(mark) for mark in FOUR_PARTS]
    assert -1 not in places
    assert places == sorted(places)
