"""Signing secrets that are kept for a while, and read again when a signature fails: a rotation needs no redeployment.

Anybody can send a wrong signature, so the reading is bounded: at most one in an interval, for each execution environment.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Protocol, runtime_checkable

from idem.clock import milliseconds

REFRESH_EVERY = timedelta(
    minutes=1
)  # a rotation is noticed that fast; at Secrets Manager's price, 0.2 USD a month at most


@runtime_checkable
class Refreshable(Protocol):
    """Secrets that can be read anew."""

    def __call__(self) -> Sequence[str]: ...

    def refresh(self, now_ms: int) -> Sequence[str] | None:
        """The secrets as they are now, None if it is too early to ask again."""
        ...


class RefreshedSecrets:
    """Secrets behind a cache.

    cached: gives what the cache has. fresh: reads them past the cache, which keeps what was read. every: the least time
    between two readings that failed signatures cause.
    """

    def __init__(
        self,
        cached: Callable[[], Sequence[str]],
        fresh: Callable[[], Sequence[str]],
        *,
        every: timedelta = REFRESH_EVERY,
    ) -> None:
        self._cached = cached
        self._fresh = fresh
        self._every_ms = milliseconds(every)
        self._lock = threading.Lock()
        self._refreshed_ms: int | None = None

    def __call__(self) -> Sequence[str]:
        return self._cached()

    def refresh(self, now_ms: int) -> Sequence[str] | None:
        """The secrets as they are now, None within the interval. A failed reading counts, too."""
        with self._lock:
            if self._refreshed_ms is not None and now_ms - self._refreshed_ms < self._every_ms:
                return None
            self._refreshed_ms = now_ms
        return self._fresh()
