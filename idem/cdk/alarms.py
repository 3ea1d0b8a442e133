"""Alarms on what a person should hear of, and one way to make them.

A refused claim is the pattern at work and has no alarm. These are the endings where once is in doubt: a worker that
lost its claim while it worked, an outcome that could not be recorded, and a record that is unsettled: a person decides.
"""

from __future__ import annotations

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_dynamodb as dynamodb
from constructs import Construct

from idem.cdk.variables import METRICS_NAMESPACE

ENDINGS = {
    "LostClaims": "A worker was overtaken while it worked: its lease was shorter than its work.",
    "Unrecorded": "Work was done and could not be recorded: its next delivery runs it again.",
    "Unsettled": "A record is unsettled, and a person decides: find out whether its effect was made, then settle it.",
}
"""Metric name, as the observer of `idem.on_lambda` emits it -> what the alarm says."""


def alarm_at(
    scope: Construct, construct_id: str, *, metric: cloudwatch.Metric, threshold: int, meaning: str
) -> cloudwatch.Alarm:
    """An alarm as soon as one period reaches `threshold`. It has no action until its owner adds one."""
    return metric.create_alarm(
        scope,
        construct_id,
        alarm_description=meaning,
        threshold=threshold,
        evaluation_periods=1,
        comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
        treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
    )


def consumer_metric(
    name: str, *, namespace: str, service: str, operation: str, statistic: str = "Sum"
) -> cloudwatch.Metric:
    """A metric that the observer emits. CloudWatch finds it only when all of its dimensions are named."""
    return cloudwatch.Metric(
        namespace=namespace,
        metric_name=name,
        dimensions_map={"service": service, "operation": operation},
        statistic=statistic,
        period=Duration.minutes(1),
    )


class EndingAlarms(Construct):
    """One alarm per ending, for one operation of one service.

    `service` is the one that `Reporting` told the function, and so is `namespace`.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        service: str,
        operation: str,
        namespace: str = METRICS_NAMESPACE,
    ) -> None:
        super().__init__(scope, construct_id)
        self.alarms = tuple(
            alarm_at(
                self,
                name,
                metric=consumer_metric(name, namespace=namespace, service=service, operation=operation),
                threshold=1,
                meaning=f"{operation}: {meaning}",
            )
            for name, meaning in ENDINGS.items()
        )


class TableAlarms(Construct):
    """An alarm on throttled writes: claims and outcomes then wait, and deliveries are reported failed."""

    def __init__(self, scope: Construct, construct_id: str, *, table: dynamodb.ITable) -> None:
        super().__init__(scope, construct_id)
        throttled = cloudwatch.Metric(
            namespace="AWS/DynamoDB",
            metric_name="WriteThrottleEvents",
            dimensions_map={"TableName": table.table_name},
            statistic="Sum",
            period=Duration.minutes(1),
        )
        meaning = "Writes of records were throttled: raise the table's warm or maximum throughput."
        self.alarms = (alarm_at(self, "Throttled", metric=throttled, threshold=1, meaning=meaning),)
