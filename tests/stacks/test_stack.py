from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from aws_cdk.assertions import Match, Template

from idem.cdk.queue_limits import visibility_seconds
from idem.dynamo.schema import PARTITION_KEY, TTL_ATTRIBUTE
from tests.cdk.reading import Json, environment, function, resources
from tests.stacks.conftest import ROOT, STAGES

OUTPUTS = {
    "IdempotencyTableName",
    "LedgerTableName",
    "OrdersDlqUrl",
    "OrdersFunctionName",
    "OrdersQueueUrl",
    "PaymentsFunctionName",
    "PaymentsSecretArn",
    "PaymentsUrl",
}


def test_records_expire_by_the_attribute_the_schema_writes(template: Template) -> None:
    template.has_resource_properties(
        "AWS::DynamoDB::Table",
        {
            "KeySchema": [{"AttributeName": PARTITION_KEY, "KeyType": "HASH"}],
            "TimeToLiveSpecification": {"AttributeName": TTL_ATTRIBUTE, "Enabled": True},
        },
    )


def test_ledger_rows_never_expire(template: Template) -> None:
    template.has_resource_properties(
        "AWS::DynamoDB::Table",
        {
            "KeySchema": [
                {"AttributeName": "pk", "KeyType": "HASH"},
                {"AttributeName": "sk", "KeyType": "RANGE"},
            ],
            "TimeToLiveSpecification": Match.absent(),
        },
    )


def test_both_tables_are_on_demand_and_can_be_restored(template: Template) -> None:
    template.all_resources_properties(
        "AWS::DynamoDB::Table",
        {
            "BillingMode": "PAY_PER_REQUEST",
            "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True},
        },
    )
    template.resource_count_is("AWS::DynamoDB::Table", 2)


KEEPERS = ("AWS::DynamoDB::Table", "AWS::SQS::Queue", "AWS::SecretsManager::Secret", "AWS::Logs::LogGroup")


@pytest.mark.parametrize(("stage", "policy"), [("prod", "Retain"), ("dev", "Delete"), ("sandbox", "Delete")])
@pytest.mark.parametrize("kind", KEEPERS)
def test_only_production_keeps_what_holds_data(
    templates: Mapping[str, Template], stage: str, policy: str, kind: str
) -> None:
    templates[stage].all_resources(kind, {"DeletionPolicy": policy, "UpdateReplacePolicy": policy})


@pytest.mark.parametrize("stage", STAGES)
def test_only_production_refuses_to_delete_a_table(templates: Mapping[str, Template], stage: str) -> None:
    expected = {"DeletionProtectionEnabled": stage == "prod"}
    templates[stage].all_resources_properties("AWS::DynamoDB::Table", expected)


def test_only_production_refuses_to_delete_the_stack(assembly: Path) -> None:
    artifacts = json.loads((assembly / "manifest.json").read_text())["artifacts"]
    protected = {name for name, each in artifacts.items() if each.get("properties", {}).get("terminationProtection")}
    assert protected == {"Idem-prod"}


def test_lambda_reads_which_messages_failed(template: Template) -> None:
    template.all_resources_properties(
        "AWS::Lambda::EventSourceMapping", {"FunctionResponseTypes": ["ReportBatchItemFailures"]}
    )
    template.resource_count_is("AWS::Lambda::EventSourceMapping", 1)


def source_queue(template: Template) -> Json:
    queues = [each for each in resources(template, "AWS::SQS::Queue").values() if "RedrivePolicy" in each]
    assert len(queues) == 1
    return queues[0]


def test_visibility_leaves_room_for_six_time_outs_and_the_batch_window(template: Template) -> None:
    mapping = next(iter(resources(template, "AWS::Lambda::EventSourceMapping").values()))
    expected = visibility_seconds(
        timeout_seconds=function(template, "orders")["Timeout"],
        batch_window_seconds=mapping.get("MaximumBatchingWindowInSeconds", 0),
    )
    assert source_queue(template)["VisibilityTimeout"] == expected


def test_a_crash_in_the_sandbox_is_redelivered_after_18_seconds(templates: Mapping[str, Template]) -> None:
    assert source_queue(templates["sandbox"])["VisibilityTimeout"] == 18


def test_a_message_is_given_up_after_five_receives_or_more(template: Template) -> None:
    assert source_queue(template)["RedrivePolicy"]["maxReceiveCount"] >= 5


def test_messages_are_encrypted_and_kept_for_14_days_in_both_queues(template: Template) -> None:
    template.all_resources_properties(
        "AWS::SQS::Queue", {"SqsManagedSseEnabled": True, "MessageRetentionPeriod": 14 * 24 * 3600}
    )
    template.resource_count_is("AWS::SQS::Queue", 2)


def test_every_queue_refuses_requests_without_tls(template: Template) -> None:
    refusing = [
        each["Queues"]
        for each in resources(template, "AWS::SQS::QueuePolicy").values()
        for statement in each["PolicyDocument"]["Statement"]
        if statement["Effect"] == "Deny" and statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    ]
    assert sorted(queue["Ref"] for queues in refusing for queue in queues) == sorted(
        template.find_resources("AWS::SQS::Queue")
    )


def test_functions_run_the_same_runtime_on_arm64_and_log_to_a_group_that_forgets(template: Template) -> None:
    template.all_resources_properties(
        "AWS::Lambda::Function",
        {
            "Runtime": "python3.14",
            "Architectures": ["arm64"],
            "LoggingConfig": {"LogGroup": {"Ref": Match.any_value()}},
        },
    )
    template.all_resources_properties("AWS::Logs::LogGroup", {"RetentionInDays": Match.any_value()})


def test_the_webhook_url_is_public_and_reachable(template: Template) -> None:
    template.has_resource_properties("AWS::Lambda::Url", {"AuthType": "NONE"})
    template.has_resource_properties(
        "AWS::Lambda::Permission",
        {"Action": "lambda:InvokeFunctionUrl", "FunctionUrlAuthType": "NONE", "Principal": "*"},
    )


def test_nobody_may_invoke_a_function_directly_without_credentials(template: Template) -> None:
    permissions = resources(template, "AWS::Lambda::Permission").values()
    assert {permission["Action"] for permission in permissions} == {"lambda:InvokeFunctionUrl", "lambda:InvokeFunction"}
    for permission in permissions:
        assert permission["Action"] == "lambda:InvokeFunctionUrl" or permission["InvokedViaFunctionUrl"] is True


def test_a_fresh_deployment_has_a_secret_of_its_own(template: Template) -> None:
    template.has_resource_properties(
        "AWS::SecretsManager::Secret",
        {"GenerateSecretString": {"PasswordLength": 48, "ExcludePunctuation": True}},
    )


def test_an_alarm_watches_the_dead_letters_and_one_the_age_of_the_queue(template: Template) -> None:
    source = source_queue(template)
    dead_letters = source["RedrivePolicy"]["deadLetterTargetArn"]["Fn::GetAtt"][0]
    template.has_resource_properties(
        "AWS::CloudWatch::Alarm",
        {
            "MetricName": "ApproximateNumberOfMessagesVisible",
            "Threshold": 1,
            "Dimensions": [{"Name": "QueueName", "Value": {"Fn::GetAtt": [dead_letters, "QueueName"]}}],
        },
    )
    template.has_resource_properties(
        "AWS::CloudWatch::Alarm",
        {
            "MetricName": "ApproximateAgeOfOldestMessage",
            "Threshold": source["VisibilityTimeout"] * source["RedrivePolicy"]["maxReceiveCount"],
        },
    )


def test_the_outputs_have_the_names_that_others_read(template: Template) -> None:
    assert set(template.find_outputs("*")) == OUTPUTS


def test_the_library_names_no_output_and_no_handler_of_this_stack() -> None:
    """It is used from other stacks, and an example in a message of its own must not be one that only this one has."""
    own = re.compile(rf"\b({'|'.join(OUTPUTS)}|Credits\w+|handlers\.[a-z]\w*)\b")
    texts = {path: path.read_text(encoding="utf-8") for path in (ROOT / "idem").rglob("*.py")}
    assert len(texts) > 50
    assert {path: found for path, text in texts.items() if (found := own.findall(text))} == {}


def test_nothing_has_a_physical_name(template: Template) -> None:
    names = {"TableName", "QueueName", "FunctionName", "RoleName", "LogGroupName", "AlarmName", "Name"}
    # In the first two it is a reference; a saved query has no other name, and begins with its stack's.
    owners = {"AWS::Lambda::EventSourceMapping", "AWS::Lambda::Permission", "AWS::Logs::QueryDefinition"}
    named = {
        (logical_id, name)
        for logical_id, resource in template.to_json()["Resources"].items()
        if resource["Type"] not in owners
        for name in names & resource.get("Properties", {}).keys()
    }
    assert named == set()


# CloudFormation replaces what gets another logical id: an empty table of records, an empty queue. Ids are made of the
# names of constructs, so renaming one of these is a move of data (docs/operations.md), not a tidy-up.
HOLDS_DATA = {
    "IdempotencyTable48612DF4",
    "LedgerTable9343E4AA",
    "OrdersDeadLetterQueueA73944CE",
    "OrdersQueueC538DD4C",
    "PaymentsSecret026AFB96",
}


def test_what_holds_data_keeps_its_place_over_deployments(template: Template) -> None:
    kinds = ("AWS::DynamoDB::Table", "AWS::SQS::Queue", "AWS::SecretsManager::Secret")
    assert {name for kind in kinds for name in template.find_resources(kind)} == HOLDS_DATA


def test_each_function_knows_its_own_resources(template: Template) -> None:
    orders, payments = environment(template, "orders"), environment(template, "payments")
    queues, secrets = template.find_resources("AWS::SQS::Queue"), template.find_resources("AWS::SecretsManager::Secret")
    source = next(name for name, each in queues.items() if "RedrivePolicy" in each["Properties"])
    assert orders["ORDERS_QUEUE_URL"] == f"deployed-{source}"
    assert payments["PAYMENTS_SECRET_ID"] == f"deployed-{next(iter(secrets))}"
    assert (orders["POWERTOOLS_SERVICE_NAME"], payments["POWERTOOLS_SERVICE_NAME"]) == ("orders", "payments")
    assert orders["IDEMPOTENCY_TABLE"] != orders["LEDGER_TABLE"]
