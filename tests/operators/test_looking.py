"""The program through its entry point, on a table in the local account."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from idem import Key
from idem.clock import new_token
from idem.dynamo.schema import primary_key, to_item
from tests.operators.conftest import Cli
from tests.operators.records_in_every_state import EVERY, FAILED, RUNNING, STUCK, SUCCEEDED, put

pytestmark = pytest.mark.e2e

EVERY_COMMAND = (
    "show list stats watch key release settle forget doctor smoke send race".split()  # noqa: SIM905 - a list to read
)


@pytest.fixture(autouse=True)
def table(cli: Cli) -> None:
    """One record in each state, before every test."""
    for item in cli.client.scan(TableName=cli.table)["Items"]:
        cli.client.delete_item(TableName=cli.table, Key={"pk": item["pk"]})
    put(cli.client, cli.table, *EVERY)


def test_help_names_every_command_and_the_exit_statuses(cli: Cli) -> None:
    ran = cli.program("--help", COLUMNS="160")
    assert ran.status == 0
    assert [name for name in EVERY_COMMAND if f" {name} " not in ran.out] == []
    assert "130 interrupted" in " ".join(ran.out.split())


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


def test_nothing_of_a_record_steers_the_terminal(cli: Cli) -> None:
    assert FAILED.failure is not None
    failure = replace(FAILED.failure, message="\x1b[31mred\x07 [bold]not bold[/bold]")
    put(cli.client, cli.table, replace(FAILED, failure=failure))
    for ran in (cli("show", "payments.credit#failed"), cli("list"), cli("show", "payments.credit#failed", "--json")):
        assert "\x1b" not in ran.out
        assert "\x07" not in ran.out
        assert "[bold]not bold[/bold]" in ran.out


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


def test_list_skips_what_is_no_record_and_says_so(cli: Cli) -> None:
    cli.client.put_item(TableName=cli.table, Item={"pk": {"S": "IDEMPOTENCY#odd#1"}, "colour": {"S": "red"}})
    cli.client.put_item(TableName=cli.table, Item={"pk": {"S": "CUSTOMER#1"}})
    ran = cli("list")
    assert ran.status == 0
    assert "odd#1" in ran.err
    assert "CUSTOMER" not in ran.out + ran.err


def test_stats_count_every_state(cli: Cli) -> None:
    counts = cli("stats", "--json").json
    assert counts["operations"]["orders.fulfil"] == {
        "running": 1, "stuck": 1, "succeeded": 1, "reclaimable": 0, "failed": 0, "expired": 1,
    }  # fmt: skip
    assert counts["whole"] is True


def test_a_decision_is_not_made_without_a_yes(cli: Cli) -> None:
    before = cli.store.get(STUCK.key)
    ran = cli("release", "orders.fulfil#stuck", "--why", "ticket 7")
    assert ran.status == 2
    assert "--yes" in ran.err
    assert cli.store.get(STUCK.key) == before


def test_release_settle_and_forget_say_what_happens_next_and_do_it(cli: Cli) -> None:
    released = cli("release", "orders.fulfil#stuck", "payments.credit#failed", "--why", "ticket 7", "--yes")
    assert released.status == 0
    assert "as attempt 3" in released.out
    assert "as attempt 2" in released.out
    settled = cli("settle", "orders.fulfil#stuck", "--result-id", "wh-7", "--why", "found", "-y", "--json").json
    assert settled["resultId"] == "wh-7"
    assert settled["origin"]["decidedWhy"] == "found"
    assert settled["origin"]["decidedBy"].startswith("arn:")
    assert cli("forget", "orders.fulfil#stuck", "--why", "again", "--yes").status == 0
    assert "as attempt 1" in cli("show", "orders.fulfil#stuck").out
    assert cli("forget", "orders.fulfil#stuck", "--erase", "--why", "again", "--yes").status == 0
    assert cli("show", "orders.fulfil#stuck").status == 1


def test_a_decision_about_a_running_or_an_absent_record_is_refused(cli: Cli) -> None:
    ran = cli("release", "orders.fulfil#running", "--why", "ticket 7", "--yes")
    assert ran.status == 1
    assert "--force" in ran.err
    assert cli("release", "orders.fulfil#nothing", "--why", "ticket 7", "--yes").status == 1
    assert cli.store.get(RUNNING.key) == RUNNING


@pytest.mark.parametrize(("typed", "status"), [("n\n", 1), ("y\n", 0)])
def test_on_a_terminal_a_person_is_asked(cli: Cli, typed: str, status: int) -> None:
    before = cli.store.get(STUCK.key)
    shown, ended = cli.on_a_terminal("release", "orders.fulfil#stuck", "--why", "ticket 7", typed=typed)
    assert "Do it? [y/N]" in shown
    assert ended == status
    assert (cli.store.get(STUCK.key) == before) is (status == 1)


def test_watch_shows_what_happens_to_a_key(cli: Cli) -> None:
    ran = cli("watch", "orders.fulfil#stuck", "--for", "1s", "--every", "0.2")
    assert ran.status == 0
    assert "Stuck" in ran.out


def test_smoke_is_right_here_and_leaves_nothing(cli: Cli) -> None:
    before = cli.client.scan(TableName=cli.table)["Count"]
    ran = cli("smoke")
    assert ran.status == 0, ran.out
    assert "WRONG" not in ran.out
    assert cli.client.scan(TableName=cli.table)["Count"] == before


def test_a_race_has_one_winner_to_whom_all_others_lost(cli: Cli) -> None:
    found = cli("race", "--racers", "4", "--json").json
    (winner,) = [racer for racer in found["racers"] if racer["won"]]
    losers = [racer for racer in found["racers"] if not racer["won"]]
    assert len(losers) == 3
    for racer in losers:
        (refused,) = racer["exchanges"]
        assert refused["error"] == "ConditionalCheckFailedException"
        assert refused["response"]["Item"]["claimToken"]["S"] == winner["token"]
    assert cli("show", found["key"]).status == 1  # it was removed again


def test_doctor_finds_what_is_missing(cli: Cli) -> None:
    findings = {one["about"]: one["grade"] for one in cli("doctor", "--json").json}
    assert findings["key schema"] == "ok"
    assert findings["expiry (TTL)"] == "fault"
    assert findings["records"] == "ok"
    assert cli("doctor").status == 1


def test_doctor_finds_milliseconds_and_foreign_items(cli: Cli) -> None:
    far = to_item(replace(SUCCEEDED, key=Key("o", "far")))
    far["expiresAt"] = {"N": "1796040000000"}
    cli.client.put_item(TableName=cli.table, Item=far)
    cli.client.put_item(TableName=cli.table, Item={"pk": {"S": "IDEMPOTENCY#odd#1"}})
    says = [one["says"] for one in cli("doctor", "--json").json if one["about"] == "records"]
    assert any("milliseconds" in one for one in says)
    assert any("cannot be read" in one for one in says)


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
