"""One clock for a test and all that it builds."""

from __future__ import annotations

import pytest

from tests.idem.clocks import TestClock


@pytest.fixture
def clock() -> TestClock:
    return TestClock()
