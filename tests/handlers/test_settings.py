"""Handlers and their settings: importable anywhere, complete on Lambda."""

from __future__ import annotations

import subprocess
import sys

import pytest


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
