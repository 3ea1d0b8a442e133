"""The constructs in somebody else's app: what their props add."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from aws_cdk.assertions import Match, Template

from idem import keys
from idem.cdk import ExistingTable, Front, IdempotencyTable, LimitError, Rate, Throughput
from idem.cdk.tables import RecordTable
from idem.dynamo.schema import PARTITION_KEY, SORT_VALUE, primary_key
from idem.errors import ConfigurationError
from stacks.stage import Stage, StageError
from tests.stacks.apps import consumer, receiver, theirs
from tests.stacks.reading import as_list, resources, statements


@pytest.fixture
def stack() -> cdk.Stack:
    return theirs()


def granted(template: Template, owner: str) -> list[dict[str, Any]]:
    """The statements that allow something to the principal whose logical id begins with `owner`."""
    return [statement for name, statement in statements(template) if name.startswith(owner)]


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
        reserved_concurrency=9,
        queue_url_variable="PARCELS",
    )
    template = Template.from_stack(stack)
    template.has_resource_properties(
        "AWS::Lambda::Function",
        {
            "MemorySize": 1024,
            "Architectures": ["x86_64"],
            "Runtime": "python3.13",
            "ReservedConcurrentExecutions": 9,
            "Environment": {"Variables": {"COLOUR": "blue", "PARCELS": Match.any_value()}},
        },
    )
    template.has_resource_properties("AWS::Lambda::EventSourceMapping", {"ScalingConfig": {"MaximumConcurrency": 7}})


def test_two_consumers_can_share_a_dead_letter_queue(stack: cdk.Stack) -> None:
    shared = sqs.Queue(stack, "Shared")
    for name in ("Parcels", "Letters"):
        consumer(stack, name, dead_letter_queue=shared)
    template = Template.from_stack(stack)
    template.resource_count_is("AWS::SQS::Queue", 3)
    targets = [
        each["RedrivePolicy"]["deadLetterTargetArn"]["Fn::GetAtt"][0]
        for each in resources(template, "AWS::SQS::Queue").values()
        if "RedrivePolicy" in each
    ]
    assert len(targets) == 2
    assert len(set(targets)) == 1


def test_tracing_is_on_when_asked_for_and_its_permission_is_not_there_otherwise(stack: cdk.Stack) -> None:
    consumer(stack, "Traced", tracing=True)
    consumer(stack, "Untraced")
    template = Template.from_stack(stack)
    traced = [each for each in granted(template, "Traced") if "xray:PutTraceSegments" in as_list(each["Action"])]
    assert len(traced) == 1
    assert not [each for each in granted(template, "Untraced") if "xray" in str(each["Action"])]
    template.has_resource_properties("AWS::Lambda::Function", {"TracingConfig": {"Mode": "Active"}})


def test_an_http_api_posts_one_path_to_the_function_at_a_bounded_rate_and_logs_no_header(stack: cdk.Stack) -> None:
    made = receiver(stack, front=Front.HTTP_API, path="/hooks/stripe", rate=Rate(per_second=5, burst=6))
    template = Template.from_stack(stack)
    template.has_resource_properties("AWS::ApiGatewayV2::Route", {"RouteKey": "POST /hooks/stripe"})
    template.has_resource_properties("AWS::ApiGatewayV2::Integration", {"PayloadFormatVersion": "2.0"})
    stage = next(iter(resources(template, "AWS::ApiGatewayV2::Stage").values()))
    assert stage["DefaultRouteSettings"] == {"ThrottlingBurstLimit": 6, "ThrottlingRateLimit": 5}
    assert "header" not in stage["AccessLogSettings"]["Format"].lower()
    assert made.url.endswith("/hooks/stripe")
    assert not template.find_resources("AWS::Lambda::Url")


def test_a_receiver_that_enqueues_may_send_to_its_queue_and_knows_its_url(stack: cdk.Stack) -> None:
    inbox = sqs.Queue(stack, "Inbox")
    receiver(stack, enqueue_to=inbox, queue_url_variable="INBOX")
    template = Template.from_stack(stack)
    queue = next(iter(resources(template, "AWS::SQS::Queue")))
    sending = [each for each in granted(template, "Refunds") if "sqs:" in str(each["Action"])]
    assert [(each["Action"], each["Resource"]) for each in sending] == [
        ("sqs:SendMessage", {"Fn::GetAtt": [queue, "Arn"]})
    ]
    template.has_resource_properties("AWS::Lambda::Function", {"Environment": {"Variables": {"INBOX": {"Ref": queue}}}})


def test_what_holds_data_is_kept_unless_the_owner_says_otherwise(stack: cdk.Stack) -> None:
    IdempotencyTable(stack, "Memory")
    consumer(stack)
    receiver(stack, front=Front.HTTP_API)
    template = Template.from_stack(stack)
    for kind in ("AWS::DynamoDB::Table", "AWS::SQS::Queue", "AWS::SecretsManager::Secret", "AWS::Logs::LogGroup"):
        template.all_resources(kind, {"DeletionPolicy": "Retain"})
    template.all_resources_properties("AWS::DynamoDB::Table", {"DeletionProtectionEnabled": True})


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


@pytest.mark.parametrize("name", ["sandbox", "sandbox-2", "dev", "dev-ada", "prod", "prod-eu1"])
def test_a_stage_name_says_what_may_get_lost_and_who_gets_the_faults(name: str) -> None:
    stage = Stage.named(name)
    assert stage.name == name
    assert stage.keeps_data is name.startswith("prod")
    assert stage.with_faults is name.startswith("sandbox")
    assert stage.with_console is not name.startswith("sandbox")


@pytest.mark.parametrize("name", ["", "production", "Prod", "prod-", "dev ada", "prod\n", "prod-" + "x" * 21])
def test_an_unknown_stage_is_refused_by_name(name: str) -> None:
    with pytest.raises(StageError, match="use sandbox, dev or prod"):
        Stage.named(name)
