"""The program as it is started: its help, its version, and which options a command shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from idem.operators.cli import main
from tests.operators.conftest import Cli

EVERY_COMMAND = "show list stats watch key release settle forget restore doctor verify send race".split()  # noqa: SIM905


def test_the_version_is_said(moto_cli: Cli) -> None:
    for option in ("--version", "-V"):
        ran = moto_cli(option)
        assert ran.status == 0
        assert ran.out.startswith("idem")


def test_without_a_command_the_help_is_shown(moto_cli: Cli) -> None:
    assert "Explain a record" in moto_cli().out + moto_cli().err


@pytest.mark.parametrize("command", EVERY_COMMAND)
def test_a_command_shows_the_options_that_say_where_to_look_only_if_it_looks(moto_cli: Cli, command: str) -> None:
    shown = moto_cli(command, "--help").out
    assert "--json" in shown
    assert ("--profile" in shown) is (command != "key")
    assert ("--table" in shown) is (command != "key")


def test_a_fault_that_nobody_explains_is_said_without_a_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "odd_rules.py").write_text(
        "OPERATION = 'o'\nKEY = lambda delivery: {}[delivery.id]\n", encoding="utf-8"
    )
    sample = tmp_path / "sample.json"
    sample.write_text("{}", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(SystemExit) as ended:
        main(["key", str(sample), "--consumer", "odd_rules"])
    said = capsys.readouterr().err
    assert ended.value.code == 1
    assert "KeyError" in said
    assert "IDEM_TRACE" in said
    assert "Traceback" not in said


@pytest.mark.e2e
def test_help_names_every_command_and_the_exit_statuses(cli: Cli) -> None:
    ran = cli.program("--help", COLUMNS="160")
    assert ran.status == 0
    assert [name for name in EVERY_COMMAND if f" {name} " not in ran.out] == []
    assert "130 interrupted" in " ".join(ran.out.split())
