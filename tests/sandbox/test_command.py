"""Each trouble of the machine is one sentence with its remedy; a fault of ours stays a fault."""

from __future__ import annotations

import errno
import os
import subprocess
import sys

import pytest

from sandbox.account import AccountError
from sandbox.command import run
from sandbox.isolation import ROOT


def failing(error: BaseException) -> int:
    def main() -> int:
        raise error

    return run("the demo", main)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (AccountError("no engine"), "The demo did not get through: no engine"),
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/x"), "make room there"),
        (OSError(errno.EROFS, os.strerror(errno.EROFS), "/x"), "read-only"),
        (PermissionError(errno.EACCES, os.strerror(errno.EACCES), "/x"), "that is yours"),
    ],
)
def test_a_trouble_is_a_sentence(error: Exception, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert failing(error) == 1
    assert said in capsys.readouterr().err


def test_an_interrupt_is_a_sentence_and_a_fault_of_ours_is_raised(capsys: pytest.CaptureFixture[str]) -> None:
    assert failing(KeyboardInterrupt()) == 130
    assert "everything that was started is stopped" in capsys.readouterr().err
    with pytest.raises(ZeroDivisionError):
        failing(ZeroDivisionError())


def test_a_terminal_without_unicode_shows_what_it_can() -> None:
    script = "from sandbox.command import run; run('x', lambda: print('\\u2026') or 0)"
    ascii_only = os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"}
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, env=ascii_only, capture_output=True, check=True)
    assert done.stdout == b"\\u2026\n"
