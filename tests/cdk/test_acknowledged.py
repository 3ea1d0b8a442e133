"""cdk-nag's AwsSolutions and Serverless packs over every option of the constructs: no finding without a reason."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import aws_cdk as cdk
import pytest
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sqs as sqs

from idem.cdk import ExistingTable, Front, IdempotencyTable, LedgerTable, Replicas
from tests.cdk.apps import consumer, receiver
from tests.cdk.linting import findings


@pytest.fixture
def app(tmp_path: Path) -> cdk.App:
    return cdk.App(outdir=str(tmp_path))


def theirs(app: cdk.App) -> cdk.Stack:
    return cdk.Stack(app, "Theirs", env=cdk.Environment(account="111111111111", region="eu-central-1"))


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
