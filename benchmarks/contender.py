"""What every contender can be asked to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from benchmarks.events import Event
from benchmarks.network import Network

TimedWork = Callable[[Any], Any]


class Contender(Protocol):
    """Handles SQS events, or single calls, with its records behind a stub network."""

    network: Network
    work: TimedWork

    def handle(self, event: Event) -> Any:
        """Take an SQS event to Lambda's answer."""
        ...
