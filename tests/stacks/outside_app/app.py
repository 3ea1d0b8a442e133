"""A team's own CDK app, which uses the constructs: `PYTHONPATH=<this repository> cdk synth -a "python app.py"`.

Parcels are shipped from a FIFO queue. GitHub tells of releases by webhook: the receiver puts them on a queue at once,
because GitHub never delivers again by itself. Records live in the table that the team has already.
"""

from __future__ import annotations

import os
from pathlib import Path

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns
from constructs import Construct

import stacks
from idem.cdk import EndingAlarms, ExistingTable, Front, Package, QueueConsumer, Reporting, WebhookReceiver
from idem.cdk.packaging import library, stage_packages

HERE = Path(__file__).resolve().parent
LIBRARY = Path(stacks.__file__).resolve().parent.parent
"""Where `stacks` and `idem` are: a checkout, or the folder they were copied to."""


class ParcelStack(cdk.Stack):
    """One table that is there already, two consumers, one receiver."""

    def __init__(self, scope: Construct, construct_id: str, *, code: lambda_.Code) -> None:
        super().__init__(scope, construct_id)
        records = ExistingTable(self, "Records", table_name="team-table", sort_key=True)
        told = {**records.variables(), **Reporting(service="parcels").variables()}
        ship = QueueConsumer(
            self, "Ship", code=code, handler="parcels.work.ship", timeout_seconds=60, fifo=True, environment=told
        )
        releases = QueueConsumer(
            self,
            "Releases",
            code=code,
            handler="parcels.work.announce",
            timeout_seconds=20,
            environment=told,
            records_kept=cdk.Duration.days(35),  # a person can resend for 30
        )
        hooks = WebhookReceiver(
            self,
            "Hooks",
            code=code,
            handler="parcels.work.receive",
            timeout_seconds=5,
            environment=told,
            front=Front.HTTP_API,
            path="/github",
            enqueue_to=releases.queue,
        )
        pager = actions.SnsAction(sns.Topic(self, "Pager", enforce_ssl=True))
        for consumer, operation in ((ship, "parcels.ship"), (releases, "releases.announce")):
            records.grant_claims(consumer.function, operations=[operation])
            endings = EndingAlarms(self, operation, namespace="Idem", service="parcels", operation=operation)
            for alarm in (*consumer.alarms, *endings.alarms):
                alarm.add_alarm_action(pager)
        cdk.CfnOutput(self, "HooksUrl", value=hooks.url)


def build(app: cdk.App, into: Path) -> ParcelStack:
    """The stack, with one asset for its three functions: the team's package, the library, and the locked requirements."""
    asset = stage_packages(
        [
            Package(root=HERE, name="parcels"),
            library(LIBRARY),
            Package(root=LIBRARY, name="handlers", only=frozenset({"__init__", "wiring", "observing", "measuring"})),
        ],
        lock=LIBRARY / "requirements" / "lambda.txt",
        into=into,
    )
    return ParcelStack(app, "Parcels", code=lambda_.Code.from_asset(str(asset.path), asset_hash=asset.digest))


if __name__ == "__main__":
    whole = cdk.App()
    build(whole, Path(os.environ.get("STAGING", "cdk.out/staging")))
    whole.synth()
