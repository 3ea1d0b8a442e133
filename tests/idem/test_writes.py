"""Each kind of write, as the low-level client is sent it."""

from __future__ import annotations

from typing import Any

import pytest

from idem.dynamo.transactions import to_action
from idem.writes import Check, Delete, Put, Update, Write

KEY = {"orderId": {"S": "o-1"}}
NAMES = {"#n": "stock"}
VALUES = {":n": {"N": "1"}}
ALL: dict[str, Any] = {"condition": "#n > :n", "names": NAMES, "values": VALUES}
SENT: dict[str, Any] = {
    "TableName": "orders",
    "ConditionExpression": "#n > :n",
    "ExpressionAttributeNames": NAMES,
    "ExpressionAttributeValues": VALUES,
    "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
}


@pytest.mark.parametrize(
    ("write", "action"),
    [
        (Put("orders", KEY, **ALL), {"Put": SENT | {"Item": KEY}}),
        (Update("orders", KEY, "SET #n = :n", **ALL), {"Update": SENT | {"Key": KEY, "UpdateExpression": "SET #n = :n"}}),
        (Delete("orders", KEY, **ALL), {"Delete": SENT | {"Key": KEY}}),
        (Check("orders", KEY, **ALL), {"ConditionCheck": SENT | {"Key": KEY}}),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_a_write_is_sent_whole_and_asks_for_the_item_that_refuses_it(write: Write, action: dict[str, Any]) -> None:
    assert to_action(write) == action


def test_what_a_write_does_not_say_is_not_sent() -> None:
    assert to_action(Put("orders", KEY)) == {"Put": {"TableName": "orders", "Item": KEY}}
