from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from idem.cdk.table_grants import APPEND_ACTIONS, CLAIM_ACTIONS
from tests.cdk.reading import as_list, function, resources, statements, statements_of

if TYPE_CHECKING:
    from aws_cdk.assertions import Template


def actions_on(template: Template, word: str, logical_id: str) -> set[str]:
    return {
        action
        for statement in statements_of(template, word)
        for resource in as_list(statement.get("Resource", []))
        if logical_id in (resource.get("Ref"), resource.get("Fn::GetAtt", [None])[0])
        for action in as_list(statement["Action"])
    }


def table_with_sort_key(template: Template, *, wanted: bool) -> str:
    found = [
        name
        for name, each in resources(template, "AWS::DynamoDB::Table").items()
        if (len(each["KeySchema"]) > 1) is wanted
    ]
    assert len(found) == 1
    return found[0]


def test_no_permission_holds_a_wildcard(template: Template) -> None:
    allowed = [statement for _, statement in statements(template) if statement["Effect"] == "Allow"]
    assert allowed
    for statement in allowed:
        words = [str(word) for key in ("Action", "Resource") for word in as_list(statement.get(key, []))]
        assert not [word for word in words if "*" in word], statement
        assert not {"NotAction", "NotResource"} & statement.keys(), statement


def test_no_role_carries_a_managed_policy(template: Template) -> None:
    carried = [role.get("ManagedPolicyArns") for role in resources(template, "AWS::IAM::Role").values()]
    assert carried == [None, None]  # one role for each function


def test_each_function_has_a_role_of_its_own(template: Template) -> None:
    roles = [each["Role"]["Fn::GetAtt"][0] for each in resources(template, "AWS::Lambda::Function").values()]
    assert len(set(roles)) == len(roles) == 2


@pytest.mark.parametrize("word", ["orders", "payments"])
def test_a_function_may_claim_and_append_and_nothing_else_in_the_tables(template: Template, word: str) -> None:
    assert actions_on(template, word, table_with_sort_key(template, wanted=False)) == set(CLAIM_ACTIONS)
    assert actions_on(template, word, table_with_sort_key(template, wanted=True)) == set(APPEND_ACTIONS)


@pytest.mark.parametrize(("word", "operation"), [("orders", "orders.fulfil"), ("payments", "payments.credit")])
def test_a_function_may_touch_the_records_of_its_own_operation_only(
    template: Template, word: str, operation: str
) -> None:
    records = table_with_sort_key(template, wanted=False)
    conditions = [
        statement.get("Condition")
        for statement in statements_of(template, word)
        if statement.get("Resource") == {"Fn::GetAtt": [records, "Arn"]}
    ]
    assert conditions == [
        {
            "ForAllValues:StringLike": {"dynamodb:LeadingKeys": [f"IDEMPOTENCY#{operation}#*"]},
            "Null": {"dynamodb:LeadingKeys": "false"},
        }
    ]


@pytest.mark.parametrize("word", ["orders", "payments"])
def test_a_function_writes_to_its_own_log_group_only(template: Template, word: str) -> None:
    own = function(template, word)["LoggingConfig"]["LogGroup"]["Ref"]
    assert actions_on(template, word, own) == {"logs:CreateLogStream", "logs:PutLogEvents"}
    (other,) = resources(template, "AWS::Logs::LogGroup").keys() - {own}
    assert actions_on(template, word, other) == set()


def test_only_the_payments_function_reads_the_secret(template: Template) -> None:
    secret = next(iter(resources(template, "AWS::SecretsManager::Secret")))
    assert actions_on(template, "payments", secret) == {"secretsmanager:GetSecretValue"}
    readers = [
        owner
        for owner, statement in statements(template)
        if any(str(action).startswith("secretsmanager:") for action in as_list(statement["Action"]))
    ]
    assert len(readers) == 1


def test_the_orders_function_may_consume_its_queue_and_hide_a_message_until_later(template: Template) -> None:
    queues = resources(template, "AWS::SQS::Queue")
    source = next(name for name, each in queues.items() if "RedrivePolicy" in each)
    assert actions_on(template, "orders", source) == {
        "sqs:ChangeMessageVisibility",
        "sqs:DeleteMessage",
        "sqs:GetQueueAttributes",
        "sqs:ReceiveMessage",
    }
    (dead_letters,) = queues.keys() - {source}
    assert actions_on(template, "orders", dead_letters) == set()


def test_the_payments_function_has_no_business_with_queues(template: Template) -> None:
    assert not [
        action
        for statement in statements_of(template, "payments")
        for action in as_list(statement["Action"])
        if action.startswith("sqs:")
    ]
