"""What the console says when it starts, and when it cannot."""

from __future__ import annotations

import http.client
import os
import re
import signal
import subprocess
import sys
from urllib.parse import urlsplit

import pytest

from sandbox.console.__main__ import main
from sandbox.isolation import ROOT

NOWHERE = ("--table", "t", "--region", "us-east-1", "--endpoint-url", "http://127.0.0.1:9", "--port", "0")
SECONDS = 60


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


def get(url: str, **headers: str) -> int:
    """The status of the answer at an address."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=SECONDS)
    try:
        connection.request("GET", f"{parts.path}?{parts.query}", headers=headers)
        return connection.getresponse().status
    finally:
        connection.close()


def test_the_address_that_is_printed_is_answered_at_once_and_holds_a_token_of_this_start() -> None:
    tokens = set[str]()
    for _ in range(2):
        environment = os.environ | {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x"}
        argv = [sys.executable, "-m", "sandbox.console", *NOWHERE]
        with subprocess.Popen(argv, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as console:
            try:
                assert console.stdout is not None
                found = re.search(r"http://127\.0\.0\.1:\d+/\?token=(\S+)", console.stdout.readline())
                assert found is not None
                assert get(found[0]) == 200
                assert get(found[0].partition("?")[0]) == 403
                assert len(found[1]) >= 43  # 32 random bytes
                tokens.add(found[1])
            finally:
                console.send_signal(signal.SIGTERM)
    assert len(tokens) == 2
