"""What a function may do in the tables, and that it is what the store does."""

from __future__ import annotations

import ast

import aws_cdk as cdk
import pytest
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk.assertions import Template

from idem import keys
from idem.cdk import ExistingTable, IdempotencyTable, LimitError, RecordTable
from idem.cdk.table_grants import CLAIM_ACTIONS
from idem.dynamo.schema import PARTITION_KEY, primary_key
from idem.errors import ConfigurationError
from tests.cdk.apps import theirs
from tests.cdk.conftest import ROOT
from tests.cdk.reading import as_list, granted, resources


@pytest.fixture
def stack() -> cdk.Stack:
    return theirs()


def test_a_customer_key_encrypts_the_table_and_its_users_may_use_it(stack: cdk.Stack) -> None:
    table = IdempotencyTable(stack, "Memory", encryption_key=kms.Key(stack, "Key"))
    table.grant_claims(iam.User(stack, "User"))
    template = Template.from_stack(stack)
    template.has_resource_properties(
        "AWS::DynamoDB::Table", {"SSESpecification": {"SSEEnabled": True, "SSEType": "KMS"}}
    )
    key = next(iter(resources(template, "AWS::KMS::Key")))
    actions = [
        action
        for statement in granted(template, "User")
        if statement["Resource"] == {"Fn::GetAtt": [key, "Arn"]}
        for action in as_list(statement["Action"])
    ]
    assert "kms:Decrypt" in actions
    assert not [action for action in actions if "*" in action]


def tables(stack: cdk.Stack) -> list[RecordTable]:
    return [
        IdempotencyTable(stack, "Memory"),
        ExistingTable(stack, "Shared", table_name="team-table", sort_key=True),
    ]


@pytest.mark.parametrize("which", [0, 1])
def test_a_consumer_can_be_kept_to_the_records_of_its_own_operation(stack: cdk.Stack, which: int) -> None:
    tables(stack)[which].grant_claims(iam.User(stack, "User"), operations=["parcels.ship"])
    (statement,) = granted(Template.from_stack(stack), "User")
    assert statement["Condition"] == {
        "ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["IDEMPOTENCY#parcels.ship#*"]},
        "Null": {"dynamodb:LeadingKeys": "false"},
    }


def test_the_keys_of_an_operation_begin_as_its_permission_says(stack: cdk.Stack) -> None:
    IdempotencyTable(stack, "Memory").grant_claims(iam.User(stack, "User"), operations=["parcels.ship"])
    (statement,) = granted(Template.from_stack(stack), "User")
    (pattern,) = statement["Condition"]["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]
    for identity in ("1", "a#b", "*", "x" * 3000, "a\nb"):
        key = primary_key(keys.make_key("parcels.ship", [identity]))[PARTITION_KEY]["S"]
        assert key.startswith(pattern.removesuffix("*"))
    other = primary_key(keys.make_key("parcels.shipping", ["1"]))[PARTITION_KEY]["S"]
    assert not other.startswith(pattern.removesuffix("*"))


@pytest.mark.parametrize("operation", ["", "parcels*", "parcels.ship#1", "parcels?", "${aws:username}", "x" * 65])
def test_an_operation_that_would_widen_the_permission_is_refused_as_the_library_refuses_it(
    stack: cdk.Stack, operation: str
) -> None:
    with pytest.raises(ConfigurationError):
        keys.check_operation(operation)
    with pytest.raises(LimitError) as caught:
        IdempotencyTable(stack, "Memory").grant_claims(iam.User(stack, "User"), operations=[operation])
    assert caught.value.prop == "operations"


# What each call of the boto3 client needs. A transaction is made of puts, updates and deletes.
NEEDS = {
    "put_item": {"dynamodb:PutItem"},
    "update_item": {"dynamodb:UpdateItem"},
    "delete_item": {"dynamodb:DeleteItem"},
    "get_item": {"dynamodb:GetItem"},
    "batch_get_item": {"dynamodb:BatchGetItem"},
    "batch_execute_statement": {"dynamodb:PartiQLInsert", "dynamodb:PartiQLUpdate", "dynamodb:PartiQLDelete"},
    "transact_write_items": set[str](),
}


def test_a_claimer_may_do_what_the_store_calls_and_no_more() -> None:
    calls = {
        node.attr
        for name in ("store", "sender", "statements")
        for node in ast.walk(ast.parse((ROOT / f"idem/dynamo/{name}.py").read_text()))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute) and node.value.attr == "_client"
    }
    needed = set[str]().union(*(NEEDS[call] for call in calls))
    assert needed == set(CLAIM_ACTIONS)
