"""The clients: how long they wait, when they are made, and which table the store is on."""

from __future__ import annotations

from typing import Any

import pytest
from moto import mock_aws

from idem import Key
from idem.dynamo.schema import SORT_VALUE
from idem.on_lambda import Later, TableEnvironment, dynamo_store, dynamodb

REGION = "us-east-1"


def test_a_later_client_is_made_at_its_first_use_and_once() -> None:
    made: list[str] = []

    def make() -> str:
        made.append("client")
        return "a client"

    client = Later(make)
    assert made == []
    assert (client.upper(), client.title()) == ("A CLIENT", "A Client")
    assert made == ["client"]


def test_a_table_that_does_not_answer_is_given_up_within_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    dynamodb.cache_clear()
    config: Any = dynamodb().meta.config
    assert dynamodb() is dynamodb()
    dynamodb.cache_clear()
    attempts = config.retries["total_max_attempts"]
    assert attempts * (config.connect_timeout + config.read_timeout) < 10


@pytest.mark.parametrize("sort_value", ["", SORT_VALUE])
def test_the_store_is_on_the_table_that_the_environment_names(monkeypatch: pytest.MonkeyPatch, sort_value: str) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    schema: list[Any] = [{"AttributeName": "pk", "KeyType": "HASH"}]
    schema += [{"AttributeName": "sk", "KeyType": "RANGE"}] if sort_value else []
    with mock_aws():
        dynamodb.cache_clear()
        dynamodb().create_table(
            TableName="records",
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": key["AttributeName"], "AttributeType": "S"} for key in schema],
            KeySchema=schema,
        )
        where = TableEnvironment(idempotency_table="records", idempotency_sort_value=sort_value)
        assert dynamo_store(where).get(Key("parcels.ship", "7")) is None
        dynamodb.cache_clear()
