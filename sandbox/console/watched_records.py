"""The records as the page shows them, what happened to them while it looked, and how many effects each key made."""

from __future__ import annotations

from collections import Counter, deque
from threading import Lock
from typing import Any

from idem.dynamo.schema import primary_key
from idem.operators.record_text import as_json, now, parse_key, reading_of
from idem.operators.scanning import Wanted, find
from idem.operators.timeline import Moment, between, told
from idem.record import Key, Record
from sandbox.console.activity import Activity, LoggedDelivery
from sandbox.stack_connection import LEDGER, StackConnection

SHOWN_MAX = 200  # records on the page
PAGES_MAX = 1  # of 1 MB, for each look
MOMENTS_MAX = 5_000

KINDS = {
    "Replays": "replayed",
    "Held": "refused",
    "Mismatches": "refused",
    "StoredFailures": "refused",
    "ReplayedFailures": "refused",
    "LostClaims": "lost its claim",
    "Unsettled": "held for a person",
    "TransientFailures": "failed",
    "Unrecorded": "not recorded",
}
"""Outcomes of deliveries that left no other trace in the record, in words."""


class WatchedRecords:
    """The records of one table, looked at again and again."""

    def __init__(self, connection: StackConnection, activity: Activity) -> None:
        self._connection = connection
        self._activity = activity
        self._seen: dict[Key, Record] = {}
        self._moments: deque[Moment] = deque(maxlen=MOMENTS_MAX)
        self._lock = Lock()

    def look(self) -> dict[str, Any]:
        """The records as they are now, newest first."""
        now_ms = now()
        found = find(self._connection, Wanted(), now_ms, limit=10**6, pages_max=PAGES_MAX)
        with self._lock:
            after = {one.key: one for one in found.records}
            self._moments.extend(sorted(between(self._seen, after, now_ms), key=lambda one: one.at))
            self._seen = after
        records = sorted(found.records, key=lambda one: one.finished_at or one.claimed_at, reverse=True)
        effects = self._effects()
        return {
            "now": now_ms,
            "records": [
                as_json(one, now_ms)
                | {"leaseMs": one.lease_until, "expiresMs": one.expires_at and one.expires_at * 1000}
                | ({"effects": effects[str(one.key)]} if effects is not None else {})
                for one in records[:SHOWN_MAX]
            ],
            "count": len(records),
            "whole": found.after is None,
            "unreadable": len(found.unreadable),
        }

    def note(self, key: Key, kind: str, says: str) -> None:
        """Remember something that happened to a key and left no trace in its record."""
        with self._lock:
            self._moments.append(Moment(at=now(), key=key, kind=kind, says=says))

    def life(self, text: str) -> dict[str, Any]:
        """One record with its item, its explanation and its timeline."""
        key, now_ms = parse_key(text), now()
        client, table = self._connection.dynamodb, self._connection.table
        address = primary_key(key, self._connection.sort_value)
        record = self._connection.store().get(key)
        item = client.get_item(TableName=table, Key=address, ConsistentRead=True).get("Item")
        reading = reading_of(record, now_ms) if record else None
        return {
            "key": str(key),
            "state": reading.state.value if reading else "absent",
            "says": reading.says if reading else "There is no record of this key.",
            "next": reading.next if reading else "The next delivery runs the work, as attempt 1.",
            "item": item,
            "timeline": [
                {"at": one.at, "kind": one.kind, "says": one.says} for one in self._timeline(key, record, now_ms)
            ],
        }

    def effects_of(self, keys: list[str]) -> dict[str, int] | None:
        """How many effects these keys made, None where there is no ledger."""
        counts = self._effects()
        return None if counts is None else {key: counts[key] for key in keys}

    def _timeline(self, key: Key, record: Record | None, now_ms: int) -> list[Moment]:
        with self._lock:
            seen = [one for one in self._moments if one.key == key]
        if not seen and record is not None:
            seen = told(record)
        logged = [moment for line in self._activity.lines(now_ms) if (moment := _logged(key, line))]
        return sorted([*seen, *logged], key=lambda one: one.at)

    def _effects(self) -> Counter[str] | None:
        """Rows of the stack's ledger for each idempotency key."""
        table = self._connection.outputs.get(LEDGER)
        if table is None:
            return None
        answer = self._connection.dynamodb.scan(TableName=table, ProjectionExpression="idempotencyKey")
        return Counter(item["idempotencyKey"]["S"] for item in answer["Items"] if "idempotencyKey" in item)


def _logged(key: Key, line: LoggedDelivery) -> Moment | None:
    """A delivery from the logs that the record itself does not tell of."""
    kind = KINDS.get(line.outcome)
    if line.key != str(key) or kind is None:
        return None
    source = line.origin.get("messageId") or line.origin.get("requestId") or ""
    parts = [f"a delivery{f' ({source})' if source else ''}", f"receive {line.receive_count}", line.error or ""]
    return Moment(at=line.at, key=key, kind=kind, says=", ".join(filter(None, parts)))
