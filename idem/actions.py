"""DynamoDB's requests on a record: the same actions serve single writes and transactions.

Every write carries one condition, and asks for the item that stands in its way.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from idem.record import Claim, Failure, Key, Record, Result, Status
from idem.schema import (
    PARTITION_KEY,
    TTL_ATTRIBUTE,
    Item,
    failure_value,
    number,
    primary_key,
    result_attributes,
    to_item,
)

Action = dict[str, Any]


class Actions:
    """Builds requests on one table."""

    def __init__(self, table: str, sort_value: str | None) -> None:
        self._table = table
        self._sort_value = sort_value

    def get(self, key: Key) -> Action:
        """Read the record of `key`, strongly consistent."""
        return self._addressed(key) | {"ConsistentRead": True}

    def put(self, record: Record, over: Record | None) -> Action:
        """Put `record` where nothing is, or over exactly the version `over`."""
        action: Action = {"TableName": self._table, "Item": to_item(record, self._sort_value)}
        if over is None:
            action |= {
                "ConditionExpression": "attribute_not_exists(#pk)",
                "ExpressionAttributeNames": {"#pk": PARTITION_KEY},
            }
        else:
            action |= {
                "ConditionExpression": "#claimToken = :token AND #status = :status AND #starts = :starts",
                "ExpressionAttributeNames": {f"#{name}": name for name in ("claimToken", "status", "starts")},
                "ExpressionAttributeValues": {
                    ":token": {"S": over.claim_token},
                    ":status": {"S": over.status.value},
                    ":starts": number(over.starts),
                },
            }
        return action | {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}

    def update(self, claim: Claim, attributes: Mapping[str, Item | None]) -> Action:
        """Set or (None) remove attributes of the claim's record, under the fence."""
        sets = [name for name, value in attributes.items() if value is not None]
        removes = [name for name, value in attributes.items() if value is None]
        expression = "SET " + ", ".join(f"#{name} = :{name}" for name in sets)
        if removes:
            expression += " REMOVE " + ", ".join(f"#{name}" for name in removes)
        fence = _fence(claim)
        fence["ExpressionAttributeNames"] |= {f"#{name}": name for name in attributes}
        fence["ExpressionAttributeValues"] |= {f":{name}": attributes[name] for name in sets}
        return self._addressed(claim.key) | {"UpdateExpression": expression} | fence

    def delete(self, claim: Claim) -> Action:
        """Delete the claim's record, under the fence."""
        return self._addressed(claim.key) | _fence(claim)

    def _addressed(self, key: Key) -> Action:
        return {"TableName": self._table, "Key": primary_key(key, self._sort_value)}


def completed(result: Result, expires_at: int | None, now_ms: int) -> dict[str, Item | None]:
    """The attributes that make a record succeeded; None removes one."""
    return _finished(Status.SUCCEEDED, expires_at, now_ms) | result_attributes(result)


def failed(claim: Claim, failure: Failure, expires_at: int | None, now_ms: int) -> dict[str, Item | None]:
    """The attributes that make a record failed; None removes one. The claim says how many starts count."""
    attributes = _finished(Status.FAILED, expires_at, now_ms)
    return attributes | {"starts": number(claim.starts), "error": failure_value(failure)}


def _finished(status: Status, expires_at: int | None, now_ms: int) -> dict[str, Item | None]:
    return {
        "status": {"S": status.value},
        "finishedAt": number(now_ms // 1000),
        "leaseUntil": None,
        TTL_ATTRIBUTE: number(expires_at),
    }


def _fence(claim: Claim) -> Action:
    return {
        "ConditionExpression": "#claimToken = :mine AND #status = :in_progress",
        "ExpressionAttributeNames": {"#claimToken": "claimToken", "#status": "status"},
        "ExpressionAttributeValues": {":mine": {"S": claim.token}, ":in_progress": {"S": Status.IN_PROGRESS.value}},
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
