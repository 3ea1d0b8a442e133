"""cdk-nag's AwsSolutions and Serverless packs over everything that can be built: no finding without a reason."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import Validations
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from cdk_nag import AwsSolutionsChecks, ServerlessChecks

from idem.cdk import ExistingTable, Front, IdempotencyTable, LedgerTable, Replicas
from stacks.idempotency_stack import IdempotencyStack
from stacks.stage import Stage, TableName
from tests.stacks.apps import consumer, receiver


def findings(app: cdk.App) -> list[str]:
    """What both packs have to say against an app: rule and place."""
    Validations.of(app).add_plugins(AwsSolutionsChecks(app), ServerlessChecks(app))
    try:
        app.synth()
    except RuntimeError as error:
        assert "ValidationFailed" in str(error)  # noqa: PT017 - with findings CDK raises; the report is read below
    report: dict[str, Any] = json.loads((Path(app.outdir) / "validation-report.json").read_text())
    return sorted(
        f"{violation['ruleName']} {construct['constructPath']}"
        for plugin in report["pluginReports"]
        for violation in plugin["violations"]
        for construct in violation["violatingConstructs"]
    )


@pytest.fixture
def app(tmp_path: Path) -> cdk.App:
    return cdk.App(outdir=str(tmp_path))


def theirs(app: cdk.App) -> cdk.Stack:
    return cdk.Stack(app, "Theirs", env=cdk.Environment(account="111111111111", region="eu-central-1"))


def with_inline_code(stage: Stage) -> Stage:
    """The stage with the one handler name that inline code can have."""
    name = "index.handler"
    return replace(stage, orders_handler=name, payments_handler=name, receiver_handler=name, credits_handler=name)


CODE = lambda_.Code.from_inline("handler = print")


@pytest.mark.parametrize(
    "stage",
    [
        Stage.named("sandbox"),
        Stage.named("dev"),
        Stage.named("prod"),
        replace(Stage.named("prod"), tracing=True, records=TableName(name="restored", sort_key=False)),
        replace(Stage.named("prod"), enqueues=True, front=Front.HTTP_API),
    ],
    ids=["sandbox", "dev", "prod", "restored-and-traced", "enqueueing-behind-an-http-api"],
)
def test_every_stage_passes(app: cdk.App, stage: Stage) -> None:
    # Inline code: what is checked here are the resources around it.
    IdempotencyStack(app, f"Idem-{stage.name}", stage=with_inline_code(stage), code=CODE)
    assert findings(app) == []


def fifo(stack: cdk.Stack) -> None:
    consumer(stack, fifo=True, reserved_concurrency=5, concurrency_max=5)


def http_api(stack: cdk.Stack) -> None:
    receiver(stack, front=Front.HTTP_API, path="/hooks", tracing=True)


def enqueue(stack: cdk.Stack) -> None:
    receiver(stack, enqueue_to=consumer(stack).queue)


def tables(stack: cdk.Stack) -> None:
    user = receiver(stack).function
    IdempotencyTable(stack, "Own", encryption_key=kms.Key(stack, "Key", enable_key_rotation=True)).grant_claims(user)
    IdempotencyTable(stack, "Global", replicas=Replicas(regions=("eu-west-1",), acknowledged="one home each"))
    ExistingTable(stack, "Shared", table_name="t", sort_key=True).grant_claims(user, operations=["a.b"])
    LedgerTable(stack, "Ledger").grant_append(user)


@pytest.mark.parametrize("build", [fifo, http_api, enqueue, tables])
def test_every_option_of_the_constructs_passes(app: cdk.App, build: Callable[[cdk.Stack], None]) -> None:
    build(theirs(app))
    assert findings(app) == []


def test_the_packs_are_really_asked(app: cdk.App) -> None:
    sqs.Queue(theirs(app), "Bare")
    rules = {finding.split(" ")[0] for finding in findings(app)}
    assert {"AwsSolutions-SQS3", "AwsSolutions-SQS4", "Serverless-SQSRedrivePolicy"} <= rules


def test_what_is_acknowledged_is_all_of_it_and_has_a_reason(app: cdk.App) -> None:
    stack = theirs(app)
    consumer(stack)
    http_api(stack)
    said = {
        (construct.node.path, rule.removeprefix("Annotation::")): reason
        for construct in stack.node.find_all()
        for entry in construct.node.metadata
        if entry.type == "aws:cdk:acknowledged-rules"
        for rule, reason in entry.data.items()
    }
    assert {key for key, reason in said.items() if len(str(reason)) > 40} == set(said)
    assert {rule for _, rule in said} == {
        "AwsSolutions-APIG4",
        "AwsSolutions-IAM5[Resource::*]",
        "AwsSolutions-SMG4",
        "Serverless-LambdaDLQ",
        "Serverless-LambdaEventSourceMappingDestination",
        "Serverless-LambdaTracing",
        "Serverless-SQSRedrivePolicy",
    }
