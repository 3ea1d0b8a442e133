"""Settings from the environment."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from idem.errors import ConfigurationError
from idem.on_lambda import TableEnvironment


@dataclass(frozen=True, slots=True, kw_only=True)
class ParcelSettings(TableEnvironment):
    queue_url: str
    carrier: str = "post"


def test_settings_are_read_by_their_names_and_others_are_left_alone() -> None:
    environment = {"IDEMPOTENCY_TABLE": "i", "QUEUE_URL": "q", "UNRELATED": "x"}
    settings = ParcelSettings.from_environment(environment)
    assert settings == ParcelSettings(idempotency_table="i", queue_url="q")


def test_a_variable_that_is_set_wins_over_the_default() -> None:
    environment = {"IDEMPOTENCY_TABLE": "i", "QUEUE_URL": "q", "CARRIER": "rail"}
    assert ParcelSettings.from_environment(environment).carrier == "rail"


def test_every_missing_or_empty_variable_is_named() -> None:
    with pytest.raises(
        ConfigurationError, match=r"^environment variables IDEMPOTENCY_TABLE, QUEUE_URL not set"
    ) as caught:
        ParcelSettings.from_environment({"IDEMPOTENCY_TABLE": "  "})
    assert "CARRIER" not in str(caught.value)
    with pytest.raises(ConfigurationError, match=r"^environment variable QUEUE_URL not set"):
        ParcelSettings.from_environment({"IDEMPOTENCY_TABLE": "i"})
