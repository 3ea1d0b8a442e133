"""The folders of local accounts: made where there is room, held by their owners, found by others, removed when nobody holds them.

An owner holds its folder by a lock on it, which ends with the owner however it ends. A folder that nobody holds is what a killed
program left behind.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MEMORY = Path("/dev/shm")  # noqa: S108 - the folders in it are made by mkdtemp
MEMORY_BYTES_MIN = 4 * 1024**3
DISK_BYTES_MIN = 512 * 1024**2
"""Twenty workers and what they store need 400 MB. Memory is also wanted by others."""

PREFIX = "idem-account-"
YOUNG_SECONDS = 60.0
"""A folder that nobody holds is left alone for so long: its owner may be about to."""


class NoRoomError(Exception):
    """There is no place with room for an account's folder."""


@dataclass(frozen=True, slots=True)
class AccountFolder:
    """A folder that this process holds."""

    path: Path
    _lock: int

    def remove(self) -> None:
        """Remove the folder with everything in it, and let go of it."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def make() -> AccountFolder:
    """Make a folder, and hold it. Raises `NoRoomError` with the remedy."""
    path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=_roomy_place()))
    lock = os.open(path, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return AccountFolder(path, lock)


def room(place: Path) -> int:
    """How many bytes can be written below `place`, 0 where nothing can."""
    try:
        return shutil.disk_usage(place).free if os.access(place, os.W_OK | os.X_OK) else 0
    except OSError:
        return 0


def held() -> list[Path]:
    """The folders of this user's accounts that run, the newest first."""
    found = [path for path in _ours() if not _abandoned(path)]
    return sorted(found, key=lambda path: path.stat().st_mtime, reverse=True)


def sweep() -> list[Path]:
    """Remove the folders that killed programs left behind; which these were."""
    found = [path for path in _ours() if time.time() - path.stat().st_mtime > YOUNG_SECONDS and _abandoned(path)]
    for path in found:
        shutil.rmtree(path, ignore_errors=True)
    return found


def _roomy_place() -> Path:
    """In memory if there is room: every Lambda worker unpacks its asset, which a disk is slow at."""
    if room(MEMORY) > MEMORY_BYTES_MIN:
        return MEMORY
    try:
        place = Path(tempfile.gettempdir())
    except FileNotFoundError as error:
        message = "there is no temporary folder that can be written: point TMPDIR to one"
        raise NoRoomError(message) from error
    if (free := room(place)) < DISK_BYTES_MIN:
        needed = f"a local account needs {DISK_BYTES_MIN >> 20} MB"
        message = (
            f"{place} has room for {free >> 20} MB, and {needed}: make room there, or point TMPDIR to another disk"
        )
        raise NoRoomError(message)
    return place


def _ours() -> Iterator[Path]:
    """The folders of accounts that belong to this user. Others may write in these places too."""
    places = {MEMORY}
    with contextlib.suppress(FileNotFoundError):
        places.add(Path(tempfile.gettempdir()))
    for path in (path for place in places for path in place.glob(f"{PREFIX}*")):
        with contextlib.suppress(OSError):  # it has just been removed
            if path.lstat().st_uid == os.getuid() and path.is_dir() and not path.is_symlink():
                yield path


def _abandoned(path: Path) -> bool:
    """Does nobody hold it?"""
    try:
        lock = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return True
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    else:
        return True
    finally:
        os.close(lock)
