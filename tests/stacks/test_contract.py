"""Where the stack meets others: the handlers' settings, the handlers' names, CloudFormation itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from aws_lambda_powertools import Metrics

from handlers import orders, payments
from handlers.settings import OrdersSettings, PaymentsSettings, Settings
from idem import Delivery, Ending, Key, Overtaken, Record, Status, Unavailable, Unsettled
from idem.cdk import queue_limits, webhook_receiver
from idem.errors import ClaimLost, ConfigurationError, StoreUnavailable, UnsettledWork
from idem.on_lambda import Observer
from tests.cdk.linting import lint_errors
from tests.cdk.reading import environment, resources
from tests.stacks.conftest import STAGES

if TYPE_CHECKING:
    from aws_cdk.assertions import Template

KEY = Key("orders.fulfil", "1")
RECORD = Record(key=KEY, status=Status.IN_PROGRESS, claim_token="t", attempt=1, starts=1, claimed_at=0)

# The outcomes that a person should hear of, one for each alarm.
DOUBTFUL = (
    Overtaken(ClaimLost(KEY, None)),
    Unsettled(UnsettledWork(RECORD, "its lease lapsed")),
    Unavailable(StoreUnavailable("complete", "ThrottlingException", "slow down"), ran=True),
)

CONSUMERS: dict[str, tuple[str, type[Settings]]] = {
    "orders": (orders.OPERATION, OrdersSettings),
    "payments": (payments.OPERATION, PaymentsSettings),
}


@pytest.mark.parametrize("word", CONSUMERS)
def test_each_handler_finds_its_settings_in_the_deployed_environment_and_needs_all_of_them(
    template: Template, word: str
) -> None:
    settings = CONSUMERS[word][1]
    variables = environment(template, word)
    assert settings.from_environment(variables).idempotency_table == variables["IDEMPOTENCY_TABLE"]
    needed = [name for name in variables if not name.startswith("POWERTOOLS_")]
    assert len(needed) == 3
    for name in needed:
        others = {other: value for other, value in variables.items() if other != name}
        with pytest.raises(ConfigurationError, match=name):
            settings.from_environment(others)


def test_the_constructs_check_the_lives_that_the_policies_give() -> None:
    """A construct cannot see a policy: it is told by `records_kept`, whose defaults are these."""
    for policy, kept in (
        (orders.POLICY, queue_limits.QUEUE_RECORDS_KEPT_SECONDS),
        (payments.POLICY, webhook_receiver.WEBHOOK_RECORDS_KEPT_SECONDS),
    ):
        assert policy.retention == timedelta(seconds=kept)


def forget_metrics() -> None:
    metrics = Metrics(namespace="none")
    metrics.clear_default_dimensions()
    metrics.clear_metrics()


@pytest.fixture
def _own_metrics() -> Iterator[None]:
    """Powertools' Metrics are shared by the whole process; on Lambda that is one consumer's."""
    forget_metrics()
    yield
    forget_metrics()


@pytest.mark.usefixtures("_own_metrics")
@pytest.mark.parametrize("word", CONSUMERS)
def test_the_alarms_watch_the_metrics_that_the_handlers_emit(
    template: Template, word: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    operation = CONSUMERS[word][0]
    for name, value in environment(template, word).items():
        monkeypatch.setenv(name, value)
    observer = Observer(operation)
    with observer.invocation(None):
        for outcome in DOUBTFUL:
            arrival = Delivery(id="m-1", payload={})
            observer(Ending(operation=operation, arrival=arrival, outcome=outcome, key=KEY, started=0, ended=1))
    blobs = [json.loads(line) for line in capsys.readouterr().out.splitlines() if '"_aws"' in line]
    emitted = {
        (metrics["Namespace"], metric["Name"], frozenset((name, blob[name]) for name in dimensions))
        for blob in blobs
        for metrics in blob["_aws"]["CloudWatchMetrics"]
        for metric in metrics["Metrics"]
        for dimensions in metrics["Dimensions"]
    }
    watched = {
        (
            each["Namespace"],
            each["MetricName"],
            frozenset((dimension["Name"], dimension["Value"]) for dimension in each["Dimensions"]),
        )
        for each in resources(template, "AWS::CloudWatch::Alarm").values()
        if {"Name": "operation", "Value": operation} in each["Dimensions"]
    }
    assert watched == emitted
    assert len(watched) == len(DOUBTFUL)


@pytest.mark.parametrize("stage", STAGES)
def test_cloudformation_would_accept_the_template(assembly: Path, stage: str) -> None:
    assert lint_errors(assembly / f"Idem-{stage}.template.json") == []
