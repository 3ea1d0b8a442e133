"""cdk-nag's AwsSolutions and Serverless packs over every stage: no finding without a reason."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import aws_cdk as cdk
import pytest
from aws_cdk import aws_lambda as lambda_

from idem.cdk import Front
from stacks.idempotency_stack import IdempotencyStack
from stacks.stage import Stage, TableName
from tests.cdk.linting import findings


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
def test_every_stage_passes(tmp_path: Path, stage: Stage) -> None:
    app = cdk.App(outdir=str(tmp_path))
    # Inline code: what is checked here are the resources around it.
    IdempotencyStack(app, f"Idem-{stage.name}", stage=with_inline_code(stage), code=CODE)
    assert findings(app) == []
