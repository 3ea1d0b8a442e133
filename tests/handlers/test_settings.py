"""Settings from the environment."""

from __future__ import annotations

import subprocess
import sys

import pytest

from handlers.settings import OrdersSettings, PaymentsSettings
from idem.errors import ConfigurationError


def test_settings_are_read_by_their_names() -> None:
    environment = {"IDEMPOTENCY_TABLE": "i", "LEDGER_TABLE": "l", "ORDERS_QUEUE_URL": "q", "UNRELATED": "x"}
    settings = OrdersSettings.from_environment(environment)
    assert (settings.idempotency_table, settings.ledger_table, settings.orders_queue_url) == ("i", "l", "q")


def test_every_missing_or_empty_variable_is_named() -> None:
    with pytest.raises(ConfigurationError) as caught:
        PaymentsSettings.from_environment({"IDEMPOTENCY_TABLE": "i", "LEDGER_TABLE": "  "})
    assert "LEDGER_TABLE" in str(caught.value)
    assert "PAYMENTS_SECRET_ID" in str(caught.value)
    assert "IDEMPOTENCY_TABLE" not in str(caught.value)


@pytest.mark.parametrize("module", ["handlers.orders", "handlers.payments"])
def test_handlers_are_importable_without_an_environment(module: str) -> None:
    done = subprocess.run([sys.executable, "-c", f"import {module}"], env={}, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.parametrize("module", ["handlers.orders", "handlers.payments"])
def test_on_lambda_a_missing_variable_fails_the_start_by_name(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"import {module}"],
        env={"AWS_LAMBDA_RUNTIME_API": "127.0.0.1:1", "AWS_DEFAULT_REGION": "us-east-1"},
        capture_output=True,
        check=False,
    )
    assert done.returncode != 0
    assert b"IDEMPOTENCY_TABLE" in done.stderr
