"""`show`, `list`, `stats`, `watch`, on a table in the local account."""

from __future__ import annotations

from dataclasses import replace

import pytest

from idem import Key
from tests.operators.conftest import Cli
from tests.operators.records_in_every_state import EVERY, SUCCEEDED, put

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("every_state")]


def test_show_explains_a_record_and_the_next_delivery(cli: Cli) -> None:
    ran = cli("show", "orders.fulfil#stuck")
    assert ran.status == 0
    assert "Stuck: attempt 2" in ran.out
    assert "takes over and runs the work again, as attempt 3" in ran.out
    assert "m-running" in ran.out


def test_show_says_the_same_in_json(cli: Cli) -> None:
    (found,) = cli("show", "orders.fulfil#done", "--json").json
    assert found["state"] == "succeeded"
    assert found["result"] == {"parcels": 1}
    assert "gets this result" in found["next"]


def test_show_of_an_absent_key_is_a_no(cli: Cli) -> None:
    ran = cli("show", "orders.fulfil#nothing")
    assert ran.status == 1
    assert "never claimed" in ran.out
    assert cli("show", "orders.fulfil#nothing", "--json").json == [{"key": "orders.fulfil#nothing", "state": "absent"}]


def test_show_finds_a_record_by_the_id_of_what_made_it(cli: Cli) -> None:
    assert "orders.fulfil#done" in cli("show", "--id", "evt_done").out
    ran = cli("show", "--id", "evt_nobody")
    assert ran.status == 1
    assert "idem key" in ran.err


def test_show_finds_the_record_of_a_sample(cli: Cli) -> None:
    put(cli.client, cli.table, replace(SUCCEEDED, key=Key("orders.fulfil", "1001")))
    ran = cli("show", "--event", "events/orders/order_1001.json", "--consumer", "handlers.orders")
    assert ran.status == 0
    assert "orders.fulfil#1001" in ran.out


def test_list_filters_by_operation_state_and_age(cli: Cli) -> None:
    def listed(*arguments: str) -> set[str]:
        return {one["identity"] for one in cli("list", "--json", *arguments).json["records"]}

    assert listed() == {"running", "stuck", "done", "failed", "again", "expired"}
    assert listed("--operation", "payments.credit") == {"failed", "again"}
    assert listed("--stuck") == {"stuck"}
    assert listed("--state", "expired") == {"expired"}
    assert listed("--state", "reclaimable") == {"again"}
    assert listed("--older", "5m") == {"stuck"}
    assert "stuck" not in listed("--newer", "5m")


def test_list_goes_on_where_it_ended(cli: Cli) -> None:
    seen: list[str] = []
    after: list[str] = []
    for _ in EVERY:
        answer = cli("list", "--limit", "1", "--json", *after).json
        seen += [one["key"] for one in answer["records"]]
        after = ["--after", answer["after"]] if answer["after"] else []
    assert sorted(seen) == sorted(str(one.key) for one in EVERY)


def test_list_shows_what_is_no_record_as_unreadable(cli: Cli) -> None:
    cli.client.put_item(TableName=cli.table, Item={"pk": {"S": "IDEMPOTENCY#odd#1"}, "colour": {"S": "red"}})
    cli.client.put_item(TableName=cli.table, Item={"pk": {"S": "CUSTOMER#1"}})
    ran = cli("list")
    assert ran.status == 0
    (row,) = [line for line in ran.out.splitlines() if line.startswith("odd#1")]
    assert " unreadable " in row
    assert "CUSTOMER" not in ran.out + ran.err


def test_stats_count_every_state(cli: Cli) -> None:
    counts = cli("stats", "--json").json
    assert counts["operations"]["orders.fulfil"] == {
        "running": 1, "stuck": 1, "succeeded": 1, "reclaimable": 0, "failed": 0, "expired": 1,
    }  # fmt: skip
    assert counts["whole"] is True


def test_watch_shows_what_happens_to_a_key(cli: Cli) -> None:
    ran = cli("watch", "orders.fulfil#stuck", "--for", "1s", "--every", "0.2")
    assert ran.status == 0
    assert "Stuck" in ran.out
