"""One wheel for the session, and one environment for each set of extras."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.packaging.fresh import ROOT, Fresh, build_wheel, fresh

THEIRS = ROOT / "tests" / "packaging" / "outside_app"

Environments = Callable[..., Fresh]


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environments:
    """`environment("cdk", "lambda")`: the wheel, installed with these extras."""

    @cache
    def made(*extras: str) -> Fresh:
        found = fresh(tmp_path_factory.mktemp("-".join(("with", *extras))), wheel)
        if extras:
            found.bring(extras)
        return found

    return made


@pytest.fixture(scope="session")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The app of another team, copied out of this repository."""
    folder = tmp_path_factory.mktemp("another-team") / "parcels-app"
    shutil.copytree(THEIRS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "__init__.py").unlink()  # it is there for ruff; a folder of an app is no package
    shutil.copy(ROOT / "requirements" / "lambda.txt", folder / "lambda.txt")
    return folder
