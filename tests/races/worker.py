"""One process of a race: it takes batches of messages through the real consumer, to the table of the local account."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from idem import Claim, Commit, Consumer, Delivery, DynamoStore, Policy, Put, Retention, SqsSource, keys
from idem.clock import SystemClock
from idem.testing import LambdaContext, sqs_event
from sandbox.access import Access

RECORDS, LEDGER = "records", "ledger"
INVOCATION_SECONDS = 5.0  # a killed process holds its keys for this long
MARGIN = timedelta(milliseconds=200)  # the processes share one clock
POLICY = Policy(retention=Retention.QUEUE, lease_margin=MARGIN, skew_margin=MARGIN)
BATCH = 5
GO = "go"
READY_SECONDS = 60.0


def run(port: int, mode: str, orders: Sequence[str], folder: Path) -> None:
    """Take every order through once, in batches, whatever the answer: the first receive of each message."""
    handler = consumer(Access(port).client("dynamodb"), mode)
    (folder / f"ready-{os.getpid()}").touch()
    wait_for((folder / GO).exists)
    for start in range(0, len(orders), BATCH):
        handler(event(orders[start : start + BATCH]), LambdaContext(SystemClock(), seconds=INVOCATION_SECONDS))


def wait_for(condition: Callable[[], bool]) -> None:
    """Files, unlike locks, do not mind that one of the waiting dies."""
    ends_at = time.monotonic() + READY_SECONDS
    while not condition():
        if time.monotonic() > ends_at:
            raise TimeoutError("not all of the processes are ready")
        time.sleep(0.01)


def run_until_done(port: int, mode: str, orders: Sequence[str], patience_seconds: float) -> list[str]:
    """Redeliver like a queue until everything is done or the patience ends. What is left."""
    handler = consumer(Access(port).client("dynamodb"), mode)
    left, ends_at = list(orders), time.monotonic() + patience_seconds
    while left and time.monotonic() < ends_at:
        again: list[str] = []
        for start in range(0, len(left), BATCH):
            batch = left[start : start + BATCH]
            answer = handler(event(batch), LambdaContext(SystemClock(), seconds=INVOCATION_SECONDS))
            failed = {one["itemIdentifier"] for one in answer["batchItemFailures"]}
            again += [order for number, order in enumerate(batch, start=1) if f"message-{number}" in failed]
        left = again
        if left:
            time.sleep(0.2)
    return left


def event(orders: Sequence[str]) -> dict[str, Any]:
    return sqs_event(*({"orderId": order} for order in orders))


def consumer(client: Any, mode: str) -> Consumer:
    def complete(delivery: Delivery, _claim: Claim) -> str:
        client.put_item(TableName=LEDGER, Item=entry(delivery))
        return "entered"

    def commit(delivery: Delivery, _claim: Claim) -> Commit:
        return Commit([Put(LEDGER, entry(delivery))], "entered")

    def plan(delivery: Delivery) -> Commit:
        return Commit([Put(LEDGER, entry(delivery))], "entered")

    return Consumer(
        operation="orders.enter",
        source=SqsSource(),
        key=keys.field("orderId"),
        work={"complete": complete, "commit": commit}.get(mode),
        plan=plan if mode == "guard" else None,
        policy=POLICY,
        store=DynamoStore(client, RECORDS),
    )


def entry(delivery: Delivery) -> dict[str, Any]:
    """A line of the ledger. Each attempt enters one of its own, so that two of them for one order can be told from one."""
    return {"pk": {"S": uuid.uuid4().hex}, "orderId": {"S": delivery.payload["orderId"]}}
