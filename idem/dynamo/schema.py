"""The DynamoDB shape of a record: names, key format, version, and record <-> item.

One item per key. `tests/idem/dynamo/test_schema.py` freezes the shape; changing it raises `VERSION`. Code of version n reads
every version up to n and refuses a newer one, so that a roll-back never misreads what a newer deployment wrote.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from idem.errors import CorruptRecord
from idem.record import Decided, Failure, Key, Record, Status, StoredResult

VERSION = 1
PARTITION_KEY = "pk"
SORT_KEY = "sk"
SORT_VALUE = "IDEMPOTENCY"  # the constant sort key of records in somebody's single table
TTL_ATTRIBUTE = "expiresAt"
KEY_PREFIX = "IDEMPOTENCY#"

Item = dict[str, Any]
"""A DynamoDB item in the low-level client's form: attribute name -> {type: value}."""


def primary_key(key: Key, sort_value: str | None = None) -> Item:
    """The primary key of a record: `pk` alone, or `pk` and `sk` in a table shared with other items."""
    found: Item = {PARTITION_KEY: {"S": f"{KEY_PREFIX}{key.operation}#{key.identity}"}}
    if sort_value is not None:
        found[SORT_KEY] = {"S": sort_value}
    return found


def to_item(record: Record, sort_value: str | None = None) -> Item:
    """The item that holds `record`. Attributes without a value are left out: DynamoDB has no use for them."""
    item = primary_key(record.key, sort_value) | {
        "schema": {"N": str(VERSION)},
        "status": {"S": record.status.value},
        "operation": {"S": record.key.operation},
        "claimToken": {"S": record.claim_token},
        "attempt": {"N": str(record.attempt)},
        "starts": {"N": str(record.starts)},
        "claimedAt": {"N": str(record.claimed_at)},
    }
    if record.finished_at is not None:
        item["finishedAt"] = {"N": str(record.finished_at)}
    if record.lease_until is not None:
        item["leaseUntil"] = {"N": str(record.lease_until)}
    if record.expires_at is not None:
        item[TTL_ATTRIBUTE] = {"N": str(record.expires_at)}
    if record.request_hash is not None:
        item["requestHash"] = {"S": record.request_hash}
    if record.failure is not None:
        item["error"] = failure_value(record.failure)
    if record.origin:
        item["origin"] = {"M": {name: {"S": value} for name, value in record.origin.items()}}
    if record.result is not None:
        item |= result_attributes(record.result)
    if record.decided:
        item["decided"] = {"L": [{"M": _decided_attributes(one)} for one in record.decided]}
    if record.unstarted:
        item["unstarted"] = {"BOOL": True}
    return item


def _decided_attributes(one: Decided) -> Item:
    return {
        "decision": {"S": one.decision},
        "by": {"S": one.by},
        "at": {"N": str(one.at)},
        "why": {"S": one.why},
        "attempt": {"N": str(one.attempt)},
    }


def result_attributes(result: StoredResult) -> Item:
    """The one attribute that keeps a result: its JSON, its identifier, or why it was not kept."""
    name = {"json": "result", "id": "resultId", "omitted": "resultOmitted"}[result.kind]
    return {name: {"S": result.text}}


def failure_value(failure: Failure) -> Item:
    """The value of the `error` attribute."""
    return {
        "M": {
            "type": {"S": failure.type},
            "message": {"S": failure.message},
            "reclaimable": {"BOOL": failure.reclaimable},
        }
    }


def number(value: int | None) -> Item | None:
    return None if value is None else {"N": str(value)}


def from_item(item: Mapping[str, Any], key: Key) -> Record:
    """The record that `item` holds.

    Raises CorruptRecord when the item is not one of ours, or was written by a newer version of this schema: no
    decision is taken on something that cannot be read in full.
    """
    try:
        version = int(item["schema"]["N"])
        if version > VERSION:
            raise CorruptRecord(key, f"it has schema {version}, this code knows up to {VERSION}: deploy the newer code")
        return Record(
            key=key,
            status=Status(item["status"]["S"]),
            claim_token=item["claimToken"]["S"],
            attempt=int(item["attempt"]["N"]),
            starts=int(item["starts"]["N"]),
            claimed_at=int(item["claimedAt"]["N"]),
            finished_at=_int(item, "finishedAt"),
            lease_until=_int(item, "leaseUntil"),
            expires_at=_int(item, TTL_ATTRIBUTE),
            request_hash=item["requestHash"]["S"] if "requestHash" in item else None,
            result=_result(item),
            failure=_failure(item),
            origin={name: value["S"] for name, value in item["origin"]["M"].items()} if "origin" in item else {},
            decided=tuple(_decided(value["M"]) for value in item["decided"]["L"]) if "decided" in item else (),
            unstarted="unstarted" in item and item["unstarted"]["BOOL"] is True,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise CorruptRecord(key, f"its attributes cannot be read ({error!r}): is it another program's item?") from error


def _decided(value: Mapping[str, Any]) -> Decided:
    return Decided(
        decision=value["decision"]["S"],
        by=value["by"]["S"],
        at=int(value["at"]["N"]),
        why=value["why"]["S"],
        attempt=int(value["attempt"]["N"]),
    )


def _int(item: Mapping[str, Any], name: str) -> int | None:
    return int(item[name]["N"]) if name in item else None


def _result(item: Mapping[str, Any]) -> StoredResult | None:
    if "result" in item:
        return StoredResult(kind="json", text=item["result"]["S"])
    if "resultId" in item:
        return StoredResult(kind="id", text=item["resultId"]["S"])
    if "resultOmitted" in item:
        return StoredResult(kind="omitted", text=item["resultOmitted"]["S"])
    return None


def _failure(item: Mapping[str, Any]) -> Failure | None:
    if "error" not in item:
        return None
    value = item["error"]["M"]
    return Failure(
        type=value["type"]["S"], message=value["message"]["S"], reclaimable=bool(value["reclaimable"]["BOOL"])
    )
