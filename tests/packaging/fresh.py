"""Fresh environments: the wheel as built and installed, and of third-party packages what the named extras bring.

The packages come from the environment that runs the tests, file by file as links, so nothing is fetched. What an extra does
not name, nor anything that it names needs, is not there.
"""

from __future__ import annotations

import os
import subprocess
import venv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, PathDistribution, distribution
from importlib.util import cache_from_source
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from uv import find_uv_bin

ROOT = Path(__file__).resolve().parents[2]
JSII_CACHE = ROOT / ".cache" / "jsii"  # as in the Makefile


def uv(*arguments: str, cache: Path) -> None:
    """Run uv without a network and without anybody's settings."""
    subprocess.run(
        [find_uv_bin(), *arguments, "--offline", "--no-config", "--cache-dir", str(cache), "--quiet"],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"]},
        check=True,
        timeout=60,
    )


def build_wheel(into: Path) -> Path:
    """The wheel of this checkout."""
    uv("build", "--wheel", "--out-dir", str(into), cache=into / "cache")
    (wheel,) = into.glob("*.whl")
    return wheel


@dataclass(frozen=True, slots=True, kw_only=True)
class Fresh:
    """An environment with the wheel and nothing else, until `bring` is called."""

    folder: Path

    @property
    def site(self) -> Path:
        """Its site-packages."""
        (found,) = self.folder.glob("lib/python*/site-packages")
        return found

    def run(
        self, program: str, *arguments: str, cwd: Path, more: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a program of its `bin`; nothing of the caller's environment reaches it but where to find node."""
        environment = {
            "PATH": f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(self.folder),
            "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "1",
            # Unpacking the CDK's JavaScript anew takes half a minute.
            "JSII_RUNTIME_PACKAGE_CACHE_ROOT": os.environ.get("JSII_RUNTIME_PACKAGE_CACHE_ROOT", str(JSII_CACHE)),
        }
        return subprocess.run(
            [self.folder / "bin" / program, *arguments],
            cwd=cwd,
            env=environment | (more or {}),
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    def python(self, code: str, *, cwd: Path, more: dict[str, str] | None = None) -> str:
        """What a few lines of Python print there."""
        done = self.run("python", "-c", code, cwd=cwd, more=more)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def bring(self, extras: Sequence[str]) -> None:
        """Make the packages that these extras name importable, with what those need."""
        (own,) = self.site.glob("*.dist-info")
        brought = self.folder / "brought"
        # Two distributions may hold the same file (aws_cdk/cloud_assembly_schema): it is there once.
        links = {
            place: original
            for name in needs(PathDistribution(own), extras)
            for original, place in files(distribution(name), brought)
        }
        for place, original in links.items():
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(original)
        (self.site / "brought.pth").write_text(f"{brought}\n")


def fresh(folder: Path, wheel: Path) -> Fresh:
    """An environment in `folder` into which `wheel` alone is installed."""
    venv.create(folder, symlinks=True)
    interpreter = str(folder / "bin" / "python")
    uv("pip", "install", "--no-deps", "--python", interpreter, str(wheel), cache=folder / "cache")
    return Fresh(folder=folder)


def needs(own: Distribution, extras: Sequence[str]) -> set[str]:
    """The distributions that `own` asks for with these extras, those that they ask for, and so on."""
    found: set[str] = set()
    waiting = list(_asked(own, extras))
    while waiting:
        wanted = waiting.pop()
        name = canonicalize_name(wanted.name)
        if name not in found:
            found.add(name)
            waiting += _asked(distribution(name), sorted(wanted.extras))
    return found


def _asked(one: Distribution, extras: Sequence[str]) -> Iterator[Requirement]:
    for requirement in map(Requirement, one.requires or ()):
        if requirement.marker is None or any(requirement.marker.evaluate({"extra": extra}) for extra in (*extras, "")):
            yield requirement


def files(one: Distribution, below: Path) -> Iterator[tuple[Path, Path]]:
    """Each file of an installed distribution, its bytecode too, and where it goes below another folder."""
    for file in one.files or ():
        original = Path(str(file.locate())).resolve()
        if ".." in file.parts or file.suffix == ".pyc" or not original.is_file():
            continue
        yield original, below / file
        if file.suffix == ".py" and (bytecode := Path(cache_from_source(str(original)))).is_file():
            yield bytecode, below / file.parent / "__pycache__" / bytecode.name
