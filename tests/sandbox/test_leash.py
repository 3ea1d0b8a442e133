"""What runs on a leash ends with whoever holds it, with everything that it started, and its folder goes too."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from sandbox.process import LEASH

SECONDS = 20
STARTS_ANOTHER = (
    "import subprocess, sys; "
    "subprocess.run([sys.executable, '-c', 'import time; print(1, flush=True); time.sleep(60)'])"
)


def leashed(folder: Path, script: str) -> subprocess.Popen[str]:
    argv = [sys.executable, "-I", "-S", str(LEASH), str(folder), sys.executable, "-c", script]
    return subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_letting_go_ends_the_command_with_its_children_and_removes_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    with leashed(folder, STARTS_ANOTHER) as leash:
        assert leash.stdin is not None
        assert leash.stdout is not None
        assert leash.stdout.readline() == "1\n"
        leash.stdin.close()
        assert leash.stdout.read() == ""  # the grandchild held this pipe too
        assert leash.wait(SECONDS) == 137
    assert not folder.exists()


def test_a_command_that_ends_gives_its_status_and_leaves_the_folder_to_the_owner(tmp_path: Path) -> None:
    with leashed(tmp_path, "raise SystemExit(7)") as leash:
        assert leash.wait(SECONDS) == 7
    assert tmp_path.exists()
