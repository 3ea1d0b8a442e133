"""What differs from what the code expects: of the table, the queue, its mapping, and the permissions.

A finding is ok, a warning, a fault, or unknown where the engine or your permissions do not tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from botocore.exceptions import ClientError

from idem.dynamo.schema import PARTITION_KEY, SORT_KEY, TTL_ATTRIBUTE
from idem.operators.connection import Connection
from idem.operators.operator_errors import explain
from idem.operators.record_text import now
from idem.operators.scanning import Wanted, pages

FAR_S = 50 * 365 * 86_400  # an expiry further away is no date but milliseconds, which TTL never deletes


class Grade(StrEnum):
    OK = "ok"
    WARNING = "warning"
    FAULT = "fault"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. remedy: what to do about it."""

    grade: Grade
    about: str
    says: str
    remedy: str = ""

    def as_json(self) -> dict[str, str]:
        return {"grade": self.grade.value, "about": self.about, "says": self.says, "remedy": self.remedy}


def ok(about: str, says: str) -> Finding:
    return Finding(Grade.OK, about, says)


def warning(about: str, says: str, remedy: str) -> Finding:
    return Finding(Grade.WARNING, about, says, remedy)


def fault(about: str, says: str, remedy: str) -> Finding:
    return Finding(Grade.FAULT, about, says, remedy)


def unknown(about: str, error: ClientError) -> Finding:
    explained = explain(error)
    return Finding(Grade.UNKNOWN, about, str(explained.sentence) if explained else str(error))


def table_findings(connection: Connection) -> Iterator[Finding]:
    """The table's key schema, expiry, recovery, protection and replicas, and the shape of what is in it."""
    name, client = connection.table, connection.dynamodb
    table: Mapping[str, Any] = client.describe_table(TableName=name)["Table"]
    yield _status(table)
    yield _key_schema(table, connection.sort_value)
    yield _expiry(client, name)
    yield _recovery(client, name)
    if table.get("DeletionProtectionEnabled"):
        yield ok("deletion protection", "on")
    else:
        yield warning(
            "deletion protection",
            "off: a lost table means that every redelivery still on its way runs again",
            "Switch it on where the data counts.",
        )
    if replicas := table.get("Replicas"):
        yield _replicas(table, [str(one.get("RegionName")) for one in replicas])
    yield from _contents(connection)


def _status(table: Mapping[str, Any]) -> Finding:
    status, items = table.get("TableStatus"), int(table.get("ItemCount", 0))
    if status == "ACTIVE":
        return ok("table", f"{table.get('TableName')} is active, about {items:,} items")
    return fault("table", f"{table.get('TableName')} is {status}", "Wait until it is ACTIVE.")


def _key_schema(table: Mapping[str, Any], sort_value: str | None) -> Finding:
    types = {one["AttributeName"]: one["AttributeType"] for one in table.get("AttributeDefinitions", ())}
    schema = {one["KeyType"]: one["AttributeName"] for one in table.get("KeySchema", ())}
    shown = ", ".join(f"{name} ({types.get(name)})" for name in schema.values())
    partition, sort = schema.get("HASH"), schema.get("RANGE")
    if partition != PARTITION_KEY or types.get(PARTITION_KEY) != "S":
        return fault("key schema", f"it is {shown}", f"The partition key must be {PARTITION_KEY} (S): another table?")
    if sort is None and sort_value is None:
        return ok("key schema", shown)
    if sort is None:
        return fault(
            "key schema", f"it is {shown}, without a sort key", "Leave --sort-value and the store's sort_value out."
        )
    if sort != SORT_KEY or types.get(SORT_KEY) != "S":
        return fault("key schema", f"it is {shown}", f"A sort key must be {SORT_KEY} (S).")
    if sort_value is None:
        return fault("key schema", f"it is {shown}", "Pass --sort-value with the store's sort_value.")
    return ok("key schema", f"{shown}, records under the sort value {sort_value!r}")


def _expiry(client: Any, name: str) -> Finding:
    try:
        ttl = client.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
    except ClientError as error:
        return unknown("expiry (TTL)", error)
    status, attribute = ttl.get("TimeToLiveStatus"), ttl.get("AttributeName")
    if status in {"ENABLED", "ENABLING"} and attribute == TTL_ATTRIBUTE:
        return ok("expiry (TTL)", f"{str(status).lower()} on {attribute}")
    if status in {"ENABLED", "ENABLING"}:
        says = f"on the attribute {attribute}, and records end at {TTL_ATTRIBUTE}"
    else:
        says = "off: expired records count as none, but stay and are paid for"
    return fault("expiry (TTL)", says, f"Switch TTL on for {TTL_ATTRIBUTE}.")


def _recovery(client: Any, name: str) -> Finding:
    try:
        found = client.describe_continuous_backups(TableName=name)["ContinuousBackupsDescription"]
    except ClientError as error:
        return unknown("recovery", error)
    status = found.get("PointInTimeRecoveryDescription", {}).get("PointInTimeRecoveryStatus")
    if status == "ENABLED":
        return ok("recovery", "point-in-time recovery is on")
    return warning("recovery", "point-in-time recovery is off", "Switch it on: a lost memory runs everything again.")


def _replicas(table: Mapping[str, Any], regions: list[str]) -> Finding:
    where = ", ".join(regions)
    if table.get("MultiRegionConsistency") == "STRONG":
        return fault(
            "replicas",
            f"strongly consistent with {where}: such tables have neither TTL nor transactions",
            "Commit and guard cannot work there: use a table in one Region.",
        )
    return fault(
        "replicas",
        f"replicated to {where}: a condition sees its own Region only, so two Regions can win the same key",
        "Use a table in one Region, or let each key be worked on in one Region only.",
    )


def _contents(connection: Connection) -> Iterator[Finding]:
    """What the first page of the table holds."""
    about, now_s = "records", now() // 1000
    try:
        page = next(pages(connection, Wanted(), now()))
    except ClientError as error:
        yield unknown(about, error)
        return
    far = [record for record in page.records if record.expires_at is not None and record.expires_at > now_s + FAR_S]
    if page.unreadable:
        first = page.unreadable[0]
        yield fault(
            about, f"{len(page.unreadable)} of {page.items_read} items cannot be read: {first}", "See what wrote them."
        )
    if far:
        yield fault(
            about,
            f"{len(far)} end in more than 50 years ({far[0].key}): were milliseconds written for seconds?",
            "TTL never deletes them: see what wrote them.",
        )
    if not page.unreadable and not far:
        yield ok(about, f"the first {page.items_read} items can all be read")
