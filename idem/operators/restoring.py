"""Write records for work that is known to be done: after a restore, before the consumers run again.

A restored table has forgotten what was done since the moment it was restored to: it has no record of that work, or one that
was in progress, had failed or has expired. Where the business's own rows name their key, the records can be made again;
without this, every redelivery of that work would run it once more.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from idem.clock import Clock, SystemClock, milliseconds
from idem.dynamo.actions import Actions
from idem.dynamo.schema import from_item
from idem.dynamo.sender import Sender
from idem.errors import CorruptRecord
from idem.operators.connection import Connection
from idem.operators.operator_errors import Exit, OperatorError
from idem.operators.record_text import State, parse_key, request_for, state_of
from idem.operators.stack_resources import key_names
from idem.policy import Policy
from idem.record import Key, Record, StoredResult, claimed_record, first_claim, started
from idem.store import Store, succeeded
from idem.text import message_of

UNKNOWN = StoredResult("omitted", "the work was done; its record was written again after a restore, without the result")
SEND_FOR_MS = 10_000  # how long a write that meets conflicts or throttles is repeated


@dataclass(frozen=True, slots=True)
class UnreadableRow:
    """A row that proves work, and whose record cannot be looked for. where: the row's own key."""

    where: str
    wrong: str


@dataclass(slots=True)
class LedgerProof:
    """What the rows of a table prove. silent: how many rows name no key.

    not_done: the keys whose record does not say that the work is done, each with what stood there; None: no record.
    """

    rows: int = 0
    silent: int = 0
    not_done: dict[Key, Record | None] = field(default_factory=dict)
    unreadable: list[UnreadableRow] = field(default_factory=list)


def rows_of(client: Any, table: str, attribute: str) -> Iterator[tuple[str, Mapping[str, Any] | None]]:
    """Each row of a table: its own key as text, and the value of the attribute, None where it has none.

    Raises OperatorError if there is no such table.
    """
    try:
        own = key_names(client, table)
    except client.exceptions.ResourceNotFoundException:
        raise OperatorError(f"There is no table {table}.", "Check --from-table and --region.", Exit.AWS) from None
    names = {f"#{number}": name for number, name in enumerate(dict.fromkeys([attribute, *own]))}
    pages = client.get_paginator("scan").paginate(
        TableName=table,
        ConsistentRead=True,
        ProjectionExpression=", ".join(names),
        ExpressionAttributeNames=names,
    )
    for page in pages:
        for row in page["Items"]:
            yield json.dumps({name: row[name] for name in own}, default=repr), row.get(attribute)


def prove(
    store: Store, rows: Iterable[tuple[str, Mapping[str, Any] | None]], clock: Clock | None = None
) -> LedgerProof:
    """Which of the keys that the rows name are not recorded as done. An unreadable row does not take the others with it."""
    clock = clock or SystemClock()
    proof, seen = LedgerProof(), set[Key]()
    for where, value in rows:
        proof.rows += 1
        if value is None:
            proof.silent += 1
            continue
        try:
            key = _key(value)
            found = None if key in seen else store.get(key)
            if key not in seen and not _is_done(found, clock.now_ms()):
                proof.not_done[key] = found
            seen.add(key)
        except (OperatorError, CorruptRecord) as error:
            proof.unreadable.append(UnreadableRow(where, message_of(error)))
    return proof


def remember(
    connection: Connection,
    done: Mapping[Key, Record | None],
    retention: timedelta | None,
    origin: Mapping[str, str] | None = None,
    clock: Clock | None = None,
) -> Iterator[Key]:
    """Write a succeeded record for each key whose work was done; each key as it is written.

    done: each key with its record as it was seen (`store.get(key)`; None: there was none). Each write is conditional on
    exactly that, so a record that comes or changes meanwhile stays as it is; so does one that says already that it is done.
    """
    clock = clock or SystemClock()
    actions, sender = Actions(connection.table, connection.sort_value), Sender(connection.dynamodb, clock)
    for key, found in done.items():
        now_ms = clock.now_ms()
        if _is_done(found, now_ms):
            continue
        record = _remembered(key, found, retention, {"source": "restore", **(origin or {})}, now_ms)
        request = actions.put(record, over=found)
        refused = sender.send("restore", connection.dynamodb.put_item, request, now_ms + SEND_FOR_MS)
        there = from_item(refused.item, key) if refused and refused.item else None
        if refused is None or (there and there.claim_token == record.claim_token):  # the same: only its answer was lost
            yield key


def _is_done(found: Record | None, now_ms: int) -> bool:
    return found is not None and state_of(found, now_ms) is State.SUCCEEDED


def _remembered(
    key: Key, found: Record | None, retention: timedelta | None, origin: Mapping[str, str], now_ms: int
) -> Record:
    """The record that says that the work is done. Its token is new: an attempt that wakes up late is fenced off."""
    wanted = request_for(key, Policy(retention=retention))
    base = found or claimed_record(started(first_claim(wanted, now_ms), wanted))
    expires_at = None if retention is None else (now_ms + milliseconds(retention)) // 1000
    fresh = replace(base, claim_token=wanted.token, origin=dict(origin), failure=None)
    return succeeded(fresh, UNKNOWN, expires_at, now_ms)


def _key(value: Mapping[str, Any]) -> Key:
    """The key that an attribute names. Raises OperatorError."""
    text = value.get("S")
    if text is None:
        raise OperatorError(f"The attribute is no text but of type {next(iter(value), '?')}.")
    return parse_key(str(text))
