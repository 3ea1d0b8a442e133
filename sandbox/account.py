"""A local AWS account: MiniStack on a port of its own, and nothing that could reach a real account.

    with LocalAccount() as account:
        account.client("sqs").list_queues()

What the account stores, unpacks and logs lies in one temporary folder, removed with it.
"""

import contextlib
import os
import signal
import socket
import sys
import threading
import time
from pathlib import Path
from types import FrameType, TracebackType
from typing import Self

from sandbox import folders
from sandbox.access import Access, Response
from sandbox.isolation import ACCOUNT_ID, HOST, REGION, ROOT, engine_environment
from sandbox.process import ProcessGroup

__all__ = ["ACCOUNT_ID", "REGION", "ROOT", "AccountError", "LocalAccount", "Response"]

START_SECONDS = 30.0
"""How long the engine may take to answer. It needs 1 to 2 s; a first start on a busy machine compiles for longer."""

START_ATTEMPTS = 3
"""A free port can be taken between asking for it and using it; another port is tried this often."""

ENDINGS = (signal.SIGTERM, signal.SIGHUP)
"""What ends a program from outside: `kill`, and a terminal that was closed."""


class AccountError(Exception):
    """The local account could not be started."""


class LocalAccount(Access):
    """A context manager around one engine. `start` and `stop` are for owners that live longer than a `with`."""

    def __init__(self, *, engine: Path = ROOT / ".venv" / "engine" / "bin" / "python") -> None:
        super().__init__(port=0)
        self._engine = engine
        self._folder: folders.AccountFolder | None = None
        self._process: ProcessGroup | None = None
        self._taken: list[signal.Signals] = []

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
        return self._folder.path

    def start(self) -> None:
        """Start the engine and return when it answers. Raises `AccountError` with the remedy or the end of its log."""
        if not self._engine.exists():
            message = f"the local AWS engine is not installed at {self._engine}: run `make setup`"
            raise AccountError(message)
        self._take_signals()
        try:
            folders.sweep()
            for _ in range(START_ATTEMPTS):
                if self._start_once():
                    return
            raise self._failure(f"ended {START_ATTEMPTS} times before it answered")
        except folders.NoRoomError as error:
            self.stop()
            raise AccountError(str(error)) from error
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End the engine with its Lambda workers and remove the account's folder. Safe to repeat."""
        try:
            if self._process is not None:
                self._process.stop()
        finally:
            self._process = None
            if self._folder is not None:
                self._folder.remove()
            self._folder = None
            self._give_signals_back()

    def log_tail(self, lines: int = 40) -> str:
        """Return the last lines of the engine's log, empty when it is not running."""
        return "" if self._process is None else self._process.tail(lines)

    def _failure(self, what: str) -> AccountError:
        return AccountError(f"the local AWS engine {what}; its last words:\n{self.log_tail()}")

    def _start_once(self) -> bool:
        """Start on a fresh port: True when it answers, False when it ended. Raises `AccountError` when it hangs."""
        if self._process is not None:
            self._process.stop()
        if self._folder is not None:
            self._folder.remove()
        self._folder = folders.make()
        self.port = _free_port()
        script = str(Path(__file__).with_name("ministack.py"))
        self._process = ProcessGroup(
            [str(self._engine), "-P", script],
            cwd=self.folder,
            env=engine_environment(self.folder, self.port),
            log=self.folder / "engine.log",
            folder=self.folder,
        )
        deadline = time.monotonic() + START_SECONDS
        while self._process.running:
            if self.answers():
                return self._process.running
            if time.monotonic() > deadline:
                raise self._failure(f"did not answer within {START_SECONDS:.0f} s")
            time.sleep(0.05)
        return False

    def _take_signals(self) -> None:
        """Turn ENDINGS into `SystemExit`, so that leaving by one stops the account.

        A handler of the caller's stays, and so does a signal that is ignored, as `nohup` wants it.
        """
        if threading.current_thread() is threading.main_thread():
            for one in ENDINGS:
                if signal.getsignal(one) is signal.SIG_DFL:
                    signal.signal(one, _exit_on_signal)
                    self._taken.append(one)

    def _give_signals_back(self) -> None:
        if threading.current_thread() is threading.main_thread():
            while self._taken:
                signal.signal(self._taken.pop(), signal.SIG_DFL)


def _exit_on_signal(number: int, _frame: FrameType | None) -> None:
    with contextlib.suppress(OSError):  # the terminal may be gone
        os.write(2, f"\n{signal.Signals(number).name}: the local account ends, and leaves nothing behind\n".encode())
    sys.exit(128 + number)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port
