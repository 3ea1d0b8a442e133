"""Hypothesis finds the same examples in every run, and a busy machine is no failure."""

from __future__ import annotations

import pytest
from hypothesis import settings

from tests.idem.clocks import TestClock

settings.register_profile("sources", deadline=None, derandomize=True, max_examples=60, database=None)
settings.load_profile("sources")


@pytest.fixture
def clock() -> TestClock:
    return TestClock()
