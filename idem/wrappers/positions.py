"""Positions: how far the life of each object was applied, and which event of it is being worked on. For `newest_only.py`."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, Protocol

from idem.clock import Clock, SystemClock
from idem.dynamo.schema import PARTITION_KEY, TTL_ATTRIBUTE
from idem.dynamo.sender import Refused, Sender
from idem.errors import MissingKeyPart, NotNow
from idem.record import Claim
from idem.writes import Update, Write

Position = int | str

PREFIX = "POSITION#"
KEPT_FOR = timedelta(days=35)  # longer than the 30 days after which a provider's resend can still come

APPLIES = "attribute_not_exists(#position) OR #position <= :position"
BEGINS = f"({APPLIES}) AND (attribute_not_exists(#begun) OR #begun <= :position OR #begunUntil < :now)"


class NewerInProgress(NotNow):
    """A newer event of the same object is being worked on, so it is not known yet whether this one is still wanted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What is known of an object: the position applied to it, and the one begun, until when its claim holds (epoch ms)."""

    applied: Position | None = None
    begun: Position | None = None
    begun_by: str | None = None
    begun_until: int = 0

    def allows(self, position: Position, now_ms: int) -> bool:
        """Whether an event at `position` may begin. Raises NewerInProgress, or MissingKeyPart for positions of two kinds."""
        if self.applied is not None and _is_newer(self.applied, position):
            return False
        if self.begun is not None and self.begun_until >= now_ms and _is_newer(self.begun, position):
            raise NewerInProgress(
                f"position {self.begun!r} of the object is being worked on, which is above {position!r}"
            )
        return True


class Positions(Protocol):
    """Where positions are kept. Every method raises StoreUnavailable when there is no answer."""

    def begin(self, object_id: str, position: Position, claim: Claim) -> bool:
        """Note that work at this position begins; False if a higher one was applied. Raises NewerInProgress."""
        ...

    def apply(self, object_id: str, position: Position, claim: Claim) -> None:
        """Note that the position is applied, unless a higher one is."""
        ...

    def applying(self, object_id: str, position: Position) -> Write | None:
        """The same as a write for a transaction, which a higher position refuses. None if there is no such thing."""
        ...

    def give_up(self, object_id: str, claim: Claim) -> None:
        """Note that the work which this claim began was not done, if it was the last to begin."""
        ...


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

    def begin(self, object_id: str, position: Position, claim: Claim) -> bool:
        """One conditional update: of two events at once, the older one cannot begin after the newer one has."""
        names = {"#position": "position", "#begun": "begun", "#begunBy": "begunBy", "#begunUntil": "begunUntil"}
        values = {
            ":position": _attribute(position),
            ":by": {"S": claim.token},
            ":until": {"N": str(claim.lease_until)},
            ":now": {"N": str(self._clock.now_ms())},
        }
        change = self._kept(
            object_id, "SET #begun = :position, #begunBy = :by, #begunUntil = :until", BEGINS, names, values
        )
        refused = self._send("begin", change, claim.deadline)
        return refused is None or self._allows(refused, object_id, position)

    def apply(self, object_id: str, position: Position, claim: Claim) -> None:
        """The work has run, so that lost answers are asked for again."""
        self._send("apply", self.applying(object_id, position), claim.deadline, insist=True)

    def applying(self, object_id: str, position: Position) -> Update:
        names, values = {"#position": "position"}, {":position": _attribute(position)}
        return self._kept(object_id, "SET #position = :position", APPLIES, names, values)

    def give_up(self, object_id: str, claim: Claim) -> None:
        names = {"#begun": "begun", "#begunBy": "begunBy", "#begunUntil": "begunUntil"}
        remove, mine, by = "REMOVE #begun, #begunBy, #begunUntil", "#begunBy = :by", {":by": {"S": claim.token}}
        self._send("give up", Update(self._table, self._key(object_id), remove, mine, names, by), claim.deadline)

    def _kept(
        self, object_id: str, update: str, condition: str, names: Mapping[str, str], values: Mapping[str, Any]
    ) -> Update:
        """The update, which also moves the end of the item's life where it has one."""
        if self._kept_for is not None:
            expires_at = self._clock.now_ms() // 1000 + int(self._kept_for.total_seconds())
            update = f"{update}, #expiresAt = :expiresAt"
            names = {**names, "#expiresAt": TTL_ATTRIBUTE}
            values = {**values, ":expiresAt": {"N": str(expires_at)}}
        return Update(self._table, self._key(object_id), update, condition, names, values)

    def _send(self, verb: str, change: Update, deadline: int, *, insist: bool = False) -> Refused | None:
        request = {
            "TableName": change.table,
            "Key": change.key,
            "UpdateExpression": change.update,
            "ConditionExpression": change.condition,
            "ExpressionAttributeNames": change.names,
            "ExpressionAttributeValues": change.values,
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
        return self._sender.send(verb, self._client.update_item, request, deadline, insist=insist)

    def _allows(self, refused: Refused, object_id: str, position: Position) -> bool:
        """What a refusal means: False for an older event, otherwise NewerInProgress."""
        item = refused.item
        if item is None:  # the engine sent nothing back
            asked = {"TableName": self._table, "Key": self._key(object_id), "ConsistentRead": True}
            item = self._sender.get("get", self._client.get_item, asked).get("Item") or {}
        if not _seen(item).allows(position, self._clock.now_ms()):
            return False
        raise NewerInProgress("what was seen of the object changed while this event asked for it")

    def _key(self, object_id: str) -> dict[str, Any]:
        return {self._key_attribute: {"S": PREFIX + object_id}}


@dataclass(slots=True)
class MemoryPositions:
    """Positions in this process, for tests. A Commit's position is raised when the work has returned, as that of other work."""

    clock: Clock = field(default_factory=SystemClock)
    seen: dict[str, Seen] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, object_id: str, position: Position, claim: Claim) -> bool:
        with self._lock:
            found = self.seen.get(object_id, Seen())
            if not found.allows(position, self.clock.now_ms()):
                return False
            self.seen[object_id] = replace(found, begun=position, begun_by=claim.token, begun_until=claim.lease_until)
            return True

    def apply(self, object_id: str, position: Position, claim: Claim) -> None:  # noqa: ARG002 - memory answers at once
        with self._lock:
            found = self.seen[object_id]
            if found.applied is None or not _is_newer(found.applied, position):
                self.seen[object_id] = replace(found, applied=position)

    def applying(self, object_id: str, position: Position) -> None:  # noqa: ARG002 - memory has no transactions
        return None

    def give_up(self, object_id: str, claim: Claim) -> None:
        with self._lock:
            found = self.seen[object_id]
            if found.begun_by == claim.token:
                self.seen[object_id] = Seen(applied=found.applied)


def _is_newer(seen: Position, position: Position) -> bool:
    """Whether what was seen is above a position. Raises MissingKeyPart if one is a number and the other text."""
    if isinstance(seen, int) and isinstance(position, int):
        return seen > position
    if isinstance(seen, str) and isinstance(position, str):
        return seen.encode("utf-8", "surrogatepass") > position.encode("utf-8", "surrogatepass")  # as DynamoDB compares
    raise MissingKeyPart(f"position {position!r} cannot be compared with {seen!r}: one is a number, the other text")


def _seen(item: Mapping[str, Any]) -> Seen:
    return Seen(
        applied=_position_in(item.get("position")),
        begun=_position_in(item.get("begun")),
        begun_by=item.get("begunBy", {}).get("S"),
        begun_until=int(item.get("begunUntil", {}).get("N", 0)),
    )


def _position_in(attribute: Mapping[str, str] | None) -> Position | None:
    if attribute is None:
        return None
    return int(attribute["N"]) if "N" in attribute else attribute["S"]


def _attribute(position: Position) -> dict[str, str]:
    return {"N": str(position)} if isinstance(position, int) else {"S": position}
