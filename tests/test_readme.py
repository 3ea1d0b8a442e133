"""The README's examples run, and what it names is there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws

from idem.clock import SystemClock
from idem.testing import redeliver, sqs_event, stripe_request

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The tables that the examples name."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with mock_aws():
        client = boto3.client("dynamodb")
        for name in ("idempotency", "credits"):
            client.create_table(
                TableName=name,
                BillingMode="PAY_PER_REQUEST",
                AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
                KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
            )
        yield client


def example(containing: str) -> dict[str, Any]:
    """The names that the one example with these words defines."""
    (code,) = [code for code in EXAMPLES if containing in code]
    names: dict[str, Any] = {}
    exec(compile(code, "README.md", "exec"), names)  # noqa: S102 - our own README
    return names


def recorded(tables: Any) -> list[tuple[str, str]]:
    """Status and number of attempts of every record that an example left."""
    return [(item["status"]["S"], item["attempt"]["N"]) for item in tables.scan(TableName="idempotency")["Items"]]


def test_the_queue_consumer_of_the_readme_works_once(tables: Any) -> None:
    names = example("SqsSource")
    worked: list[Any] = []

    def counted(delivery: Any, claim: Any) -> Any:
        worked.append(names["fulfil"](delivery, claim))
        return worked[-1]

    answers = redeliver(replace(names["handler"], work=counted), sqs_event({"orderId": "o-1"}), times=2)
    assert answers == [{"batchItemFailures": []}] * 2
    assert worked == [{"orderId": "o-1", "parcels": 1}]
    assert recorded(tables) == [("succeeded", "1")]


def test_the_webhook_receiver_of_the_readme_credits_once(tables: Any) -> None:
    names = example("WebhookSource")
    session = {"id": "cs_1", "amount_total": 5}
    event = {"object": "event", "id": "evt_1", "type": "checkout.session.completed", "data": {"object": session}}
    request = stripe_request(event, names["signing_secret"], SystemClock().now_ms() // 1000)
    first, second = redeliver(names["handler"], request, times=2)
    assert (first["statusCode"], second["statusCode"], second["body"]) == (200, 200, first["body"])
    assert tables.scan(TableName="credits")["Count"] == 1


def test_the_function_of_the_readme_runs_once(tables: Any) -> None:
    grant = example("grant_bonus")["grant_bonus"]
    assert grant("u-1", 10) == grant(user_id="u-1", amount=99) == {"userId": "u-1", "granted": 10}
    assert recorded(tables) == [("succeeded", "1")]


def test_every_file_that_the_readme_names_is_there() -> None:
    named = set(re.findall(r"`((?:idem|handlers|stacks|sandbox|tests|events|benchmarks|docs)/[\w./]*)`", README))
    assert named
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


def test_every_make_target_that_the_readme_names_is_there() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = set(re.findall(r"^make ([a-z-]+)|`make ([a-z-]+)", README, re.MULTILINE))
    assert {"demo", "test"} <= {block or inline for block, inline in named} <= targets
