"""One table that is there already, two consumers, one receiver."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns
from constructs import Construct

from idem.cdk import EndingAlarms, ExistingTable, Front, QueueConsumer, Reporting, WebhookReceiver


class ParcelStack(cdk.Stack):
    """Parcels and releases."""

    def __init__(self, scope: Construct, construct_id: str, *, code: lambda_.Code) -> None:
        super().__init__(scope, construct_id)
        records = ExistingTable(self, "Records", table_name="team-table", sort_key=True)
        told = {**records.variables(), **Reporting(service="parcels").variables()}
        ship = QueueConsumer(
            self, "Ship", code=code, handler="handlers.parcels.handler", timeout_seconds=60, fifo=True, environment=told
        )
        releases = QueueConsumer(
            self,
            "Releases",
            code=code,
            handler="handlers.releases.announce",
            timeout_seconds=20,
            environment=told,
            records_kept=cdk.Duration.days(35),  # a person can resend for 30
        )
        hooks = WebhookReceiver(
            self,
            "Hooks",
            code=code,
            handler="handlers.releases.receive",
            timeout_seconds=5,
            environment=told,
            front=Front.HTTP_API,
            path="/github",
            enqueue_to=releases.queue,
        )
        pager = actions.SnsAction(sns.Topic(self, "Pager", enforce_ssl=True))
        for consumer, operation in ((ship, "parcels.ship"), (releases, "releases.announce")):
            records.grant_claims(consumer.function, operations=[operation])
            endings = EndingAlarms(self, operation, service="parcels", operation=operation)
            for alarm in (*consumer.alarms, *endings.alarms):
                alarm.add_alarm_action(pager)
        cdk.CfnOutput(self, "HooksUrl", value=hooks.url)
