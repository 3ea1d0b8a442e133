"""Records in every state, as of NOW."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from idem import Key, Record, Status
from idem.clock import SystemClock
from idem.dynamo.schema import to_item
from idem.record import Failure, StoredResult

NOW_S = SystemClock().now_ms() // 1000  # records of the tests are compared with the real clock by the program
NOW = NOW_S * 1000
DAY = 86_400

RUNNING = Record(
    key=Key("orders.fulfil", "running"),
    status=Status.IN_PROGRESS,
    claim_token="a" * 32,
    attempt=1,
    starts=1,
    claimed_at=NOW_S - 90,
    lease_until=NOW + 3_600_000,
    expires_at=NOW_S - 90 + 29 * DAY,
    origin={"source": "sqs", "queue": "orders", "messageId": "m-running"},
)
STUCK = replace(
    RUNNING, key=Key("orders.fulfil", "stuck"), claimed_at=NOW_S - 600, lease_until=NOW - 300_000, attempt=2
)
SUCCEEDED = replace(
    RUNNING,
    key=Key("orders.fulfil", "done"),
    status=Status.SUCCEEDED,
    lease_until=None,
    finished_at=NOW_S - 60,
    result=StoredResult("json", '{"parcels":1}'),
    origin={"source": "stripe", "eventId": "evt_done", "requestId": "r-1"},
)
FAILED = replace(
    RUNNING,
    key=Key("payments.credit", "failed"),
    status=Status.FAILED,
    lease_until=None,
    finished_at=NOW_S - 60,
    failure=Failure(type="OutOfStock", message="no tea left", reclaimable=False),
)
RECLAIMABLE = replace(
    FAILED,
    key=Key("payments.credit", "again"),
    failure=Failure(type="Timeout", message="the warehouse did not answer", reclaimable=True),
)
EXPIRED = replace(SUCCEEDED, key=Key("orders.fulfil", "expired"), expires_at=NOW_S - 3600)

EVERY = (RUNNING, STUCK, SUCCEEDED, FAILED, RECLAIMABLE, EXPIRED)


def put(client: Any, table: str, *records: Record) -> None:
    for record in records:
        client.put_item(TableName=table, Item=to_item(record))
