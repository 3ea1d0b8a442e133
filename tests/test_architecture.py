"""The shape of the code: imports go down only, files stay small, one door, nothing of this machine."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest

import idem

ROOT = Path(__file__).resolve().parent.parent
LINES_MAX = 300

# From the bottom up. A module imports only from layers below its own; inside the folder of sources, without circles.
LAYERS: list[set[str]] = [
    {"clock", "record", "writes"},
    {"errors", "results"},
    {"canonical", "delivery", "engine", "guard", "policy", "schema"},
    {"actions", "keys", "many", "store", "tasks"},
    {"dynamo", "flow", "powertools"},
    {"batch", "decorator", "sources"},
    {"consumer", "testing"},
    {""},  # the door: idem/__init__.py
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
# The operators' commands stand above the library, and are the one place of it with imports from outside.
COMMANDS = ("operators", "cli", "__main__")


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
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            whole = node.module or ""
            own = ROOT / Path(*whole.split("."))
            for alias in node.names:
                below = own.is_dir() and ((own / f"{alias.name}.py").exists() or (own / alias.name).is_dir())
                yield f"{whole}.{alias.name}" if below else whole


LIBRARY = python_files("idem")


def is_command(name: str) -> bool:
    return name.split(".", maxsplit=1)[0] in COMMANDS


def own_imports(path: Path) -> set[str]:
    """The modules of the library that a module imports, without the package's name."""
    return {name.removeprefix("idem").removeprefix(".") for name in imports(path) if name.split(".")[0] == "idem"}


def layer_of(name: str) -> int:
    """The level of a module; the commands stand above all."""
    return len(LAYERS) if is_command(name) else LEVEL[name.split(".", maxsplit=1)[0]]


def test_every_module_of_the_library_has_its_layer() -> None:
    names = {module_name(path).split(".")[0] for path in LIBRARY if not is_command(module_name(path))}
    assert names == LEVEL.keys()


@pytest.mark.parametrize("path", LIBRARY, ids=module_name)
def test_imports_go_down_only(path: Path) -> None:
    own = module_name(path)
    folder = own.split(".")[0]
    for name in own_imports(path):
        beside = (is_command(own) and is_command(name)) or folder == name.split(".")[0] == "sources"
        assert beside or layer_of(name) < layer_of(own), f"idem.{own} imports idem.{name}, which is not below it"


def test_nothing_imports_in_a_circle() -> None:
    TopologicalSorter({module_name(path): own_imports(path) - {module_name(path)} for path in LIBRARY}).prepare()


@pytest.mark.parametrize("path", [path for path in LIBRARY if not is_command(module_name(path))], ids=module_name)
def test_the_library_imports_the_standard_library_only(path: Path) -> None:
    outside = {name for name in imports(path) if name.split(".")[0] not in {*sys.stdlib_module_names, "idem"}}
    assert outside == set()


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
    for path in python_files(folder):
        assert {name for name in imports(path) if name.split(".")[0] in forbidden} == set(), path


def test_of_the_library_the_stacks_know_only_the_stored_shape() -> None:
    for path in [*python_files("stacks"), ROOT / "app.py"]:
        assert {name for name in imports(path) if name.split(".")[0] == "idem"} <= {"idem.schema"}, path


@pytest.mark.parametrize("folder", ["idem", "stacks", "handlers", "sandbox", "tests", "benchmarks"])
def test_a_file_can_be_read_in_one_sitting(folder: str) -> None:
    long = {
        str(path): lines for path in python_files(folder) if (lines := len(path.read_text().splitlines())) > LINES_MAX
    }
    assert long == {}


def test_there_is_one_door_and_it_says_what_is_behind_it() -> None:
    """Names are fetched at their first use; the type checker is told of them in another spelling, which must agree."""
    told = {
        alias.name: f"{node.module}.{alias.name}" if alias.name in {"keys", "schemes"} else str(node.module)
        for node in ast.walk(ast.parse((ROOT / "idem" / "__init__.py").read_text()))
        if isinstance(node, ast.ImportFrom) and str(node.module).split(".")[0] == "idem"
        for alias in node.names
    }
    assert sorted(told) == sorted(idem.__all__)
    for name, home in told.items():
        assert getattr(idem, name) is getattr(import_module(home), name, import_module(home))
    modules = {module_name(path).split(".")[0] for path in LIBRARY}
    named = {name for name in dir(idem) if not name.startswith("_")}
    assert named - modules - set(idem.__all__) == {"TYPE_CHECKING", "import_module"}
    with pytest.raises(AttributeError, match="nonsense"):
        getattr(idem, "nonsense")  # noqa: B009 - the type checker knows that it is not there


def test_importing_the_library_pulls_in_nothing_heavy() -> None:
    """A Lambda function pays for every import at each cold start; asyncio alone takes longer than the library."""
    heavy = (
        "boto3",
        "botocore",
        "asyncio",
        "concurrent.futures.thread",
        "pydantic",
        "aws_cdk",
        "aws_lambda_powertools",
    )
    script = f"import sys, idem; print(*[name for name in {heavy} if name in sys.modules])"
    run = subprocess.run(
        [sys.executable, "-P", "-c", script],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.split() == []


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
