"""`make smoke` on the deployed stack: it says right where all is right, wrong where something is not, and leaves nothing."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from sandbox.deploy import STACK
from sandbox.isolation import ROOT
from sandbox.stack_checks import StackChecks, order
from tests.sandbox.conftest import Deployed

SMOKE_SECONDS = 120  # it takes about 10 s; a message that was held comes back after 18 s

pytestmark = pytest.mark.e2e


def smoke(deployed: Deployed, stack: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sandbox.smoke", stack],
        cwd=ROOT,
        env=deployed.account.environment(),
        capture_output=True,
        text=True,
        timeout=SMOKE_SECONDS,
        check=False,
    )


def rows(deployed: Deployed) -> list[dict[str, Any]]:
    """Everything in both tables."""
    client: Any = deployed.account.client("dynamodb")
    tables = (deployed.outputs.idempotency_table_name, deployed.outputs.ledger_table_name)
    return [item for table in tables for item in client.scan(TableName=table)["Items"]]


def test_a_stack_that_works_passes_and_nothing_is_left(deployed: Deployed) -> None:
    done = smoke(deployed, STACK)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Redeliveries do nothing, and nothing is lost." in done.stdout
    assert "WRONG" not in done.stdout
    assert [row for row in rows(deployed) if "smoke" in str(row["pk"])] == []


def test_a_stack_that_is_not_there_is_said_and_not_judged(deployed: Deployed) -> None:
    done = smoke(deployed, "Idem-nowhere")
    assert done.returncode == 2
    assert "Idem-nowhere could not be checked" in done.stdout
    assert "Traceback" not in done.stderr


def test_an_effect_too_many_is_found_and_removed_with_the_rest(
    deployed: Deployed, monkeypatch: pytest.MonkeyPatch
) -> None:
    check = StackChecks(deployed.connection(monkeypatch), wait_seconds=8.0, run="twice")
    deployed.account.client("dynamodb").put_item(
        TableName=deployed.outputs.ledger_table_name,
        Item={"pk": {"S": order("twice", 1).subject}, "sk": {"S": "EFFECT#from-nowhere"}},
    )
    checked = list(check.check())
    assert "has 2 effects in the ledger, not 1" in checked[0].wrong
    assert [one.wrong for one in checked[2:]] == [""] * 4
    assert [row for row in rows(deployed) if "twice" in str(row["pk"])] == []


def test_an_order_that_nobody_fulfils_is_found(deployed: Deployed, monkeypatch: pytest.MonkeyPatch) -> None:
    functions = deployed.account.client("lambda")
    found = functions.list_event_source_mappings(FunctionName=deployed.outputs.orders_function_name)
    mapping = found["EventSourceMappings"][0]["UUID"]
    check = StackChecks(deployed.connection(monkeypatch), wait_seconds=3.0, run="never")
    functions.update_event_source_mapping(UUID=mapping, Enabled=False)
    try:
        checking = check.check()
        assert "has 0 effects in the ledger, not 1" in next(checking).wrong
    finally:
        functions.update_event_source_mapping(UUID=mapping, Enabled=True)
        deployed.account.client("sqs").purge_queue(QueueUrl=deployed.outputs.orders_queue_url)
        checking.close()
