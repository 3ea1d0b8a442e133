"""The table of records, made or already there, in somebody else's stack."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_iam as iam
from aws_cdk.assertions import Template

from idem.cdk import ExistingTable, Front, IdempotencyTable, LimitError, Throughput
from idem.dynamo.schema import SORT_VALUE
from tests.cdk.apps import consumer, receiver, theirs
from tests.cdk.reading import granted


@pytest.fixture
def stack() -> cdk.Stack:
    return theirs()


def table(stack: cdk.Stack, **props: Any) -> IdempotencyTable:
    return IdempotencyTable(stack, "Memory", **props)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"warm_throughput": Throughput(11_999, 4_000)}, "warm_throughput"),
    ({"warm_throughput": Throughput(12_000, 3_999)}, "warm_throughput"),
    ({"maximum_throughput": Throughput(0, 1)}, "maximum_throughput"),
    (
        {"warm_throughput": Throughput(20_000, 8_000), "maximum_throughput": Throughput(20_000, 7_999)},
        "warm_throughput",
    ),
]


@pytest.mark.parametrize(("props", "refused"), REFUSED)
def test_props_that_cannot_work_are_refused_by_name(props: dict[str, Any], refused: str) -> None:
    with pytest.raises(LimitError) as caught:
        table(theirs(), **props)
    assert caught.value.prop == refused
    assert str(caught.value).startswith("Theirs/")


ACCEPTED: list[dict[str, Any]] = [
    {"warm_throughput": Throughput(12_000, 4_000), "maximum_throughput": Throughput(12_000, 4_000)},
]


@pytest.mark.parametrize("props", ACCEPTED)
def test_props_at_their_limits_are_accepted(props: dict[str, Any]) -> None:
    table(theirs(), **props)


def test_what_holds_data_is_kept_unless_the_owner_says_otherwise(stack: cdk.Stack) -> None:
    IdempotencyTable(stack, "Memory")
    consumer(stack)
    receiver(stack, front=Front.HTTP_API)
    template = Template.from_stack(stack)
    for kind in ("AWS::DynamoDB::Table", "AWS::SQS::Queue", "AWS::SecretsManager::Secret", "AWS::Logs::LogGroup"):
        template.all_resources(kind, {"DeletionPolicy": "Retain"})
    template.all_resources_properties("AWS::DynamoDB::Table", {"DeletionProtectionEnabled": True})


def test_a_table_can_be_readied_for_a_peak_and_bounded_in_cost(stack: cdk.Stack) -> None:
    warm, most = Throughput(20_000, 10_000), Throughput(40_000, 20_000)
    IdempotencyTable(stack, "Memory", warm_throughput=warm, maximum_throughput=most)
    Template.from_stack(stack).has_resource_properties(
        "AWS::DynamoDB::Table",
        {
            "BillingMode": "PAY_PER_REQUEST",
            "WarmThroughput": {"ReadUnitsPerSecond": 20_000, "WriteUnitsPerSecond": 10_000},
            "OnDemandThroughput": {"MaxReadRequestUnits": 40_000, "MaxWriteRequestUnits": 20_000},
        },
    )


def test_a_table_for_a_store_with_a_sort_value_has_the_sort_key(stack: cdk.Stack) -> None:
    table = IdempotencyTable(stack, "Memory", sort_key=True)
    Template.from_stack(stack).has_resource_properties(
        "AWS::DynamoDB::Table",
        {
            "KeySchema": [
                {"AttributeName": "pk", "KeyType": "HASH"},
                {"AttributeName": "sk", "KeyType": "RANGE"},
            ]
        },
    )
    assert table.variables()["IDEMPOTENCY_SORT_VALUE"] == SORT_VALUE


def test_a_table_that_is_there_already_is_used_by_name_and_not_made(stack: cdk.Stack) -> None:
    table = ExistingTable(stack, "Memory", table_name="team-table", sort_key=True)
    table.grant_claims(iam.User(stack, "User"))
    template = Template.from_stack(stack)
    template.resource_count_is("AWS::DynamoDB::Table", 0)
    (statement,) = granted(template, "User")
    assert str(statement["Resource"]).endswith(":dynamodb:eu-central-1:111111111111:table/team-table']]}")
    assert table.variables() == {"IDEMPOTENCY_TABLE": "team-table", "IDEMPOTENCY_SORT_VALUE": SORT_VALUE}
