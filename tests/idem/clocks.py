"""The clock of these tests."""

from __future__ import annotations

from idem.testing import ManualClock


class TestClock(ManualClock):
    """A manual clock that also remembers every pause that somebody made on it, in milliseconds."""

    __test__ = False

    def __init__(self, *, jitter: float = 1.0) -> None:
        super().__init__(jitter=jitter)
        self.slept: list[float] = []

    def sleep_ms(self, milliseconds: float) -> None:
        self.slept.append(milliseconds)
        super().sleep_ms(milliseconds)

    def pass_ms(self, milliseconds: float) -> None:
        """Let time pass, without anybody sleeping."""
        super().sleep_ms(milliseconds)
