"""An order guard: an event that is older than what was already seen of its object is acknowledged and not run.

Providers do not keep order, and a retry can be days late: an "updated" of yesterday must not overwrite the one of today.

    guard = NewestOnly(
        DynamoPositions(client, "positions"),
        object_key=keys.field("data.id"),
        position=lambda delivery: delivery.payload["occurred_at"],
    )
    consumer = Consumer(..., work=guard(apply_change))

A position is a number or a text that sorts as time does (ISO 8601 in UTC, always with the same digits); keep to one of the two. It
must come from the signed content. Stripe's `created` counts whole seconds: two events of one second have the same position, and
both are run, in the order in which they come; where that is not enough, fetch the object and write what it is now.

For each object one item keeps the highest position. It is raised before the work runs; a crash then leaves it raised, and the
same event may run again, because its position is not below its own. Work that returns a Commit gets a check that nothing newer came
in between, in the same transaction. Other work can still be overtaken while it runs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, Protocol

from idem.clock import Clock, SystemClock
from idem.delivery import Delivery
from idem.dynamo.schema import PARTITION_KEY, TTL_ATTRIBUTE
from idem.dynamo.sender import Refused, Sender
from idem.errors import MissingKeyPart
from idem.keys import KeyRule, make_key
from idem.record import Claim
from idem.writes import Check, Commit, Write

Position = int | str
Work = Callable[[Delivery, Claim], Any]

PREFIX = "POSITION#"
KEPT_FOR = timedelta(days=35)  # longer than the 30 days after which a provider's resend can still come
OLDER = {"ignored": "older than what was seen of its object"}
"""The result of an event that was not run because of its age."""


class Positions(Protocol):
    def advance(self, object_id: str, position: Position, deadline: int) -> bool:
        """Raise the position of an object; False if it is higher already. Raises StoreUnavailable."""
        ...

    def unchanged(self, object_id: str, position: Position) -> Write | None:
        """A condition for a transaction: the object's position is still this one. None if there is no such thing."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class NewestOnly:
    """Runs work only for events that are not older than what was seen of their object.

    object_key: which object an event is about, as a key rule. position: where the event is in that object's life.
    """

    positions: Positions
    object_key: KeyRule
    position: Callable[[Delivery], Any]

    def __call__(self, work: Work) -> Work:
        def guarded(delivery: Delivery, claim: Claim) -> Any:
            object_id = str(make_key(claim.key.operation, self.object_key(delivery)))
            position = self._position(delivery)
            if not self.positions.advance(object_id, position, claim.deadline):
                return OLDER
            value = work(delivery, claim)
            check = self.positions.unchanged(object_id, position) if isinstance(value, Commit) else None
            return replace(value, writes=[*value.writes, check]) if check is not None else value

        return guarded

    def _position(self, delivery: Delivery) -> Position:
        try:
            found = self.position(delivery)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise MissingKeyPart(f"the event has no position: {error!r}") from error
        if isinstance(found, bool) or not isinstance(found, int | str) or found == "":
            raise MissingKeyPart(f"the event's position is {found!r}, not a whole number or text")
        return found


class DynamoPositions:
    """Positions in a DynamoDB table of their own, or beside other items, under keys that begin with POSITION#.

    client: a boto3 DynamoDB client. kept_for: how long a position outlives its last event, by the table's TTL attribute.
    """

    def __init__(
        self,
        client: Any,
        table: str,
        *,
        key_attribute: str = PARTITION_KEY,
        kept_for: timedelta | None = KEPT_FOR,
        clock: Clock | None = None,
    ) -> None:
        self._client = client
        self._table = table
        self._key_attribute = key_attribute
        self._kept_for = kept_for
        self._clock = clock or SystemClock()
        self._sender = Sender(client, self._clock)

    def advance(self, object_id: str, position: Position, deadline: int) -> bool:
        """One conditional update: of two events at once, the older one cannot pass after the newer one has."""
        update, values = "SET #position = :position", {":position": _attribute(position)}
        names = {"#position": "position"}
        if self._kept_for is not None:
            expires_at = self._clock.now_ms() // 1000 + int(self._kept_for.total_seconds())
            update, names["#expiresAt"] = f"{update}, #expiresAt = :expiresAt", TTL_ATTRIBUTE
            values[":expiresAt"] = {"N": str(expires_at)}
        request = {
            "TableName": self._table,
            "Key": self._key(object_id),
            "UpdateExpression": update,
            "ConditionExpression": "attribute_not_exists(#position) OR #position <= :position",
            "ExpressionAttributeNames": names,
            "ExpressionAttributeValues": values,
        }
        return not isinstance(self._sender.send("advance", self._client.update_item, request, deadline), Refused)

    def unchanged(self, object_id: str, position: Position) -> Check:
        return Check(
            self._table,
            self._key(object_id),
            "#position = :position",
            names={"#position": "position"},
            values={":position": _attribute(position)},
        )

    def _key(self, object_id: str) -> dict[str, Any]:
        return {self._key_attribute: {"S": PREFIX + object_id}}


@dataclass(slots=True)
class MemoryPositions:
    """Positions in this process, for tests."""

    seen: dict[str, Position] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def advance(self, object_id: str, position: Position, deadline: int) -> bool:  # noqa: ARG002 - memory answers at once
        with self._lock:
            before = self.seen.get(object_id, position)
            older = type(before) is not type(position) or before > position  # type: ignore[operator]
            if not older:
                self.seen[object_id] = position
            return not older

    def unchanged(self, object_id: str, position: Position) -> None:  # noqa: ARG002 - memory has no transactions
        return None


def _attribute(position: Position) -> dict[str, str]:
    return {"N": str(position)} if isinstance(position, int) else {"S": position}
