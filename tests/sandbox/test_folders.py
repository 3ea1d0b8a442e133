"""A folder is held by its owner, found by others, and removed when nobody holds it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from sandbox import folders


@pytest.fixture(autouse=True)
def _places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def test_a_folder_is_held_until_it_is_removed() -> None:
    folder = folders.make()
    try:
        assert folder.path in folders.held()
    finally:
        folder.remove()
    assert not folder.path.exists()
    assert folder.path not in folders.held()


def test_what_a_killed_owner_left_is_removed_and_what_is_held_or_new_stays(tmp_path: Path) -> None:
    left, new, foreign = (tmp_path / name for name in (f"{folders.PREFIX}left", f"{folders.PREFIX}new", "another"))
    for path in (left, new, foreign):
        path.mkdir()
    held = folders.make()
    try:
        for path in (left, foreign, held.path):
            os.utime(path, (0, 0))
        assert folders.sweep() == [left]
        assert not left.exists()
        assert all(path.exists() for path in (new, foreign, held.path))
    finally:
        held.remove()


def test_a_place_that_is_not_there_has_no_room(tmp_path: Path) -> None:
    assert folders.room(tmp_path) > 0
    assert folders.room(tmp_path / "nowhere") == 0
