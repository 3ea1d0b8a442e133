"""A table on moto for what runs in this process, and one in the local account for the program itself."""

from __future__ import annotations

import contextlib
import io
import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import boto3
import pytest
from moto import mock_aws

from idem import DynamoStore
from idem.operators.cli import main
from idem.operators.connection import Connection
from sandbox.account import LocalAccount
from sandbox.isolation import ROOT
from tests.operators.records_in_every_state import EVERY, put

TABLE = "records"


@pytest.fixture
def connection(monkeypatch: pytest.MonkeyPatch) -> Iterator[Connection]:
    """A connection to an empty table on moto."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    for name in ("AWS_PROFILE", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)
    with mock_aws():
        make_table(boto3.client("dynamodb", region_name="us-east-1"))
        yield Connection(table_name=TABLE, region="us-east-1")


@dataclass(frozen=True, slots=True)
class Ran:
    """How a run of the program ended."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Cli:
    """The command line on one table, with nothing of this machine's AWS set-up.

    Runs in this process, because starting another one takes longer than most commands; `program` and `on_a_terminal` start one.
    """

    def __init__(self, environment: Mapping[str, str], make_client: Callable[[str], Any], table: str) -> None:
        self.aws = make_client
        self.table = table
        self.client = make_client("dynamodb")
        self._base = environment

    @cached_property
    def store(self) -> DynamoStore:
        return DynamoStore(self.client, self.table)

    def __call__(self, *arguments: str, **environment: str | None) -> Ran:
        out, err = io.StringIO(), io.StringIO()
        before = dict(os.environ)
        os.environ.clear()
        os.environ.update(self._environment(environment))
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as ended:
                main(arguments)
        finally:
            os.environ.clear()
            os.environ.update(before)
        return _ran(ended.value.code, out.getvalue(), err.getvalue())

    def program(self, *arguments: str, **environment: str | None) -> Ran:
        """The same in a process of its own."""
        done = subprocess.run(
            [sys.executable, "-m", "idem", *arguments],
            cwd=ROOT,
            env=self._environment(environment),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        return _ran(done.returncode, done.stdout, done.stderr)

    def on_a_terminal(self, *arguments: str, typed: str) -> tuple[str, int]:
        """What a person sees who types this, and the exit status."""
        ours, theirs = pty.openpty()
        command = [sys.executable, "-m", "idem", *arguments]
        child = subprocess.Popen(
            command, cwd=ROOT, env=self._environment({}), stdin=theirs, stdout=theirs, stderr=theirs
        )
        os.close(theirs)
        os.write(ours, typed.encode())
        shown = b""
        with contextlib.suppress(OSError):  # Linux says EIO at the end of a terminal
            while piece := os.read(ours, 4096):
                shown += piece
        os.close(ours)
        return shown.decode(), child.wait(60)

    def _environment(self, changes: Mapping[str, str | None]) -> dict[str, str]:
        ours = {"IDEM_TABLE": self.table, "TERM": "dumb", "TERMINAL_WIDTH": "160"}
        found = {**self._base, **ours, **changes}
        return {name: value for name, value in found.items() if value is not None}


def _ran(status: Any, out: str, err: str) -> Ran:
    assert "Traceback" not in err, err
    assert "fault of its own" not in err, err
    return Ran(int(status or 0), out, err)


@pytest.fixture(scope="session")
def cli_account() -> Iterator[LocalAccount]:
    with LocalAccount() as account:
        yield account


def cli_of(account: LocalAccount, table: str) -> Cli:
    """The command line on a table of a local account; without a name, on none."""
    return Cli(account.environment(), cast("Callable[[str], Any]", account.client), table)


@pytest.fixture(scope="module")
def cli(cli_account: LocalAccount, request: pytest.FixtureRequest) -> Cli:
    """The command line on a table of this module's own, in the local account."""
    table = request.module.__name__.rpartition(".")[2]
    make_table(cli_account.client("dynamodb"), table)
    return cli_of(cli_account, table)


@pytest.fixture
def every_state(cli: Cli) -> None:
    """One record in each state, before every test."""
    for item in cli.client.scan(TableName=cli.table)["Items"]:
        cli.client.delete_item(TableName=cli.table, Key={"pk": item["pk"]})
    put(cli.client, cli.table, *EVERY)


@pytest.fixture
def moto_cli(connection: Connection) -> Cli:
    """The command line on an empty table on moto: what needs no process of its own."""
    environment = {
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    return Cli(environment, connection.client, TABLE)


def make_table(client: Any, name: str = TABLE) -> None:
    client.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
    )
