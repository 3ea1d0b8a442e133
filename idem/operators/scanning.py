"""Looking through the table: filters that the engine applies, pages with a limit, and what they cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from idem.dynamo.schema import KEY_PREFIX, PARTITION_KEY, SORT_KEY, TTL_ATTRIBUTE, from_item, primary_key
from idem.errors import CorruptRecord
from idem.operators.connection import Connection
from idem.operators.operator_errors import OperatorError
from idem.operators.record_text import State, state_of
from idem.record import Key, Record, Status

PAGE_BYTES = 1_048_576  # DynamoDB's most for one page of a scan, before filters
UNITS_PER_PAGE = 128  # of an eventually consistent read: half a unit for each 4 KB
PAGES_MAX = 20  # 20 MB: well under a second of a table's capacity, and a fraction of a cent


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which records. `mentions`: a message, event or request id in the origin. Times are epoch seconds of the claim."""

    operation: str | None = None
    state: State | None = None
    claimed_before: int | None = None
    claimed_after: int | None = None
    mentions: str | None = None


@dataclass(slots=True)
class Page:
    """One page: the records that were wanted, how many items it read, and where the next one starts."""

    records: list[Record]
    items_read: int
    unreadable: list[CorruptRecord] = field(default_factory=list)
    next: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Size:
    """What DescribeTable says of the table; up to six hours old, as AWS says itself."""

    items: int
    bytes: int

    @property
    def pages(self) -> int:
        return max(1, -(-self.bytes // PAGE_BYTES))


def size(connection: Connection) -> Size:
    """The size of the table."""
    table = connection.dynamodb.describe_table(TableName=connection.table)["Table"]
    return Size(items=int(table.get("ItemCount", 0)), bytes=int(table.get("TableSizeBytes", 0)))


def cost(of: Size, pages_max: int) -> str | None:
    """A warning where a scan costs something worth knowing, None where it does not."""
    if of.pages <= 1:
        return None
    read = min(of.pages, pages_max)
    part = f"at most {read} of its about {of.pages} pages" if read < of.pages else f"all of its about {of.pages} pages"
    return (
        f"This scans the table ({of.items:,} items, {of.bytes / 1e6:,.0f} MB): {part}, about"
        f" {read * UNITS_PER_PAGE:,} read units. A known key costs one: `idem show KEY`."
    )


def pages(connection: Connection, wanted: Wanted, now_ms: int, *, after: str | None = None) -> Iterator[Page]:
    """The table page by page, the wanted records of each. `after`: the key where an earlier look ended."""
    request: dict[str, Any] = {"TableName": connection.table} | _filter(wanted, now_ms, connection.sort_value)
    if after:
        request["ExclusiveStartKey"] = primary_key(Key(*_parts(after)), connection.sort_value)
    while True:
        answer = connection.dynamodb.scan(**request)
        page = Page([], int(answer.get("ScannedCount", 0)), next=answer.get("LastEvaluatedKey"))
        for item in answer.get("Items", ()):
            try:
                record = record_of(item)
            except CorruptRecord as error:
                page.unreadable.append(error)
                continue
            if wanted.state is None or state_of(record, now_ms) is wanted.state:
                page.records.append(record)
        yield page
        if page.next is None:
            return
        request["ExclusiveStartKey"] = page.next


def find(
    connection: Connection,
    wanted: Wanted,
    now_ms: int,
    *,
    limit: int,
    pages_max: int = PAGES_MAX,
    after: str | None = None,
    progress: Callable[[int, int], None] = lambda _pages, _items: None,
) -> Found:
    """The wanted records, up to `limit` of them from up to `pages_max` pages."""
    found = Found()
    for page in pages(connection, wanted, now_ms, after=after):
        found.pages += 1
        found.items_read += page.items_read
        found.unreadable += page.unreadable
        found.records += page.records
        progress(found.pages, found.items_read)
        if len(found.records) > limit:
            found.records = found.records[:limit]
            found.after = str(found.records[-1].key)
            break
        if found.pages >= pages_max and page.next is not None:
            found.after = page.next[PARTITION_KEY]["S"].removeprefix(KEY_PREFIX)
            break
    return found


@dataclass(slots=True)
class Found:
    """What a look through the table brought. `after`: the key to go on from, None when the table was read to its end."""

    records: list[Record] = field(default_factory=list)
    unreadable: list[CorruptRecord] = field(default_factory=list)
    pages: int = 0
    items_read: int = 0
    after: str | None = None


def record_of(item: Mapping[str, Any]) -> Record:
    """The record in a scanned item. Raises CorruptRecord."""
    key = Key(*_parts(item[PARTITION_KEY]["S"]))
    if not key.operation or not key.identity:
        raise CorruptRecord(key, "its key is not an operation and an identity")
    return from_item(item, key)


def _parts(key: str) -> tuple[str, str]:
    """Operation and identity of a key as it is stored, whatever it holds."""
    operation, _, identity = key.removeprefix(KEY_PREFIX).partition("#")
    return operation, identity


def mentioned(connection: Connection, identifier: str, now_ms: int, pages_max: int) -> list[Record]:
    """The records that a message, event or request of this id made. Raises OperatorError when there is none."""
    found = find(connection, Wanted(mentions=identifier), now_ms, limit=20, pages_max=pages_max)
    if not found.records:
        part = "the table" if found.after is None else f"the first {found.items_read:,} items of the table"
        raise OperatorError(
            f"No record in {part} was made by {identifier!r}.",
            "A record names the delivery that ran the work; those that were refused are only in the function's logs."
            " Look by key: `idem key` derives it from a sample.",
        )
    return found.records


def _filter(wanted: Wanted, now_ms: int, sort_value: str | None) -> dict[str, Any]:
    """The filter expression: everything that the engine can decide is not sent over the network."""
    names, values = {"#pk": PARTITION_KEY}, {":prefix": {"S": KEY_PREFIX}}
    terms = ["begins_with(#pk, :prefix)"]
    if wanted.operation:
        values[":prefix"] = {"S": f"{KEY_PREFIX}{wanted.operation}#"}
    if sort_value is not None:
        names["#sk"], values[":sk"] = SORT_KEY, {"S": sort_value}
        terms.append("#sk = :sk")
    for name, operator, moment in (("before", "<=", wanted.claimed_before), ("after", ">=", wanted.claimed_after)):
        if moment is not None:
            names["#claimedAt"], values[f":{name}"] = "claimedAt", {"N": str(moment)}
            terms.append(f"#claimedAt {operator} :{name}")
    if wanted.state is not None and wanted.state is not State.EXPIRED:
        names["#status"], values[":status"] = "status", {"S": STATUSES[wanted.state].value}
        terms.append("#status = :status")
    if wanted.state is State.EXPIRED:
        names["#expiresAt"], values[":now"] = TTL_ATTRIBUTE, {"N": str(now_ms // 1000)}
        terms.append("#expiresAt <= :now")
    if wanted.mentions:
        names |= {"#origin": "origin"} | {f"#{name}": name for name in IDENTIFIERS}
        values[":id"] = {"S": wanted.mentions}
        terms.append("(" + " OR ".join(f"#origin.#{name} = :id" for name in IDENTIFIERS) + ")")
    return {
        "FilterExpression": " AND ".join(terms),
        "ExpressionAttributeNames": names,
        "ExpressionAttributeValues": values,
    }


IDENTIFIERS = ("messageId", "eventId", "requestId", "sequenceNumber")

STATUSES = {
    State.RUNNING: Status.IN_PROGRESS,
    State.STUCK: Status.IN_PROGRESS,
    State.SUCCEEDED: Status.SUCCEEDED,
    State.RECLAIMABLE: Status.FAILED,
    State.FAILED: Status.FAILED,
}
