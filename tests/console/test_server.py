"""The server's answers, without a browser."""

from __future__ import annotations

import json
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.console.conftest import Serve, Served
from tests.operators.records_in_every_state import EVERY, put

pytestmark = pytest.mark.e2e

WRITES = [
    ("claim", {"identity": "1"}),
    ("record", {"identity": "1", "outcome": "complete"}),
    ("race", {"racers": 4}),
    ("deliver", {"sample": "orders/order_1001.json", "times": 1}),
]


def ask(served: Served, path: str, given: Any = None) -> tuple[int, Any]:
    return send(served, path, None if given is None else json.dumps(given).encode(), served.token)


def send(served: Served, path: str, body: bytes | None, token: str) -> tuple[int, Any]:
    address = urlsplit(served.url).netloc
    connection = HTTPConnection(address, timeout=60)
    headers = {"origin": f"http://{address}", "content-type": "application/json", "x-console-token": token}
    connection.request("GET" if body is None else "POST", path, body, headers)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, json.loads(body) if body.startswith((b"{", b"[")) else body


@pytest.mark.parametrize(("name", "given"), WRITES)
def test_a_console_that_only_looks_changes_nothing(serve: Serve, table: str, name: str, given: dict[str, Any]) -> None:
    served = serve(table=table, writes=False)
    status, said = ask(served, f"/api/{name}", given)
    assert status == 409
    assert "--allow-writes" in said["remedy"]
    assert served.connection.dynamodb.scan(TableName=table)["Count"] == 0


def test_records_come_with_their_state_lease_and_life(serve: Serve, table: str) -> None:
    served = serve(table=table, writes=False)
    put(served.connection.dynamodb, table, *EVERY)
    _, found = ask(served, "/api/records")
    assert {one["state"] for one in found["records"]} == {
        "running", "stuck", "succeeded", "reclaimable", "failed", "expired",
    }  # fmt: skip
    _, life = ask(served, "/api/life?key=orders.fulfil%23done")
    assert [one["kind"] for one in life["timeline"]] == ["claimed", "completed"]
    assert life["item"]["status"] == {"S": "succeeded"}
    _, absent = ask(served, "/api/life?key=orders.fulfil%23nothing")
    assert absent["state"] == "absent"


def test_the_access_patterns_show_what_went_over_the_wire(serve: Serve, table: str) -> None:
    served = serve(table=table)
    _, first = ask(served, "/api/claim", {"identity": "1"})
    assert first["exchanges"][0]["request"]["ConditionExpression"].startswith("attribute_not_exists")
    assert first["exchanges"][0]["error"] is None
    _, second = ask(served, "/api/claim", {"identity": "1"})
    (refused,) = second["exchanges"]
    token = first["exchanges"][0]["request"]["Item"]["claimToken"]
    assert refused["error"] == "ConditionalCheckFailedException"
    assert refused["response"]["Item"]["claimToken"] == token
    _, done = ask(served, "/api/record", {"identity": "1", "outcome": "complete"})
    assert done["exchanges"][0]["operation"] == "UpdateItem"
    _, read = ask(served, "/api/read?identity=1")
    assert read["exchanges"][0]["response"]["Item"]["status"] == {"S": "succeeded"}
    _, replay = ask(served, "/api/claim", {"identity": "1"})
    assert "Not run again" in replay["says"]
    _, life = ask(served, "/api/life?key=idem.console%231")
    assert "replayed" in [one["kind"] for one in life["timeline"]]


def test_a_late_worker_is_refused_after_its_key_was_released(serve: Serve, table: str) -> None:
    served = serve(table=table)
    ask(served, "/api/claim", {"identity": "1"})
    ask(served, "/api/record", {"identity": "1", "outcome": "release"})
    _, late = ask(served, "/api/record", {"identity": "1", "outcome": "complete"})
    assert "Refused" in late["says"]
    assert served.connection.dynamodb.scan(TableName=table)["Count"] == 0


def test_a_race_is_fair_and_leaves_nothing(serve: Serve, table: str) -> None:
    served = serve(table=table)
    status, race = ask(served, "/api/race", {"racers": 8})
    assert status == 200
    assert race["fair"]
    assert [racer["won"] for racer in race["racers"]].count(True) == 1
    assert served.connection.dynamodb.scan(TableName=table)["Count"] == 0


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("race", {"racers": 1}),
        ("race", {"racers": 10_000}),
        ("race", {"racers": "8"}),
        ("race", {}),
        ("race", []),
        ("claim", {"identity": ""}),
        ("claim", {"identity": "x" * 101}),
        ("claim", {"identity": 7}),
        ("record", {"identity": "never claimed", "outcome": "complete"}),
        ("deliver", {"sample": "../../README.md", "times": 1}),
        ("deliver", {"sample": "orders/order_1001.json", "times": 0}),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(serve: Serve, table: str, name: str, given: Any) -> None:
    status, said = ask(serve(table=table), f"/api/{name}", given)
    assert status == 400
    assert said["error"].endswith((".", "?"))


@pytest.mark.parametrize("path", ["/assets/../server.py", "/assets/%2e%2e/server.py", "/etc/passwd", "/api/nothing"])
def test_nothing_but_the_assets_is_served(serve: Serve, table: str, path: str) -> None:
    status, _ = ask(serve(table=table), path)
    assert status == 404


def test_a_table_that_is_not_there_is_named(serve: Serve) -> None:
    status, said = ask(serve(table="not-there"), "/api/records")
    assert status == 502
    assert "no table not-there" in said["error"]


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 60_000,
        b'{"identity":' * 5_000,
        b"{",
        b"",
        b"\xff",
        b'{"racers": ' + b"9" * 60_000 + b"}",
    ],
    ids=["deep list", "deep object", "half", "nothing", "no UTF-8", "huge number"],
)
def test_a_body_that_no_page_sends_is_refused_and_is_no_fault_of_the_console(
    serve: Serve, table: str, body: bytes
) -> None:
    served = serve(table=table)
    status, said = send(served, "/api/claim", body, served.token)
    assert status == 400
    assert said["error"].endswith(".")
    assert served.connection.dynamodb.scan(TableName=table)["Count"] == 0


def test_who_does_not_know_the_token_neither_reads_nor_writes(serve: Serve, table: str) -> None:
    served = serve(table=table)
    paths = ["/", "/?token=wrong", "/api/place", "/api/records", f"/api/records?token={served.token}"]
    for path in paths:
        assert send(served, path, None, "wrong")[0] == 403
    for name, given in WRITES:
        assert send(served, f"/api/{name}", json.dumps(given).encode(), "")[0] == 403
    assert served.connection.dynamodb.scan(TableName=table)["Count"] == 0
    assert ask(served, "/api/place")[0] == 200
