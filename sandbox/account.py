"""A local AWS account: MiniStack on a port of its own, and nothing that could reach a real account.

    with LocalAccount() as account:
        account.client("sqs").list_queues()

What the account stores, unpacks and logs lies in one temporary folder, removed with it.
"""

import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
from pathlib import Path
from types import FrameType, TracebackType
from typing import Self

from sandbox.access import Access, Response
from sandbox.isolation import ACCOUNT_ID, HOST, REGION, ROOT, engine_environment
from sandbox.process import STOP_SECONDS, ProcessGroup

__all__ = ["ACCOUNT_ID", "REGION", "ROOT", "AccountError", "LocalAccount", "Response"]

START_SECONDS = 30.0
"""How long the engine may take to answer. It needs 1 to 2 s; a first start on a busy machine compiles for longer."""

MEMORY = "/dev/shm"  # noqa: S108 - the folder in it is made by mkdtemp
MEMORY_BYTES_MIN = 4 * 1024**3
"""Twenty workers and what they store need a tenth of this."""

START_ATTEMPTS = 3
"""A free port can be taken between asking for it and using it; another port is tried this often."""


class AccountError(Exception):
    """The local account could not be started."""


class LocalAccount(Access):
    """A context manager around one engine. `start` and `stop` are for owners that live longer than a `with`."""

    def __init__(self, *, engine: Path = ROOT / ".venv" / "engine" / "bin" / "python") -> None:
        super().__init__(port=0)
        self._engine = engine
        self._folder: Path | None = None
        self._process: ProcessGroup | None = None
        self._sigterm_taken = False

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def folder(self) -> Path:
        """The account's temporary folder. Raises `AccountError` before `start`."""
        if self._folder is None:
            message = "the local account has no folder yet: call start() or use it in a with statement"
            raise AccountError(message)
        return self._folder

    def start(self) -> None:
        """Start the engine and return when it answers. Raises `AccountError` with the end of its log."""
        if not self._engine.exists():
            message = f"the local AWS engine is not installed at {self._engine}: run `make setup`"
            raise AccountError(message)
        self._take_sigterm()
        try:
            for _ in range(START_ATTEMPTS):
                if self._start_once():
                    return
            raise self._failure(f"ended {START_ATTEMPTS} times before it answered")
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End the engine with its Lambda workers and remove the account's folder. Safe to repeat."""
        try:
            if self._process is not None:
                self._process.stop(grace_seconds=STOP_SECONDS)
        finally:
            self._process = None
            if self._folder is not None:
                shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None
            self._give_back_sigterm()

    def log_tail(self, lines: int = 40) -> str:
        """Return the last lines of the engine's log, empty when it is not running."""
        return "" if self._process is None else self._process.tail(lines)

    def _failure(self, what: str) -> AccountError:
        return AccountError(f"the local AWS engine {what}; its last words:\n{self.log_tail()}")

    def _start_once(self) -> bool:
        """Start on a fresh port: True when it answers, False when it ended. Raises `AccountError` when it hangs."""
        if self._process is not None:
            self._process.stop()
        if self._folder is None or not self._folder.exists():
            self._folder = Path(tempfile.mkdtemp(prefix="idem-account-", dir=_roomy_memory()))
        self.port = _free_port()
        script = str(Path(__file__).with_name("ministack.py"))
        self._process = ProcessGroup(
            [str(self._engine), "-P", script],
            cwd=self._folder,
            env=engine_environment(self._folder, self.port),
            log=self._folder / "engine.log",
        )
        deadline = time.monotonic() + START_SECONDS
        while self._process.running:
            if self.answers():
                return self._process.running
            if time.monotonic() > deadline:
                raise self._failure(f"did not answer within {START_SECONDS:.0f} s")
            time.sleep(0.05)
        return False

    def _take_sigterm(self) -> None:
        """Turn SIGTERM into `SystemExit`, so that leaving by it stops the account; a handler of the caller's stays."""
        if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, _exit_on_sigterm)
            self._sigterm_taken = True

    def _give_back_sigterm(self) -> None:
        if self._sigterm_taken and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            self._sigterm_taken = False


def _roomy_memory() -> str | None:
    """Return a folder in memory, if there is one with room: every Lambda worker unpacks its asset, which a disk is slow at."""
    try:
        return MEMORY if shutil.disk_usage(MEMORY).free > MEMORY_BYTES_MIN else None
    except OSError:
        return None


def _exit_on_sigterm(number: int, _frame: FrameType | None) -> None:
    sys.exit(128 + number)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port
