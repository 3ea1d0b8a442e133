"""Run a command until it ends, or until nobody holds the other end of standard input any more.

    python leash.py FOLDER COMMAND ...

When the owner goes away, in whatever way, standard input closes: then the command is killed with everything that it started, and
FOLDER (if it is not empty) is removed. So nothing outlives the program that asked for it, not even after `kill -9`.

`sandbox.process` starts this file by its path, so it imports nothing of this project. Exit status: the command's, or 128 and
the number of the signal that ended it.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time

REMOVE_ATTEMPTS = 100
REMOVE_PAUSE_SECONDS = 0.05
"""What was killed a moment ago may still write: a folder that is not gone is removed again, for 5 s."""


def main(folder: str, *command: str) -> int:
    """Run `command` in a process group of its own, with this standard input; the exit status."""
    left = threading.Event()
    with subprocess.Popen(command, process_group=0) as child:  # noqa: S603 - the caller builds every argument
        threading.Thread(target=_watch, args=(child.pid, left), daemon=True).start()
        status = child.wait()
    _kill(child.pid)  # what it started and left behind
    if folder and left.is_set():
        _remove(folder)
    return status if status >= 0 else 128 - status


def _watch(group: int, left: threading.Event) -> None:
    while os.read(0, 65_536):
        pass
    left.set()
    _kill(group)


def _kill(group: int) -> None:
    # On macOS a group of which only the ended leader is left answers PermissionError.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def _remove(folder: str) -> None:
    for _ in range(REMOVE_ATTEMPTS):
        shutil.rmtree(folder, ignore_errors=True)
        if not os.path.exists(folder):  # noqa: PTH110 - this file starts in milliseconds; pathlib takes as many
            return
        time.sleep(REMOVE_PAUSE_SECONDS)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
