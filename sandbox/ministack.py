"""Run MiniStack for as long as somebody holds the other end of standard input.

`sandbox.account` starts this file with the engine's own interpreter. When the owner goes away, in whatever way,
standard input closes; then the engine's folder is removed and its whole process group ends, the Lambda workers
included. The account does not outlive the program that asked for it, not even after `kill -9`.
"""

import os
import shutil
import signal
import sys
import threading


def _end_with_owner(folder: str) -> None:
    sys.stdin.buffer.read()
    shutil.rmtree(folder, ignore_errors=True)
    os.killpg(0, signal.SIGKILL)


def main() -> None:
    """Serve until standard input closes. The folder to remove then is `TMPDIR`."""
    threading.Thread(target=_end_with_owner, args=(os.environ["TMPDIR"],), daemon=True).start()
    # Only in the engine's environment, so it is imported by name at run time.
    __import__("ministack.app", fromlist=["main"]).main()


if __name__ == "__main__":
    main()
