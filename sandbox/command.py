"""How the programs of this room end: each trouble of the machine is a sentence with its remedy, and an exit status."""

from __future__ import annotations

import errno
import io
import sys
from collections.abc import Callable

from idem.operators.operator_errors import Exit, explain
from sandbox.account import AccountError
from sandbox.deploy import DeployError
from sandbox.observed import NotSeenError

REMEDIES = {
    errno.ENOSPC: "The disk is full: make room there, or point TMPDIR to another disk.",
    errno.EDQUOT: "Your share of the disk is full: make room there, or point TMPDIR to another disk.",
    errno.EFBIG: "A file may not grow so large here: see `ulimit -f`.",
    errno.EROFS: "It is read-only: use a checkout, and a TMPDIR, that you may write.",
    errno.EACCES: "You may not write it: use a checkout, and a TMPDIR, that is yours.",
    errno.EMFILE: "Too many files are open: see `ulimit -n`.",
    errno.EADDRINUSE: "Something else listens there.",
}


def run(name: str, main: Callable[[], int]) -> int:
    """What `main` returns. `name`: of the program, as in "the demo"."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal without Unicode shows what it can
    try:
        return main()
    except KeyboardInterrupt:
        print("\nInterrupted; everything that was started is stopped.", file=sys.stderr)
        return Exit.INTERRUPTED
    except Exception as error:
        told = _told(error)
        if told is None:
            raise
    said, status = told
    print(f"\n{name[:1].upper()}{name[1:]} did not get through: {said}", file=sys.stderr)
    return status


def _told(error: Exception) -> tuple[str, int] | None:
    """The sentence for an error and the exit status, None if it is a fault of ours."""
    if isinstance(error, AccountError | DeployError | NotSeenError):
        return str(error), Exit.NO
    if isinstance(error, OSError):
        return f"{error}. {REMEDIES.get(error.errno or 0, '')}".rstrip(), Exit.NO
    explained = explain(error)
    return None if explained is None else (str(explained), explained.status)
