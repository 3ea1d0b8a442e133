"""A stack's table and functions are found by what they are, whatever the stack calls them."""

from __future__ import annotations

from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from idem.operators.connection import Connection
from idem.operators.operator_errors import Exit, OperatorError
from idem.operators.stack_resources import FUNCTION, Resource, functions_of, records_table, resources_of

STACK = "Shop-dev"
QUEUE = Resource(kind="AWS::SQS::Queue", logical_id="Queue", name="q")


def table(connection: Connection, name: str, *key: str) -> Resource:
    """A table of a stack that is there."""
    connection.dynamodb.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": one, "AttributeType": "S"} for one in key],
        KeySchema=[{"AttributeName": one, "KeyType": kind} for one, kind in zip(key, ("HASH", "RANGE"), strict=False)],
    )
    return Resource(kind="AWS::DynamoDB::Table", logical_id=name.title(), name=name)


def found(connection: Connection, *resources: Resource, sort_value: str | None = None) -> str:
    return records_table(connection.dynamodb, STACK, resources, sort_value)


def test_the_only_table_of_a_stack_is_the_one(connection: Connection) -> None:
    assert found(connection, QUEUE, table(connection, "anything", "id")) == "anything"


def test_of_several_tables_the_one_with_a_records_key_is_the_one(connection: Connection) -> None:
    tables = [table(connection, "ledger", "pk", "sk"), table(connection, "memory", "pk"), table(connection, "c", "id")]
    assert found(connection, *tables) == "memory"


def test_with_a_sort_value_it_is_the_one_with_a_sort_key(connection: Connection) -> None:
    tables = [table(connection, "shared", "pk", "sk"), table(connection, "other", "pk")]
    assert found(connection, *tables, sort_value="MEMORY") == "shared"


def test_where_several_fit_they_are_named(connection: Connection) -> None:
    tables = [table(connection, "one", "pk"), table(connection, "two", "pk"), table(connection, "three", "id")]
    with pytest.raises(OperatorError, match="2 tables with the key pk") as refused:
        found(connection, *tables)
    assert refused.value.remedy == "Pass --table with one of one, two."
    assert refused.value.status is Exit.USAGE


def test_where_none_fits_all_are_named(connection: Connection) -> None:
    tables = [table(connection, "one", "id"), table(connection, "two", "id", "at")]
    with pytest.raises(OperatorError, match=r"no table with the key pk.*one, two"):
        found(connection, *tables)


def test_a_stack_without_a_table_asks_for_its_name(connection: Connection) -> None:
    with pytest.raises(OperatorError, match="--table"):
        found(connection, QUEUE)


def test_every_page_of_a_stack_is_read_and_what_is_not_made_yet_is_left_out() -> None:
    client = boto3.client(
        "cloudformation", region_name="us-east-1", aws_access_key_id="testing", aws_secret_access_key="testing"
    )

    def summary(logical_id: str, name: str | None) -> dict[str, Any]:
        made = {"PhysicalResourceId": name} if name else {}
        return {
            "ResourceType": FUNCTION,
            "LogicalResourceId": logical_id,
            "LastUpdatedTimestamp": "2026-01-01T00:00:00Z",
            "ResourceStatus": "CREATE_COMPLETE" if name else "CREATE_IN_PROGRESS",
            **made,
        }

    pages: list[dict[str, Any]] = [
        {"StackResourceSummaries": [summary("First", "f-1"), summary("Unmade", None)], "NextToken": "more"},
        {"StackResourceSummaries": [summary("Second", "f-2")]},
    ]
    with Stubber(client) as engine:
        engine.add_response("list_stack_resources", pages[0], {"StackName": STACK})
        engine.add_response("list_stack_resources", pages[1], {"StackName": STACK, "NextToken": "more"})
        assert [one.name for one in resources_of(client, STACK)] == ["f-1", "f-2"]


def test_a_function_is_shown_without_the_hash_of_the_cdk() -> None:
    def function(logical_id: str) -> Resource:
        return Resource(kind=FUNCTION, logical_id=logical_id, name=f"stack-{logical_id}-x")

    queue = Resource(kind="AWS::SQS::Queue", logical_id="Orders1A2B3C4D", name="q")
    found = functions_of([queue, function("OrdersFunction1A2B3C4D"), function("Plain")])
    assert found == {"OrdersFunction": "stack-OrdersFunction1A2B3C4D-x", "Plain": "stack-Plain-x"}
    alike = functions_of([function("Work1A2B3C4D"), function("Work5E6F7A8B")])
    assert alike.keys() == {"Work1A2B3C4D", "Work5E6F7A8B"}
