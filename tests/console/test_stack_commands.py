"""The command line on the deployed stack, in which it finds the table and the functions by itself."""

from __future__ import annotations

import pytest

from sandbox.account import LocalAccount
from sandbox.deploy import STACK
from tests.operators.conftest import Cli, cli_of

pytestmark = pytest.mark.e2e


@pytest.fixture
def idem(deployed: LocalAccount) -> Cli:
    """The command line, told the stack and nothing else."""
    return cli_of(deployed, table="")


def test_doctor_finds_no_fault_in_the_stack(idem: Cli) -> None:
    ran = idem("doctor", "--stack", STACK)
    assert ran.status == 0, ran.out
    for looked_at in (
        "OrdersWorkerFunction: mapping",
        "OrdersWorkerFunction: queue",
        "PaymentsWorkerFunction: function",
        "ReportBatchItemFailures",
    ):
        assert looked_at in ran.out


def test_doctor_finds_a_mapping_without_partial_answers_and_a_short_visibility(idem: Cli) -> None:
    outputs = _outputs(idem)
    functions, sqs = idem.aws("lambda"), idem.aws("sqs")
    name, url = outputs["OrdersFunctionName"], outputs["OrdersQueueUrl"]
    (mapping,) = functions.list_event_source_mappings(FunctionName=name)["EventSourceMappings"]
    visibility = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["VisibilityTimeout"])["Attributes"]
    functions.update_event_source_mapping(UUID=mapping["UUID"], FunctionResponseTypes=[])
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"VisibilityTimeout": "5"})
    try:
        faults = [one for one in idem("doctor", "--stack", STACK, "--json").json if one["grade"] == "fault"]
    finally:
        functions.update_event_source_mapping(UUID=mapping["UUID"], FunctionResponseTypes=["ReportBatchItemFailures"])
        sqs.set_queue_attributes(QueueUrl=url, Attributes=visibility)
    assert [one["about"] for one in faults] == ["OrdersWorkerFunction: mapping", "OrdersWorkerFunction: queue"]


def test_the_stacks_table_of_records_is_found_and_keeps_what_verify_promises(idem: Cli) -> None:
    ran = idem("verify", "--stack", STACK)
    assert ran.status == 0, ran.out + ran.err
    assert f"All 6 are right on {_outputs(idem)['IdempotencyTableName']}" in ran.out


def test_a_webhook_is_signed_with_the_secret_that_secrets_manager_holds(idem: Cli) -> None:
    outputs = _outputs(idem)
    where = ("--url", outputs["PaymentsUrl"], "--secret-id", outputs["PaymentsSecretArn"])
    changes = ("--set", "id=evt_cli", "--set", "data.object.id=cs_cli")
    sent = idem("send", "events/payments/checkout_completed.json", *where, *changes, "--json").json
    assert [one["status"] for one in sent] == [200]


def test_a_queue_is_found_by_its_name(idem: Cli) -> None:
    name = _outputs(idem)["OrdersQueueUrl"].rpartition("/")[2]
    ran = idem("send", "events/orders/order_1001.json", "--queue", name)
    assert ran.status == 0, ran.err
    assert "queued as message" in ran.out


def _outputs(idem: Cli) -> dict[str, str]:
    (stack,) = idem.aws("cloudformation").describe_stacks(StackName=STACK)["Stacks"]
    return {one["OutputKey"]: one["OutputValue"] for one in stack["Outputs"]}
