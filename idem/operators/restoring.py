"""Write records for work that is known to be done: after a restore, before the consumers run again.

A restored table has forgotten what was done since the moment it was restored to. Where the business's own rows name
their key, the records can be made again; without this, every redelivery of that work would run it once more.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from idem.clock import milliseconds
from idem.errors import CorruptRecord
from idem.operators.operator_errors import Exit, OperatorError
from idem.operators.record_text import now, parse_key, request_for
from idem.policy import Policy
from idem.record import Key, StoredResult, Succeeded
from idem.store import Store
from idem.text import message_of

UNKNOWN = StoredResult("omitted", "the work was done; its record was written again after a restore, without the result")


@dataclass(frozen=True, slots=True)
class UnreadableRow:
    """A row that proves work, and whose record cannot be looked for. where: the row's own key."""

    where: str
    wrong: str


@dataclass(slots=True)
class Proof:
    """What the rows of a table prove. silent: how many rows name no key; missing: the keys without a record."""

    rows: int = 0
    silent: int = 0
    missing: list[Key] = field(default_factory=list)
    unreadable: list[UnreadableRow] = field(default_factory=list)


def rows_of(client: Any, table: str, attribute: str) -> Iterator[tuple[str, Mapping[str, Any] | None]]:
    """Each row of a table: its own key as text, and the value of the attribute, None where it has none.

    Raises OperatorError if there is no such table.
    """
    own = _key_names(client, table)
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


def prove(store: Store, rows: Iterable[tuple[str, Mapping[str, Any] | None]]) -> Proof:
    """Which of the keys that the rows name have no record. A row that cannot be read does not take the others with it."""
    proof, seen = Proof(), set[Key]()
    for where, value in rows:
        proof.rows += 1
        if value is None:
            proof.silent += 1
            continue
        try:
            key = _key(value)
            if key not in seen and store.get(key) is None:
                proof.missing.append(key)
            seen.add(key)
        except (OperatorError, CorruptRecord) as error:
            proof.unreadable.append(UnreadableRow(where, message_of(error)))
    return proof


def remember(
    store: Store, done: Iterable[Key], retention: timedelta | None, origin: Mapping[str, str] | None = None
) -> Iterator[Key]:
    """Write a succeeded record for each key that has no record; each key as it is written.

    Each is one conditional write, so that a record that is there, or comes meanwhile, stays as it is.
    """
    for key in dict.fromkeys(done):
        expires_at = None if retention is None else (now() + milliseconds(retention)) // 1000
        wanted = replace(
            request_for(key, Policy(retention=retention)),
            origin={"source": "restore", **(origin or {})},
            expires_at=expires_at,
        )
        answer = store.guard(wanted, UNKNOWN, ())
        if isinstance(answer, Succeeded) and answer.record.claim_token == wanted.token:
            yield key


def _key_names(client: Any, table: str) -> list[str]:
    try:
        schema = client.describe_table(TableName=table)["Table"]["KeySchema"]
    except client.exceptions.ResourceNotFoundException:
        raise OperatorError(f"There is no table {table}.", "Check --from-table and --region.", Exit.AWS) from None
    return [one["AttributeName"] for one in schema]


def _key(value: Mapping[str, Any]) -> Key:
    """The key that an attribute names. Raises OperatorError."""
    text = value.get("S")
    if text is None:
        raise OperatorError(f"The attribute is no text but of type {next(iter(value), '?')}.")
    return parse_key(str(text))
