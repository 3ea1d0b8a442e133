"""Items that nobody's code wrote: each is one unreadable row, and nothing in a record steers the terminal or a script."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from idem import Key
from idem.dynamo.schema import to_item
from idem.operators.connection import Connection
from idem.record import Decided, StoredResult
from sandbox.console.activity import Activity
from sandbox.console.watched_records import WatchedRecords
from sandbox.stack_connection import StackConnection
from tests.operators.conftest import TABLE, Cli
from tests.operators.records_in_every_state import EVERY, FAILED, RECLAIMABLE, STUCK, SUCCEEDED, put

GOOD = [str(one.key) for one in EVERY]
ODD: dict[str, dict[str, Any]] = {
    "no attributes": {},
    "another schema": {"schema": {"N": "99"}},
    "a text for a number": {"claimedAt": {"S": "soon"}},
    "a fraction": {"expiresAt": {"N": "1.5"}},
    "a list for a map": {"origin": {"L": []}},
    "a number in the origin": {"origin": {"M": {"source": {"N": "1"}}}},
    "an unknown status": {"status": {"S": "done"}},
    "a text for decisions": {"decided": {"S": "release"}},
    "an empty error": {"error": {"M": {}}},
}
RESULTS = {
    "no JSON": "{broken",
    "980 levels": "[" * 980 + "]" * 980,
    "100,000 levels": "[" * 100_000,
    "NaN": "[NaN]",
    "infinite": "1e999",
    "a lone surrogate": '"\\ud800"',
    "5,000 digits": "1" * 5_000,
}
STEERING = (
    "\x1b]0;title\x07\x1b[31mred\x9b31m\u202egnp.exe\u200b\u2066[red]markup[/red] :smile:\r\nforged: Done\u2028line"
)


@pytest.fixture
def hostile(moto_cli: Cli) -> Cli:
    """The command line on a table with a record in each state, among everything that is odd."""
    put(moto_cli.client, TABLE, *EVERY)
    for number, changes in enumerate(ODD.values()):
        whole = to_item(replace(SUCCEEDED, key=Key("odd", str(number)))) if changes else {}
        item = whole | {"pk": {"S": f"IDEMPOTENCY#odd#{number}"}} | changes
        moto_cli.client.put_item(TableName=TABLE, Item=item)
    for pk in ("IDEMPOTENCY#", "IDEMPOTENCY#odd", "IDEMPOTENCY##1"):
        moto_cli.client.put_item(TableName=TABLE, Item=to_item(SUCCEEDED) | {"pk": {"S": pk}})
    for number, text in enumerate(RESULTS.values()):
        put(
            moto_cli.client,
            TABLE,
            replace(SUCCEEDED, key=Key("results", str(number)), result=StoredResult("json", text)),
        )
    far = replace(SUCCEEDED, key=Key("far", "1"), expires_at=int("9" * 38), claimed_at=-(10**30), finished_at=10**37)
    put(moto_cli.client, TABLE, far)
    return moto_cli


def test_a_list_shows_each_odd_item_as_one_unreadable_row_and_all_others(hostile: Cli) -> None:
    ran = hostile("list")
    assert ran.status == 0
    assert [key for key in GOOD if key not in ran.out] == []
    rows = [line for line in ran.out.splitlines() if " unreadable " in line]
    assert len(rows) == len(ODD) + 3
    assert all(line.startswith(("odd#", "#")) for line in rows)


def test_a_list_in_json_says_the_same(hostile: Cli) -> None:
    said = hostile("list", "--json").json
    listed = {one["key"]: one for one in said["records"]}
    assert set(GOOD) < listed.keys()
    assert len(said["unreadable"]) == len(ODD) + 3
    assert {one["key"] for one in said["unreadable"]} >= {f"odd#{number}" for number in range(len(ODD))}
    for number in range(len(RESULTS)):
        one = listed[f"results#{number}"]
        assert (one["result"], "cannot be read" in one["resultUnreadable"]) == (None, True)


def test_a_list_goes_on_behind_every_key(hostile: Cli) -> None:
    seen: list[str] = []
    after: list[str] = []
    for _ in range(100):
        said = hostile("list", "--limit", "1", "--json", *after).json
        seen += [one["key"] for one in said["records"]]
        if said["after"] is None:
            break
        after = ["--after", said["after"]]
    assert sorted(seen) == sorted({*seen})
    assert set(GOOD) <= set(seen)


def test_stats_count_all_that_can_be_read(hostile: Cli) -> None:
    said = hostile("stats", "--json").json
    assert said["unreadable"] == len(ODD) + 3
    assert sum(said["operations"]["orders.fulfil"].values()) == 4
    assert "odd#" in hostile("stats").err


@pytest.mark.parametrize("number", range(len(RESULTS)), ids=RESULTS)
def test_a_result_that_is_no_json_is_shown_as_it_stands(hostile: Cli, number: int) -> None:
    for options in ((), ("--json",)):
        ran = hostile("show", f"results#{number}", *options)
        assert ran.status == 0
        assert "succeeded" in ran.out


def test_of_several_keys_an_odd_one_is_said_and_the_others_are_watched(hostile: Cli) -> None:
    assert hostile("show", "odd#1").status == 1
    assert hostile("show", "odd#1", "--json").json[0]["state"] == "unreadable"
    ran = hostile("watch", "odd#1", str(STUCK.key), "--for", "1s", "--every", "0.2")
    assert ran.status == 0
    assert "Stuck: attempt 2" in ran.out


def test_the_consoles_list_has_all_that_can_be_read(hostile: Cli, connection: Connection) -> None:
    there = StackConnection(table_name=connection.table, region=connection.region)
    found = WatchedRecords(there, Activity(there)).look()
    assert set(GOOD) < {one["key"] for one in found["records"]}
    assert found["unreadable"] == len(ODD) + 3
    json.dumps(found, ensure_ascii=False, allow_nan=False).encode()  # as the console's server writes it
    assert hostile.table == connection.table


@pytest.fixture
def steering(moto_cli: Cli) -> Cli:
    """Every text of a record holds what a terminal would obey."""
    assert FAILED.failure is not None
    said = Decided(decision="release", by=STEERING, at=1, why=STEERING, attempt=1)
    failed = replace(FAILED, failure=replace(FAILED.failure, type=STEERING, message=STEERING))
    again = replace(RECLAIMABLE, origin={STEERING: STEERING, "messageId": "m"}, request_hash=STEERING, decided=(said,))
    done = replace(SUCCEEDED, key=Key("o", "done"), result=StoredResult("id", STEERING))
    in_json = replace(SUCCEEDED, key=Key("o", "json"), result=StoredResult("json", f'"{STEERING}"'))
    named = replace(SUCCEEDED, key=Key(f"[red]{STEERING}", f"[bold]{STEERING}"))
    put(moto_cli.client, TABLE, failed, again, done, in_json, named)
    odd = {"pk": {"S": f"IDEMPOTENCY#{STEERING}#{STEERING}"}, "schema": {"S": STEERING}}
    moto_cli.client.put_item(TableName=TABLE, Item=odd)
    return moto_cli


COMMANDS = [
    ("list",),
    ("stats",),
    ("show", str(FAILED.key)),
    ("show", str(RECLAIMABLE.key)),
    ("show", "o#done"),
    ("show", "o#json"),
    ("show", f"{STEERING}#{STEERING}"),
    ("show", "--id", STEERING),
    ("watch", str(FAILED.key), "--for", "1s", "--every", "0.5"),
    ("release", str(FAILED.key), "--yes", "--who", STEERING, "--why", STEERING),
    ("settle", str(RECLAIMABLE.key), "--yes", "--who", "ada", "--why", "found", "--result-id", STEERING),
    ("forget", "o#done", "--yes", "--who", STEERING, "--why", STEERING),
    ("restore", "--from-table", TABLE, "--key-attribute", "pk", "--dry-run"),
    ("restore", "--from-table", TABLE, "--key-attribute", "claimToken", "--dry-run"),
    ("key", "nofile" + STEERING, "--operation", "o", "--field", "id"),
    ("doctor",),
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda one: " ".join(one[:1]))
def test_nothing_of_a_record_steers_a_terminal_or_a_script(steering: Cli, command: tuple[str, ...]) -> None:
    ran = steering(*command)
    said = ran.out + ran.err
    assert said.strip()
    assert [letter for letter in said if not letter.isprintable() and letter != "\n"] == []
    assert not any(line.startswith("forged") for line in said.splitlines())
    assert "\N{SMILING FACE WITH OPEN MOUTH AND SMILING EYES}" not in said
    again = steering(*command, "--json")
    assert again.out.isascii()


def test_markup_is_shown_as_it_stands(steering: Cli) -> None:
    assert "[red]markup[/red] :smile:" in steering("show", str(FAILED.key)).out
    assert "[red]" in steering("stats").out
    assert "[bold]" in steering("list").out
