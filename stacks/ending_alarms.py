"""Alarms on the endings of deliveries that a person should hear of.

A refused claim is the pattern at work and has no alarm. These are the endings where once is in doubt: a worker that
lost its claim while it worked, an outcome that could not be recorded, and a record that is held for a person.
"""

from __future__ import annotations

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

ENDINGS = {
    "LostClaims": "A worker was overtaken while it worked: its lease was shorter than its work.",
    "Unrecorded": "Work was done and could not be recorded: its next delivery runs it again.",
    "Unsettled": "A record is held for a person: find out whether its effect was made, then settle it.",
}
"""Metric name, as the handlers emit it -> what the alarm says."""


class EndingAlarms(Construct):
    """One alarm per ending, for one operation of one service.

    `namespace`, `service` and `operation` are those under which the handler's metrics are emitted; CloudWatch finds
    a metric only when all its dimensions are named. Alarms have no actions until the owner adds some.
    """

    def __init__(self, scope: Construct, construct_id: str, *, namespace: str, service: str, operation: str) -> None:
        super().__init__(scope, construct_id)
        self.alarms = tuple(
            cloudwatch.Metric(
                namespace=namespace,
                metric_name=metric,
                dimensions_map={"service": service, "operation": operation},
                statistic="Sum",
                period=Duration.minutes(1),
            ).create_alarm(
                self,
                metric,
                alarm_description=f"{operation}: {meaning}",
                threshold=1,
                evaluation_periods=1,
                comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
                treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
            )
            for metric, meaning in ENDINGS.items()
        )
