"""`doctor`, `verify`, on a table in the local account."""

from __future__ import annotations

from dataclasses import replace

import pytest

from idem import Key
from idem.dynamo.schema import to_item
from tests.operators.conftest import Cli
from tests.operators.records_in_every_state import SUCCEEDED

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("every_state")]


def test_verify_is_right_here_and_leaves_nothing(cli: Cli) -> None:
    before = cli.client.scan(TableName=cli.table)["Count"]
    ran = cli("verify")
    assert ran.status == 0, ran.out
    assert "WRONG" not in ran.out
    assert cli.client.scan(TableName=cli.table)["Count"] == before


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
