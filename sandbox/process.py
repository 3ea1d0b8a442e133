"""A child process with everything it starts, and its output in a file.

The child leads a process group of its own, so stopping it stops its own children too, and a Ctrl-C at the
terminal reaches this program first, which then stops the child in order.
"""

import contextlib
import os
import signal
import subprocess
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path

STOP_SECONDS = 5.0
"""How long a child may take to end by itself once its standard input is closed."""


class ProcessGroup:
    """A running child. Whoever makes one stops it."""

    def __init__(self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], log: Path) -> None:
        self.argv = tuple(argv)
        self.log = log
        with log.open("wb") as sink:
            self._child = subprocess.Popen(  # noqa: S603 - the callers in this package build every argument
                self.argv,
                cwd=cwd,
                env=dict(env),
                stdin=subprocess.PIPE,
                stdout=sink,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """The child's process id, which is its group's id too."""
        return self._child.pid

    @property
    def running(self) -> bool:
        """Has the child not ended yet?"""
        return self._child.poll() is None

    def wait(self, *, timeout_seconds: float) -> int:
        """Return the exit status. Raises `TimeoutError` after `timeout_seconds`; the child goes on running."""
        try:
            return self._child.wait(timeout_seconds)
        except subprocess.TimeoutExpired as late:
            message = f"`{' '.join(self.argv)}` has not ended after {timeout_seconds:.0f} s"
            raise TimeoutError(message) from late

    def close_input(self) -> None:
        """Close the child's standard input, which asks an engine to end."""
        if self._child.stdin is not None:
            self._child.stdin.close()

    def stop(self, *, grace_seconds: float = 0.0) -> None:
        """End the whole group: after `grace_seconds` of asking, by force. Safe to repeat."""
        self.close_input()
        try:
            if grace_seconds > 0:
                self._child.wait(grace_seconds)
        except subprocess.TimeoutExpired:
            pass
        finally:
            self._kill()

    def _kill(self) -> None:
        # On macOS a group of which only the ended leader is left answers PermissionError.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._child.pid, signal.SIGKILL)
        self._child.wait(STOP_SECONDS)

    def tail(self, lines: int = 40) -> str:
        """Return the last `lines` lines of the child's output."""
        with self.log.open(encoding="utf-8", errors="replace") as source:
            return "".join(deque(source, maxlen=lines)).rstrip()
