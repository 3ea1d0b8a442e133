"""The constructs in somebody else's app: what they refuse, and what their props add."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk.assertions import Match, Template

from stacks import IdempotencyTable, LimitError, QueueConsumer, Stage, StageError, WebhookReceiver
from tests.stacks.reading import as_list, resources, statements


@pytest.fixture
def stack() -> cdk.Stack:
    return cdk.Stack(cdk.App(), "Theirs")


def consumer(stack: cdk.Stack, **props: object) -> QueueConsumer:
    required: dict[str, Any] = {
        "code": lambda_.Code.from_inline("handler = print"),
        "handler": "index.handler",
        "timeout_seconds": 30,
        "environment": {"COLOUR": "blue"},
    }
    return QueueConsumer(stack, "Parcels", **(required | props))


def receiver(stack: cdk.Stack, **props: object) -> WebhookReceiver:
    required: dict[str, Any] = {
        "code": lambda_.Code.from_inline("handler = print"),
        "handler": "index.handler",
        "timeout_seconds": 10,
        "environment": {"COLOUR": "blue"},
    }
    return WebhookReceiver(stack, "Refunds", **(required | props))


@pytest.mark.parametrize(
    ("build", "props", "refused"),
    [
        (consumer, {"timeout_seconds": 0}, "timeout_seconds"),
        (consumer, {"timeout_seconds": 7201}, "timeout_seconds"),
        (consumer, {"timeout_seconds": 7200, "batch_window_seconds": 1}, "timeout_seconds"),
        (consumer, {"batch_window_seconds": -1}, "batch_window_seconds"),
        (consumer, {"batch_window_seconds": 301}, "batch_window_seconds"),
        (consumer, {"batch_size": 0}, "batch_size"),
        (consumer, {"batch_size": 11}, "batch_size"),
        (consumer, {"batch_size": 10_001, "batch_window_seconds": 1}, "batch_size"),
        (consumer, {"receives_max": 4}, "receives_max"),
        (consumer, {"receives_max": 1001}, "receives_max"),
        (consumer, {"concurrency_max": 1}, "concurrency_max"),
        (consumer, {"concurrency_max": 1001}, "concurrency_max"),
        (consumer, {"fifo": True, "batch_size": 11, "batch_window_seconds": 1}, "batch_size"),
        (consumer, {"fifo": True, "batch_window_seconds": 1}, "batch_window_seconds"),
        (receiver, {"timeout_seconds": 0}, "timeout_seconds"),
        (receiver, {"timeout_seconds": 31}, "timeout_seconds"),
    ],
)
def test_props_that_cannot_work_are_refused_by_name(
    stack: cdk.Stack, build: Callable[..., object], props: dict[str, Any], refused: str
) -> None:
    with pytest.raises(LimitError) as caught:
        build(stack, **props)
    assert caught.value.prop == refused
    assert caught.value.args[0].startswith(f"Theirs/{'Parcels' if build is consumer else 'Refunds'}")


@pytest.mark.parametrize(
    "props",
    [
        {"timeout_seconds": 7200},
        {"timeout_seconds": 1, "batch_size": 10_000, "batch_window_seconds": 300},
        {"receives_max": 1000, "concurrency_max": 2},
        {"fifo": True, "batch_size": 10},
    ],
)
def test_props_at_their_limits_are_accepted(stack: cdk.Stack, props: dict[str, Any]) -> None:
    consumer(stack, **props)


def test_a_fifo_consumer_has_two_fifo_queues_and_no_batch_window(stack: cdk.Stack) -> None:
    consumer(stack, fifo=True)
    template = Template.from_stack(stack)
    template.all_resources_properties("AWS::SQS::Queue", {"FifoQueue": True})
    template.has_resource_properties(
        "AWS::Lambda::EventSourceMapping", {"MaximumBatchingWindowInSeconds": Match.absent()}
    )


def test_what_the_owner_says_of_the_function_is_kept(stack: cdk.Stack) -> None:
    consumer(
        stack,
        memory_mb=1024,
        architecture=lambda_.Architecture.X86_64,
        runtime=lambda_.Runtime.PYTHON_3_13,
        concurrency_max=7,
        queue_url_variable="PARCELS",
    )
    template = Template.from_stack(stack)
    template.has_resource_properties(
        "AWS::Lambda::Function",
        {
            "MemorySize": 1024,
            "Architectures": ["x86_64"],
            "Runtime": "python3.13",
            "Environment": {"Variables": {"COLOUR": "blue", "PARCELS": Match.any_value()}},
        },
    )
    template.has_resource_properties("AWS::Lambda::EventSourceMapping", {"ScalingConfig": {"MaximumConcurrency": 7}})


def test_what_holds_data_is_kept_unless_the_owner_says_otherwise(stack: cdk.Stack) -> None:
    IdempotencyTable(stack, "Memory")
    consumer(stack)
    receiver(stack)
    template = Template.from_stack(stack)
    for kind in ("AWS::DynamoDB::Table", "AWS::SQS::Queue", "AWS::SecretsManager::Secret", "AWS::Logs::LogGroup"):
        template.all_resources(kind, {"DeletionPolicy": "Retain"})
    template.all_resources_properties("AWS::DynamoDB::Table", {"DeletionProtectionEnabled": True})


def test_a_customer_key_encrypts_the_table_and_its_users_may_use_it(stack: cdk.Stack) -> None:
    table = IdempotencyTable(stack, "Memory", encryption_key=kms.Key(stack, "Key"))
    user = iam.User(stack, "User")
    table.grant_claims(user)
    template = Template.from_stack(stack)
    template.has_resource_properties(
        "AWS::DynamoDB::Table", {"SSESpecification": {"SSEEnabled": True, "SSEType": "KMS"}}
    )
    key = next(iter(resources(template, "AWS::KMS::Key")))
    granted = [
        action
        for owner, statement in statements(template)
        if owner.startswith("User") and statement["Resource"] == {"Fn::GetAtt": [key, "Arn"]}
        for action in as_list(statement["Action"])
    ]
    assert "kms:Decrypt" in granted
    assert not [action for action in granted if "*" in action]


def test_a_table_for_a_store_with_a_sort_value_has_the_sort_key(stack: cdk.Stack) -> None:
    IdempotencyTable(stack, "Memory", sort_key=True)
    Template.from_stack(stack).has_resource_properties(
        "AWS::DynamoDB::Table",
        {
            "KeySchema": [
                {"AttributeName": "pk", "KeyType": "HASH"},
                {"AttributeName": "sk", "KeyType": "RANGE"},
            ]
        },
    )


@pytest.mark.parametrize("name", ["sandbox", "sandbox-2", "dev", "dev-ada", "prod", "prod-eu1"])
def test_a_stage_name_says_what_may_get_lost_and_who_gets_the_faults(name: str) -> None:
    stage = Stage.named(name)
    assert stage.name == name
    assert stage.keeps_data is name.startswith("prod")
    assert stage.with_faults is name.startswith("sandbox")


@pytest.mark.parametrize("name", ["", "production", "Prod", "prod-", "dev ada", "prod\n", "prod-" + "x" * 21])
def test_an_unknown_stage_is_refused_by_name(name: str) -> None:
    with pytest.raises(StageError, match="use sandbox, dev or prod"):
        Stage.named(name)
