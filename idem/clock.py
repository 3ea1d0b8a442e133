"""Time and randomness as arguments."""

from __future__ import annotations

import os
import time
from typing import Protocol


class Clock(Protocol):
    """Wall-clock time in epoch milliseconds, sleep in milliseconds, and a random number from 0 up to 1 for jitter."""

    def now_ms(self) -> int: ...

    def sleep_ms(self, milliseconds: float) -> None: ...

    def jitter(self) -> float: ...


class SystemClock:
    """The machine's clock. Randomness comes from the operating system: snapshot-restored environments share Python's."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def sleep_ms(self, milliseconds: float) -> None:
        time.sleep(milliseconds / 1000)

    def jitter(self) -> float:
        return int.from_bytes(os.urandom(4), "big") / (1 << 32)


DOUBLINGS_MAX = (
    60  # of any backoff: a float ends at 1,024, and a message without a dead-letter queue is received more often
)


def backoff_ms(attempt: int, *, base_ms: float, cap_ms: float, jitter: float) -> float:
    """The pause before try number `attempt` + 1 (attempts count from 0): doubling, capped, between half and all of it."""
    return min(cap_ms, base_ms * 2.0 ** min(attempt, DOUBLINGS_MAX)) * (0.5 + jitter / 2)


def new_token() -> str:
    """A claim token: 128 bits from the operating system, drawn at the moment of the call, as 32 hex digits."""
    return os.urandom(16).hex()
