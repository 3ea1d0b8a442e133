"""The alarms that a person hears of, in somebody else's stack."""

from __future__ import annotations

import aws_cdk as cdk
import pytest
from aws_cdk.assertions import Template

from idem.cdk import EndingAlarms, IdempotencyTable, TableAlarms
from idem.cdk.alarms import ENDINGS
from idem.on_lambda.metrics import NAMESPACE
from tests.cdk.apps import consumer, theirs
from tests.cdk.reading import resources


@pytest.fixture
def stack() -> cdk.Stack:
    return theirs()


def test_each_ending_in_doubt_has_an_alarm_where_the_observer_counts_it(stack: cdk.Stack) -> None:
    made = EndingAlarms(stack, "Endings", service="shop", operation="orders.fulfil")
    alarms = list(resources(Template.from_stack(stack), "AWS::CloudWatch::Alarm").values())
    assert len(made.alarms) == len(ENDINGS)
    assert {alarm["MetricName"] for alarm in alarms} == ENDINGS.keys()
    assert {alarm["Namespace"] for alarm in alarms} == {NAMESPACE}
    dimensions = [{each["Name"]: each["Value"] for each in alarm["Dimensions"]} for alarm in alarms]
    assert dimensions == [{"service": "shop", "operation": "orders.fulfil"}] * len(ENDINGS)


def test_a_namespace_of_ones_own_is_watched_instead(stack: cdk.Stack) -> None:
    EndingAlarms(stack, "Endings", service="shop", operation="orders.fulfil", namespace="Shop")
    alarms = resources(Template.from_stack(stack), "AWS::CloudWatch::Alarm").values()
    assert {alarm["Namespace"] for alarm in alarms} == {"Shop"}


def test_every_alarm_rings_at_once_says_what_to_do_and_is_quiet_without_data(stack: cdk.Stack) -> None:
    EndingAlarms(stack, "Endings", service="shop", operation="orders.fulfil")
    TableAlarms(stack, "Throttles", table=IdempotencyTable(stack, "Memory").table)
    made = len(consumer(stack).alarms) + len(ENDINGS) + 1
    alarms = resources(Template.from_stack(stack), "AWS::CloudWatch::Alarm").values()
    assert len(alarms) == made
    for alarm in alarms:
        assert len(alarm["AlarmDescription"]) > 20
        assert (alarm["TreatMissingData"], alarm["EvaluationPeriods"]) == ("notBreaching", 1)
