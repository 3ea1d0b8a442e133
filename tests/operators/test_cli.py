"""The program as it is started: its help, its version, and which options a command shows."""

from __future__ import annotations

import pytest

from tests.operators.conftest import Cli

EVERY_COMMAND = "show list stats watch key release settle forget restore doctor smoke send race".split()  # noqa: SIM905


@pytest.mark.e2e
def test_help_names_every_command_and_the_exit_statuses(cli: Cli) -> None:
    ran = cli.program("--help", COLUMNS="160")
    assert ran.status == 0
    assert [name for name in EVERY_COMMAND if f" {name} " not in ran.out] == []
    assert "130 interrupted" in " ".join(ran.out.split())
