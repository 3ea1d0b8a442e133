"""The steps of docs/operations.md, taken on a local account: a new version, a restored table, the end."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from idem import Status
from idem.testing import sqs_event
from sandbox.account import LocalAccount
from sandbox.deploy import STACK, Outputs, deploy, destroy
from sandbox.observed import Observed, order_key, wait_for
from sandbox.outside_world import Producer, order
from sandbox.stack_checks import StackChecks
from sandbox.stack_connection import StackConnection
from tests.operators.conftest import cli_of

RESTORED = "records-restored"
WAIT_SECONDS = 60.0

pytestmark = pytest.mark.e2e


class Operator:
    """Who keeps the stack, with what a person does from a terminal."""

    def __init__(self, account: LocalAccount) -> None:
        self.account = account
        self.outputs: Outputs = deploy(account, report=lambda _line: None)
        self.functions: Any = account.client("lambda")
        self.tables: Any = account.client("dynamodb")

    @property
    def observed(self) -> Observed:
        return Observed(self.account, self.outputs)

    def send(self, order_id: str, **more: Any) -> None:
        Producer(self.account, self.outputs).send(order(order_id, **more))

    def wait_for_effect(self, order_id: str) -> None:
        def recorded() -> bool:
            record = self.observed.record(order_key(order_id))
            return record is not None and record.status is Status.SUCCEEDED

        wait_for(f"order {order_id}", recorded, seconds=WAIT_SECONDS)

    def effects(self) -> Counter[str]:
        return self.observed.effects()

    def deliver_again(self, *order_ids: str) -> Any:
        """The same messages once more, straight to the function; its answer."""
        event = sqs_event(*(order(one) for one in order_ids))
        answer = self.functions.invoke(
            FunctionName=self.outputs.orders_function_name, Payload=json.dumps(event).encode()
        )
        return json.loads(answer["Payload"].read())

    def let_queue_be_read(self, *, enabled: bool) -> None:
        found = self.functions.list_event_source_mappings(FunctionName=self.outputs.orders_function_name)
        for mapping in found["EventSourceMappings"]:
            self.functions.update_event_source_mapping(UUID=mapping["UUID"], Enabled=enabled)

    def give_settings_back(self, table: str) -> None:
        """What a restored table has lost."""
        ttl = {"AttributeName": "expiresAt", "Enabled": True}
        self.tables.update_time_to_live(TableName=table, TimeToLiveSpecification=ttl)
        recovery = {"PointInTimeRecoveryEnabled": True}
        self.tables.update_continuous_backups(TableName=table, PointInTimeRecoverySpecification=recovery)
        self.tables.update_table(TableName=table, DeletionProtectionEnabled=True)

    def let_webhooks_in(self, *, enabled: bool) -> None:
        name = self.outputs.payments_function_name
        if enabled:
            self.functions.delete_function_concurrency(FunctionName=name)
        else:
            self.functions.put_function_concurrency(FunctionName=name, ReservedConcurrentExecutions=0)

    def update(self, **context: str) -> None:
        """Deploy the next version."""
        self.outputs = deploy(self.account, context=context, report=lambda _line: None)


@pytest.fixture(scope="module")
def operator() -> Iterator[Operator]:
    with LocalAccount() as account:
        yield Operator(account)


def test_a_new_version_takes_over_what_an_old_invocation_left_in_flight(operator: Operator) -> None:
    operator.send("3001", sandbox={"die": "before-effect"})
    seen: Callable[[], bool] = lambda: operator.observed.record(order_key("3001")) is not None  # noqa: E731
    wait_for("the claim of order 3001", seen, seconds=WAIT_SECONDS)
    operator.update(payments="enqueue", front="http-api")
    operator.wait_for_effect("3001")
    assert operator.effects()["ORDER#3001"] == 1
    record = operator.observed.record(order_key("3001"))
    assert record is not None
    assert record.attempt == 2


def test_a_stack_that_was_changed_to_enqueue_behind_an_http_api_passes_the_same_check(
    operator: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in operator.account.environment().items():
        monkeypatch.setenv(name, value)
    connection = StackConnection(stack=STACK)
    assert {"CreditsQueueUrl", "CreditsDlqUrl", "CreditsFunctionName"} <= connection.outputs.keys()
    checked = list(StackChecks(connection).check())
    assert len(checked) == 6
    assert [(one.says, one.wrong) for one in checked if one.wrong] == []


def test_a_table_restored_from_a_backup_is_completed_from_the_ledger_before_anything_runs(
    operator: Operator,
) -> None:
    operator.send("3002")
    operator.wait_for_effect("3002")
    # The backup is of this moment: it knows order 3002, and not 3003.
    operator.tables.restore_table_to_point_in_time(
        SourceTableName=operator.outputs.idempotency_table_name,
        TargetTableName=RESTORED,
        UseLatestRestorableTime=True,
    )
    operator.send("3003")
    operator.wait_for_effect("3003")

    operator.let_queue_be_read(enabled=False)
    operator.let_webhooks_in(enabled=False)
    operator.give_settings_back(RESTORED)
    given = ("--from-table", operator.outputs.ledger_table_name, "--key-attribute", "idempotencyKey")
    restored = cli_of(operator.account, RESTORED)("restore", *given, "--yes", "--json")
    assert restored.status == 0, restored.err
    assert "orders.fulfil#3003" in restored.json["written"]
    assert "orders.fulfil#3002" not in restored.json["notDone"]
    operator.update(recordsTable=RESTORED)
    operator.let_queue_be_read(enabled=True)
    operator.let_webhooks_in(enabled=True)

    assert operator.outputs.idempotency_table_name == RESTORED
    assert operator.deliver_again("3002", "3003") == {"batchItemFailures": []}
    assert (operator.effects()["ORDER#3002"], operator.effects()["ORDER#3003"]) == (1, 1)


def test_the_end_leaves_the_restored_table_and_nothing_else(operator: Operator) -> None:
    destroy(operator.account)
    deadline = time.monotonic() + WAIT_SECONDS
    while operator.functions.list_functions()["Functions"] and time.monotonic() < deadline:
        time.sleep(0.2)
    assert operator.functions.list_functions()["Functions"] == []
    assert operator.account.client("sqs").list_queues().get("QueueUrls", []) == []
    assert operator.tables.list_tables()["TableNames"] == [RESTORED]
