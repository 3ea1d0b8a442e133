"""DynamoDB's requests on a record: the same actions serve single writes and transactions.

Every write carries one condition, and asks for the item that stands in its way.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from idem.dynamo.schema import (
    PARTITION_KEY,
    TTL_ATTRIBUTE,
    Item,
    failure_value,
    number,
    primary_key,
    result_attributes,
    to_item,
)
from idem.dynamo.transactions import Action
from idem.record import Claim, Failure, Key, Record, Status, StoredResult


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
            action["ConditionExpression"] = f"attribute_not_exists({PARTITION_KEY})"
        else:
            action |= {
                "ConditionExpression": "claimToken = :token AND #status = :status AND #starts = :starts",
                "ExpressionAttributeNames": {f"#{name}": name for name in ("status", "starts")},
                "ExpressionAttributeValues": {
                    ":token": {"S": over.claim_token},
                    ":status": {"S": over.status.value},
                    ":starts": number(over.starts),
                },
            }
        action["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        return action

    def update(self, claim: Claim, attributes: Mapping[str, Item | None]) -> Action:
        """Set or (None) remove attributes of the claim's record, under the fence."""
        values = {f":{name}": value for name, value in attributes.items() if value is not None}
        removes = tuple(name for name, value in attributes.items() if value is None)
        expression, names = _change(tuple(name[1:] for name in values), removes)
        action = self._addressed(claim.key) | _fence(claim)
        action["UpdateExpression"] = expression
        action["ExpressionAttributeNames"] |= names
        action["ExpressionAttributeValues"] |= values
        return action

    def delete(self, claim: Claim) -> Action:
        """Delete the claim's record, under the fence."""
        return self._addressed(claim.key) | _fence(claim)

    def _addressed(self, key: Key) -> Action:
        return {"TableName": self._table, "Key": primary_key(key, self._sort_value)}


def completed(result: StoredResult, expires_at: int | None, now_ms: int) -> dict[str, Item | None]:
    """The attributes that make a record succeeded; None removes one."""
    return _finished(Status.SUCCEEDED, expires_at, now_ms) | result_attributes(result)


def failed(claim: Claim, failure: Failure, expires_at: int | None, now_ms: int) -> dict[str, Item | None]:
    """The attributes that make a record failed; None removes one. The claim says how many starts count."""
    attributes = _finished(Status.FAILED, expires_at, now_ms)
    return (
        attributes
        | {"starts": number(claim.starts), "error": failure_value(failure)}
        | ({"unstarted": None} if claim.unstarted else {})
    )


def _finished(status: Status, expires_at: int | None, now_ms: int) -> dict[str, Item | None]:
    return {
        "status": {"S": status.value},
        "finishedAt": number(now_ms // 1000),
        "leaseUntil": None,
        TTL_ATTRIBUTE: number(expires_at),
    }


@lru_cache
def _change(sets: tuple[str, ...], removes: tuple[str, ...]) -> tuple[str, Mapping[str, str]]:
    """The update expression, and the names that it takes: the same for all records of a kind, so it is written once."""
    expression = "SET " + ", ".join(f"{_named(name)} = :{name}" for name in sets)
    if removes:
        expression += " REMOVE " + ", ".join(map(_named, removes))
    return expression, {f"#{name}": name for name in (*sets, *removes) if _named(name) != name}


def _named(name: str) -> str:
    """An attribute as expressions write it: DynamoDB reserves single words, such as status, and no two joined by a capital."""
    return name if name != name.lower() else f"#{name}"


def _fence(claim: Claim) -> Action:
    return {
        "ConditionExpression": "claimToken = :mine AND #status = :in_progress",
        "ExpressionAttributeNames": {"#status": "status"},
        "ExpressionAttributeValues": {":mine": {"S": claim.token}, ":in_progress": {"S": Status.IN_PROGRESS.value}},
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
