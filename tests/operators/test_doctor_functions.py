"""What the doctor says of functions, their mappings and their queues. On the deployed stack: tests/console/test_stack_commands."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from idem.operators.connection import Connection
from idem.operators.doctor import Grade
from idem.operators.doctor_functions import choose, function_findings
from idem.operators.stack_resources import FUNCTION, Resource

TIMEOUT_S = 30


def make_function(connection: Connection, name: str, variables: dict[str, str]) -> None:
    iam = connection.client("iam")
    trust = {"Version": "2012-10-17", "Statement": []}
    role = iam.create_role(RoleName=f"role-{name}", AssumeRolePolicyDocument=json.dumps(trust))["Role"]["Arn"]
    code = io.BytesIO()
    with zipfile.ZipFile(code, "w") as archive:
        archive.writestr("app.py", "")
    connection.client("lambda").create_function(
        FunctionName=name,
        Runtime="python3.12",
        Role=role,
        Handler="app.handler",
        Code={"ZipFile": code.getvalue()},
        Timeout=TIMEOUT_S,
        Environment={"Variables": variables},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Wiring:
    """How a queue and its mapping are set up; the defaults are as they must be."""

    visibility: int = 6 * TIMEOUT_S
    receives: int | None = 5
    responses: tuple[str, ...] = ("ReportBatchItemFailures",)


def make_queue(connection: Connection, function: str, wiring: Wiring) -> None:
    sqs: Any = connection.client("sqs")

    def queue(name: str, attributes: dict[str, str]) -> str:
        url = sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
        found = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
        return str(found["Attributes"]["QueueArn"])

    attributes = {"VisibilityTimeout": str(wiring.visibility)}
    if wiring.receives is not None:
        redrive = {"deadLetterTargetArn": queue("dead", {}), "maxReceiveCount": wiring.receives}
        attributes["RedrivePolicy"] = json.dumps(redrive)
    connection.client("lambda").create_event_source_mapping(
        FunctionName=function, EventSourceArn=queue("work", attributes), FunctionResponseTypes=list(wiring.responses)
    )


class Simulator:
    """IAM's simulator, which moto lacks: it allows everything but what is named."""

    def __init__(self, denied: Sequence[str]) -> None:
        self._denied = denied

    def simulate_principal_policy(self, *, ActionNames: Sequence[str], **_: Any) -> Any:  # noqa: N803 - boto3's name
        said = {True: "implicitDeny", False: "allowed"}
        return {
            "EvaluationResults": [
                {"EvalActionName": name, "EvalDecision": said[name in self._denied]} for name in ActionNames
            ]
        }


@dataclass(frozen=True)
class Simulated(Connection):
    """A connection with such a simulator."""

    denied: tuple[str, ...] = ()

    def client(self, service: str) -> Any:
        return Simulator(self.denied) if service == "iam" else super().client(service)


def findings(connection: Connection, *denied: str) -> list[tuple[str, Grade]]:
    simulated = Simulated(table_name=connection.table, region=connection.region, denied=denied)
    return [(one.about, one.grade) for one in function_findings(simulated, "orders", "orders")]


def test_a_function_that_is_wired_as_it_must_be_is_ok(connection: Connection) -> None:
    make_function(connection, "orders", {})
    make_queue(connection, "orders", Wiring())
    found = findings(connection)
    looked_at = ["function", "mapping", "queue", "queue", "permissions", "permissions"]
    assert found == [(f"orders: {about}", Grade.OK) for about in looked_at]


@pytest.mark.parametrize(
    ("wiring", "about", "grade"),
    [
        (Wiring(visibility=6 * TIMEOUT_S - 1), "orders: queue", Grade.FAULT),
        (Wiring(receives=None), "orders: queue", Grade.FAULT),
        (Wiring(receives=2), "orders: queue", Grade.WARNING),
        (Wiring(responses=()), "orders: mapping", Grade.FAULT),
    ],
)
def test_what_makes_messages_come_again_or_vanish_is_found(
    connection: Connection, wiring: Wiring, about: str, grade: Grade
) -> None:
    make_function(connection, "orders", {})
    make_queue(connection, "orders", wiring)
    assert [one for one in findings(connection) if one[1] is not Grade.OK] == [(about, grade)]


@pytest.mark.parametrize("action", ["dynamodb:PartiQLUpdate", "sqs:ChangeMessageVisibility"])
def test_an_action_that_the_role_lacks_is_named(connection: Connection, action: str) -> None:
    make_function(connection, "orders", {})
    make_queue(connection, "orders", Wiring())
    simulated = Simulated(table_name=connection.table, region=connection.region, denied=(action,))
    (missing,) = [one for one in function_findings(simulated, "orders", "orders") if one.grade is Grade.FAULT]
    assert action in missing.says


def test_a_function_that_is_not_there_is_unknown(connection: Connection) -> None:
    (finding,) = function_findings(connection, "orders", "orders")
    assert finding.grade is Grade.UNKNOWN
    assert "orders" in finding.says


def test_of_a_stacks_functions_those_that_know_the_table_are_looked_at(connection: Connection) -> None:
    make_function(connection, "stack-orders", {"IDEMPOTENCY_TABLE": connection.table})
    make_function(connection, "stack-helper", {"BUCKET": "b"})
    of_stack = replace(connection)
    vars(of_stack)["resources"] = [
        Resource(kind=FUNCTION, logical_id="Orders1A2B3C4D", name="stack-orders"),
        Resource(kind=FUNCTION, logical_id="Helper1A2B3C4D", name="stack-helper"),
    ]
    chosen = choose(of_stack, [])
    assert chosen.looked_at == {"Orders": "stack-orders"}
    assert chosen.left_out == ["Helper"]
    assert choose(of_stack, ["mine"]).looked_at == {"mine": "mine", "Orders": "stack-orders"}
    assert choose(of_stack, ["stack-orders"]).looked_at == {"stack-orders": "stack-orders"}
    assert choose(of_stack, ["stack-helper"]).left_out == []
