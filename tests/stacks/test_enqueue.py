"""The stack in enqueue mode: a receiver that knows a secret and a queue, and a consumer that knows the tables."""

from __future__ import annotations

import importlib
import json
from dataclasses import replace
from pathlib import Path

import aws_cdk as cdk
import pytest
from aws_cdk.assertions import Template

from app import build
from handlers.settings import PaymentsQueueSettings, PaymentsReceiverSettings
from stacks.stage import Stage
from tests.cdk.linting import lint_errors
from tests.cdk.reading import as_list, environment, resources, statements_of
from tests.stacks.test_stack import HOLDS_DATA

RECEIVER, CREDITS = "payments_receiver", "payments_enqueued"


@pytest.fixture(scope="module")
def synthesised(tmp_path_factory: pytest.TempPathFactory) -> Path:
    outdir = tmp_path_factory.mktemp("enqueue")
    app = cdk.App(outdir=str(outdir))
    build(app, replace(Stage.named("prod"), enqueues=True))
    app.synth()
    return outdir / "Idem-prod.template.json"


@pytest.fixture(scope="module")
def template(synthesised: Path) -> Template:
    return Template.from_json(json.loads(synthesised.read_text()))


def test_the_receiver_knows_its_secret_and_the_queue_and_no_table(template: Template) -> None:
    variables = environment(template, RECEIVER)
    settings = PaymentsReceiverSettings.from_environment(variables)
    assert settings.payments_queue_url == environment(template, CREDITS)["PAYMENTS_QUEUE_URL"]
    assert not [name for name in variables if name.endswith("_TABLE")]


def test_the_receiver_may_read_its_secret_and_send_and_nothing_else(template: Template) -> None:
    actions = {
        action
        for statement in statements_of(template, RECEIVER)
        for action in as_list(statement["Action"])
        if statement["Effect"] == "Allow" and action != "sts:AssumeRole"
    }
    assert actions == {
        "logs:CreateLogStream",
        "logs:PutLogEvents",
        "secretsmanager:GetSecretValue",
        "sqs:SendMessage",
    }


def test_the_consumer_behind_finds_its_settings(template: Template) -> None:
    settings = PaymentsQueueSettings.from_environment(environment(template, CREDITS))
    assert settings.idempotency_table != settings.ledger_table


def test_its_handlers_are_real(template: Template) -> None:
    names = {each["Handler"] for each in resources(template, "AWS::Lambda::Function").values()}
    assert names == {"handlers.orders.handler", f"handlers.{RECEIVER}.handler", f"handlers.{CREDITS}.handler"}
    for each in names:
        module, name = each.rsplit(".", 1)
        assert callable(getattr(importlib.import_module(module), name))


def test_changing_the_mode_replaces_nothing_that_holds_data(template: Template) -> None:
    kinds = ("AWS::DynamoDB::Table", "AWS::SQS::Queue", "AWS::SecretsManager::Secret")
    assert {name for kind in kinds for name in template.find_resources(kind)} > HOLDS_DATA


def test_cloudformation_would_accept_it(synthesised: Path) -> None:
    assert lint_errors(synthesised) == []
