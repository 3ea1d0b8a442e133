"""What the console says when it cannot start."""

from __future__ import annotations

import pytest

from sandbox.console.__main__ import main


@pytest.fixture(autouse=True)
def _nothing_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--table", "t", "--profile", "nope"], "nope"),
        (["--table", "t"], "--region"),
        (["--table", "t", "--region", "us-east-1", "--port", "99999"], "--port 0"),
    ],
)
def test_a_console_that_cannot_start_says_why(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) != 0
    assert said in capsys.readouterr().err
