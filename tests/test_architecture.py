"""The shape of the code: imports go down only, files stay small, one door, nothing of this machine."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import idem

ROOT = Path(__file__).resolve().parent.parent
LINES_MAX = 65  # of a function, its docstring included

# From the bottom up. A module or room imports only from layers below its own; inside a room, without circles.
LAYERS: list[set[str]] = [
    {"clock", "record", "writes"},
    {"errors"},
    {"delivery", "text"},
    {"arguments"},
    {"policy"},
    {"canonical", "log", "results"},
    {"functions", "keys", "lanes", "recorder", "serializers", "store"},
    {"dynamo"},
    {"flow", "memory"},
    {"decorator", "progress", "sources"},
    {"batch"},
    {"consumer", "webhooks", "wrappers"},
    {"testing"},
    {""},  # the door: idem/__init__.py
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
# The same inside a room, by the names of its files and folders. A new file is written into the layer above all that it imports.
ROOMS: dict[str, list[set[str]]] = {
    "dynamo": [
        {"schema", "sender", "transactions"},
        {"actions", "statements"},
        {"store"},
    ],
    "sources": [
        {"content"},
        {"dead_letters", "http"},
        {"envelopes", "idempotency_key", "streams"},
        {"invoke", "sqs"},
    ],
    "webhooks": [
        {"ed25519", "request_parts", "scheme", "secrets"},
        {"header_forms", "replies", "signatures"},
        {"header_scheme", "source"},
        {"forwarder", "providers"},
        {"schemes"},
        {"signed_requests"},
    ],
    "operators": [
        {"exchanges", "operator_errors"},
        {"record_text", "stack_resources", "webhook_samples"},
        {"connection"},
        {"consumer_rules", "decisions", "racing", "restoring", "samples", "scanning", "terminal", "timeline"},
        {"delivering", "doctor", "table_checks"},
        {"doctor_functions"},
        {"commands"},
        {"cli"},
    ],
}
# Wings, most with extras of their own: they stand above the library, which never imports them, and beside each other.
WINGS: dict[str, set[str]] = {
    "cdk": {"aws_cdk", "constructs"},
    "on_lambda": {"aws_lambda_powertools", "boto3", "botocore"},
    "operators": {"boto3", "botocore", "rich", "typer"},
    "powertools": set(),  # no extra, but only for those who move over: nothing of the library needs it
    "__main__": set(),
}
# What a file of the library itself asks for when somebody needs it, inside a function: never by being imported.
ON_DEMAND: dict[str, set[str]] = {"serializers": {"pydantic"}}


def python_files(folder: str) -> list[Path]:
    return [path for path in sorted((ROOT / folder).rglob("*.py")) if "__pycache__" not in path.parts]


def module_name(path: Path) -> str:
    """idem/sources/sqs.py -> sources.sqs; the package itself is the empty name."""
    parts = path.relative_to(ROOT / "idem").with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


@cache
def imports(path: Path) -> frozenset[str]:
    """Full names of what a file imports, wherever in the file; `from idem import keys` is idem.keys."""
    return frozenset(_imports(path))


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__")):
            yield from (one.value for one in node.args if isinstance(one, ast.Constant) and isinstance(one.value, str))
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            whole = node.module or ""
            own = ROOT / Path(*whole.split("."))
            for alias in node.names:
                below = own.is_dir() and ((own / f"{alias.name}.py").exists() or (own / alias.name).is_dir())
                yield f"{whole}.{alias.name}" if below else whole


LIBRARY = python_files("idem")


def is_wing(name: str) -> bool:
    return name.split(".", maxsplit=1)[0] in WINGS


def own_imports(path: Path) -> set[str]:
    """The modules of the library that a module imports, without the package's name."""
    return {name.removeprefix("idem").removeprefix(".") for name in imports(path) if name.split(".")[0] == "idem"}


def layer_of(name: str) -> int:
    """The level of a module; the wings stand above all."""
    return len(LAYERS) if is_wing(name) else LEVEL[name.split(".", maxsplit=1)[0]]


def test_every_module_of_the_library_has_its_layer() -> None:
    names = {module_name(path).split(".")[0] for path in LIBRARY if not is_wing(module_name(path))}
    assert names == LEVEL.keys()


@pytest.mark.parametrize("path", LIBRARY, ids=module_name)
def test_imports_go_down_only(path: Path) -> None:
    own = module_name(path)
    folder = own.split(".")[0]
    for name in own_imports(path):
        beside = folder == name.split(".")[0] != "" or own == "__main__"
        assert beside or layer_of(name) < layer_of(own), f"idem.{own} imports idem.{name}, which is not below it"


def in_room(name: str) -> tuple[str, str]:
    """webhooks.providers.adyen -> webhooks, providers."""
    room, _, rest = name.partition(".")
    return room, rest.split(".", maxsplit=1)[0]


@pytest.mark.parametrize("room", ROOMS)
def test_every_file_of_a_room_has_its_layer_and_stands_once(room: str) -> None:
    there = [below for path in python_files(f"idem/{room}") if (below := in_room(module_name(path))[1])]
    assert sorted(set(there)) == sorted(name for layer in ROOMS[room] for name in layer)


@pytest.mark.parametrize("path", [path for room in ROOMS for path in python_files(f"idem/{room}")], ids=module_name)
def test_inside_a_room_imports_go_down_only(path: Path) -> None:
    room, own = in_room(module_name(path))
    level = {name: number for number, layer in enumerate(ROOMS[room]) for name in layer}
    for name in own_imports(path):
        where, other = in_room(name)
        if where == room and other and other != own:
            assert own, f"the door of idem.{room} imports idem.{name}: its files import the door first"
            assert level[other] < level[own], f"idem.{room}.{own} imports idem.{name}, which is not below it"


def test_nothing_imports_in_a_circle() -> None:
    TopologicalSorter({module_name(path): own_imports(path) - {module_name(path)} for path in LIBRARY}).prepare()


@pytest.mark.parametrize("path", LIBRARY, ids=module_name)
def test_the_library_imports_the_standard_library_only_and_a_wing_what_its_extra_brings(path: Path) -> None:
    extra = WINGS.get(module_name(path).split(".")[0], set()) | ON_DEMAND.get(module_name(path), set())
    outside = {name for name in imports(path) if name.split(".")[0] not in {*sys.stdlib_module_names, "idem"}}
    assert {name.split(".")[0] for name in outside} <= extra


@pytest.mark.parametrize("name", ON_DEMAND)
def test_what_is_asked_for_on_demand_is_imported_inside_a_function(name: str) -> None:
    tree = ast.parse((ROOT / "idem" / Path(*name.split("."))).with_suffix(".py").read_text())
    inside = {
        node for function in ast.walk(tree) if isinstance(function, ast.FunctionDef) for node in ast.walk(function)
    }
    found = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module in ON_DEMAND[name]]
    assert found
    assert inside.issuperset(found)


@pytest.mark.parametrize(
    ("folder", "forbidden"),
    [
        ("idem", ("stacks", "handlers", "sandbox", "tests", "app")),
        ("stacks", ("handlers", "sandbox", "tests", "app")),
        ("handlers", ("stacks", "sandbox", "tests", "app", "aws_cdk")),
        ("sandbox", ("tests", "aws_cdk")),
    ],
)
def test_nothing_imports_what_stands_above_it(folder: str, forbidden: tuple[str, ...]) -> None:
    files = python_files(folder)
    assert len(files) > 1
    for path in files:
        assert {name for name in imports(path) if name.split(".")[0] in forbidden} == set(), path


def test_of_the_library_the_constructs_know_only_the_stored_shape() -> None:
    known = {
        name
        for path in [*python_files("idem/cdk"), *python_files("stacks"), ROOT / "app.py"]
        for name in imports(path)
        if name.split(".")[0] == "idem" and name.split(".")[:2] != ["idem", "cdk"]
    }
    assert known == {"idem.dynamo.schema"}


@pytest.mark.parametrize("folder", ["idem", "stacks", "handlers", "sandbox", "tests", "benchmarks"])
def test_a_function_fits_on_a_screen(folder: str) -> None:
    """A limit on files would cut ideas in two; one on functions keeps branches gathered."""
    functions = [
        (f"{path}:{node.name}", (node.end_lineno or 0) - node.lineno + 1)
        for path in python_files(folder)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    assert len(functions) > 5
    assert [(name, lines) for name, lines in functions if lines > LINES_MAX] == []


def test_there_is_one_door_and_it_says_what_is_behind_it() -> None:
    names: list[str] = vars(idem)["__all__"]
    assert len(names) == len(set(names)) > 40
    for name in names:
        assert getattr(idem, name) is not None
    modules = {module_name(path).split(".")[0] for path in LIBRARY}
    named = {name for name in dir(idem) if not name.startswith("_")}
    assert named - modules == set(names) - modules
    with pytest.raises(AttributeError, match="nonsense"):
        getattr(idem, "nonsense")  # noqa: B009 - the type checker knows that it is not there


def loaded_by(script: str) -> set[str]:
    """What a fresh interpreter without any installed package has loaded after the script: names of modules, in full."""
    run = subprocess.run(
        [sys.executable, "-S", "-P", "-c", f"import sys; {script}; print(*sys.modules)"],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    return set(run.stdout.split())


def test_a_package_without_the_stub_says_what_is_missing(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "idem", tmp_path / "idem", ignore=shutil.ignore_patterns("*.pyi", "__pycache__"))
    run = subprocess.run(
        [sys.executable, "-P", "-c", "import idem"],
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 1
    assert "package .pyi files, too" in run.stderr


def test_importing_the_library_pulls_in_nothing_heavy() -> None:
    """A Lambda function pays for every import at each cold start; asyncio alone takes longer than the library."""
    found = loaded_by("import idem")
    assert "idem" in found
    assert not found & {"asyncio", "concurrent.futures.thread", "inspect", "email", "urllib.request"}


def test_all_that_the_door_offers_is_there_without_any_third_party_module() -> None:
    found = loaded_by("import idem, idem.testing; [getattr(idem, name) for name in idem.__all__]")
    assert {"idem.consumer", "idem.webhooks.schemes", "idem.dynamo.store"} <= found
    assert {name.split(".")[0] for name in found} <= {*sys.stdlib_module_names, "idem", "__main__"}


def tracked() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],  # noqa: S607
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


HERE = Path(__file__)
MACHINE = re.compile(r"/(?:root|home|Users)/\w|/opt/\w|/tmp/\w|/work/\w|[A-Z]:\\\\Users")
REGISTRY = re.compile(
    r"python[h]osted\.org|py[p]i\.org/simple|registry\.[n]pmjs|registry\.[y]arnpkg|artifactory|nexus|\"resolved\":|"
    r"^\s*--?(?:extra-)?index-url|^\s*-i http|^registry\s*=",
    re.MULTILINE,
)


def test_no_file_names_a_registry_or_a_place_on_somebodys_machine() -> None:
    found = []
    for path in tracked():
        if path == HERE or path.suffix in {".png", ".gif", ".jpg", ".ico"}:
            continue
        text = path.read_text(encoding="utf-8")
        found += [
            f"{path.relative_to(ROOT)}: {match[0]}" for rule in (MACHINE, REGISTRY) for match in rule.finditer(text)
        ]
    assert found == []
