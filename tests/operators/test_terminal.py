"""What all commands have in common: errors as sentences, exit statuses, and text that steers no terminal."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from idem.clock import new_token
from idem.dynamo.schema import primary_key, to_item
from tests.operators.conftest import Cli
from tests.operators.records_in_every_state import FAILED, STUCK, put

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("every_state")]


def test_nothing_of_a_record_steers_the_terminal(cli: Cli) -> None:
    assert FAILED.failure is not None
    failure = replace(FAILED.failure, message="\x1b[31mred\x07 [bold]not bold[/bold]")
    put(cli.client, cli.table, replace(FAILED, failure=failure))
    for ran in (cli("show", "payments.credit#failed"), cli("list"), cli("show", "payments.credit#failed", "--json")):
        assert "\x1b" not in ran.out
        assert "\x07" not in ran.out
        assert "[bold]not bold[/bold]" in ran.out


def test_a_table_with_a_sort_key_wants_its_sort_value(cli: Cli) -> None:
    name = f"shared-{new_token()[:6]}"
    cli.client.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": one, "AttributeType": "S"} for one in ("pk", "sk")],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    )
    cli.client.put_item(TableName=name, Item=to_item(STUCK, "MEMORY"))
    cli.client.put_item(TableName=name, Item=primary_key(STUCK.key, "OTHER"))
    ran = cli("show", "orders.fulfil#stuck", "--table", name)
    assert ran.status == 3
    assert "--sort-value" in ran.err
    assert cli("show", "orders.fulfil#stuck", "--table", name, "--sort-value", "MEMORY").status == 0
    listed = cli("list", "--table", name, "--sort-value", "MEMORY", "--json").json
    assert len(listed["records"]) == 1
    given = ("--table", name, "--sort-value", "MEMORY", "--why", "ticket 7", "--yes")
    assert cli("release", "orders.fulfil#stuck", *given).status == 0
    assert cli("forget", "orders.fulfil#stuck", "--erase", *given).status == 0


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (("show", "a#1", "--table", "nope"), 3, "no table nope"),
        (("show", "a#1", "--endpoint-url", "http://127.0.0.1:1"), 3, "Nothing answers there"),
        (("list", "--profile", "nope"), 3, "nope"),
        (("list", "--stack", "nope", "--table", ""), 3, "nope"),
        (("list", "--older", "soon"), 2, "2h"),
        (("show",), 2, "--id"),
        (("show", "nokey"), 2, "orders.fulfil#1001"),
        (("send", "nofile.json", "--queue", "q"), 2, "nofile.json"),
        (("key", "events/orders/order_1001.json"), 2, "--consumer"),
        (("key", "events/orders/order_1001.json", "-o", "o", "--field", "nope"), 1, "nope"),
    ],
)
def test_what_goes_wrong_is_a_sentence_with_its_exit_status(
    cli: Cli, arguments: tuple[str, ...], status: int, said: str
) -> None:
    ran = cli(*arguments)
    assert ran.status == status
    assert said in ran.err
    assert ran.out == ""
    as_json = cli(*arguments, "--json")
    assert json.loads(as_json.err.splitlines()[-1])["status"] == status


def test_without_credentials_or_region_the_remedy_is_named(cli: Cli) -> None:
    none = cli("list", AWS_ACCESS_KEY_ID=None, AWS_SECRET_ACCESS_KEY=None)
    assert none.status == 3
    assert "aws sso login" in none.err
    nowhere = cli("list", AWS_REGION=None, AWS_DEFAULT_REGION=None)
    assert nowhere.status == 3
    assert "--region" in nowhere.err
