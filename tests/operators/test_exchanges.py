from __future__ import annotations

import pytest
from botocore.exceptions import ClientError

from idem.operators.connection import Connection
from idem.operators.exchanges import ExchangeKeeper


def test_a_request_and_its_answer_are_kept_with_their_times(connection: Connection) -> None:
    keeper = ExchangeKeeper(connection.dynamodb)
    item = {"pk": {"S": "IDEMPOTENCY#o#1"}}
    keeper.put_item(TableName=connection.table, Item=item)
    keeper.get_item(TableName=connection.table, Key=item)
    put, get = keeper.exchanges
    assert (put.operation, put.request["Item"], put.error) == ("PutItem", item, None)
    assert get.response == {"HTTPStatusCode": 200, "Item": item}
    assert put.started <= put.ended <= get.started <= get.ended


def test_a_refusal_is_kept_with_the_item_that_came_back_and_is_raised(connection: Connection) -> None:
    keeper = ExchangeKeeper(connection.dynamodb)
    item = {"pk": {"S": "IDEMPOTENCY#o#1"}}
    request = {
        "TableName": connection.table,
        "Item": item,
        "ConditionExpression": "attribute_not_exists(pk)",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
    keeper.put_item(**request)
    with pytest.raises(ClientError, match="ConditionalCheckFailed"):
        keeper.put_item(**request)
    refused = keeper.exchanges[1].as_json()
    assert refused["error"] == "ConditionalCheckFailedException"
    assert refused["response"]["Item"] == item


def test_what_is_no_request_passes_through(connection: Connection) -> None:
    keeper = ExchangeKeeper(connection.dynamodb)
    assert keeper.meta.region_name == "us-east-1"
    keeper.describe_table(TableName=connection.table)
    assert keeper.exchanges == []
