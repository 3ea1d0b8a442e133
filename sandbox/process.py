"""A child process with everything it starts, and its output in a file.

The child runs on a leash (`sandbox.leash`) in a session of its own: stopping it stops its own children too, it ends with this
program however this ends, and a Ctrl-C at the terminal reaches this program first, which then stops the child in order.
"""

import contextlib
import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path

STOP_SECONDS = 10.0
"""How long the leash may take to kill what it holds and to remove the folder. It needs a tenth of a second."""

LEASH = Path(__file__).with_name("leash.py")


class ProcessGroup:
    """A running child. Whoever makes one stops it."""

    def __init__(
        self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], log: Path, folder: Path | None = None
    ) -> None:
        """folder: what is removed when the child is stopped, or this program has ended."""
        self.argv = tuple(argv)
        self.log = log
        leash = (sys.executable, "-I", "-S", str(LEASH), str(folder or ""))
        with log.open("wb") as sink:
            self._child = subprocess.Popen(  # noqa: S603 - the callers in this package build every argument
                (*leash, *self.argv),
                cwd=cwd,
                env=dict(env),
                stdin=subprocess.PIPE,
                stdout=sink,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def running(self) -> bool:
        """Has the child not ended yet?"""
        return self._child.poll() is None

    def ended(self, *, within_seconds: float) -> int | None:
        """The exit status, None if the child has not ended within `within_seconds`."""
        try:
            return self._child.wait(within_seconds)
        except subprocess.TimeoutExpired:
            return None

    def stop(self) -> None:
        """End the child with everything it started. Safe to repeat."""
        if self._child.stdin is not None:
            self._child.stdin.close()
        try:
            self._child.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._child.pid, signal.SIGKILL)
            self._child.wait()

    def tail(self, lines: int = 40) -> str:
        """Return the last `lines` lines of the child's output."""
        with self.log.open(encoding="utf-8", errors="replace") as source:
            return "".join(deque(source, maxlen=lines)).rstrip()
