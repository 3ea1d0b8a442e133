"""The real handlers on moto: real settings, real clients, the tables, the queue and the secret that the stack would make."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws

from idem.on_lambda import dynamodb, observer_of

EVENTS = Path(__file__).resolve().parents[2] / "events"
SECRET = "whsec_of_the_samples"
SIGNED_AT = 1_796_040_000  # when the HTTP samples were signed, epoch seconds
REGION = "us-east-1"


def sample(name: str) -> Any:
    return json.loads((EVENTS / name).read_text(encoding="utf-8"))


class Stack:
    """What the functions find in the account, and what a test reads from it."""

    def __init__(self) -> None:
        self.dynamodb = boto3.client("dynamodb", REGION)
        self.sqs = boto3.client("sqs", REGION)
        hash_key: Any = {"AttributeName": "pk", "KeyType": "HASH"}
        range_key: Any = {"AttributeName": "sk", "KeyType": "RANGE"}
        for table, keys in {"idempotency": [hash_key], "ledger": [hash_key, range_key]}.items():
            self.dynamodb.create_table(
                TableName=table,
                BillingMode="PAY_PER_REQUEST",
                AttributeDefinitions=[{"AttributeName": key["AttributeName"], "AttributeType": "S"} for key in keys],
                KeySchema=keys,
            )
        queue = self.sqs.create_queue(QueueName="orders")["QueueUrl"]
        secrets = boto3.client("secretsmanager", REGION)
        arn = secrets.create_secret(Name="signing", SecretString=SECRET)["ARN"]
        self.environment = {
            "IDEMPOTENCY_TABLE": "idempotency",
            "LEDGER_TABLE": "ledger",
            "ORDERS_QUEUE_URL": queue,
            "PAYMENTS_SECRET_ID": arn,
        }

    def effects(self) -> list[str]:
        """The subjects of the ledger's rows, in order."""
        return sorted(item["pk"]["S"] for item in self.dynamodb.scan(TableName="ledger")["Items"])

    def statuses(self) -> dict[str, str]:
        """The status of each record, by key."""
        items = self.dynamodb.scan(TableName="idempotency")["Items"]
        return {item["pk"]["S"].removeprefix("IDEMPOTENCY#"): item["status"]["S"] for item in items}


@pytest.fixture
def stack(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stack]:
    with mock_aws():
        monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
        made = Stack()
        for name, value in made.environment.items():
            monkeypatch.setenv(name, value)
        dynamodb.cache_clear()
        observer_of.cache_clear()
        yield made
        dynamodb.cache_clear()
