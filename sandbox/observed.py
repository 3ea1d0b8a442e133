"""What happened, read from the account itself: effects from the ledger, records from the table, arrivals from the logs."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from idem import Key, Record, keys
from idem.dynamo.schema import PARTITION_KEY, from_item, primary_key
from sandbox.access import Access
from sandbox.deploy import Outputs

POLL_SECONDS = 0.1


class NotSeenError(Exception):
    """Something that had to happen did not, in the time it was given."""


class Observed:
    """A reader of one deployed stack."""

    def __init__(self, account: Access, outputs: Outputs) -> None:
        self._outputs = outputs
        self._dynamodb = account.client("dynamodb")
        self._sqs = account.client("sqs")
        self._logs = account.client("logs")

    def record(self, key: Key) -> Record | None:
        """The idempotency record of a key."""
        table = self._outputs.idempotency_table_name
        item = self._dynamodb.get_item(TableName=table, Key=primary_key(key), ConsistentRead=True).get("Item")
        return from_item(item, key) if item else None

    def effects(self) -> Counter[str]:
        """How many rows the ledger has for each subject."""
        pages = self._dynamodb.get_paginator("scan").paginate(TableName=self._outputs.ledger_table_name)
        return Counter(item[PARTITION_KEY]["S"] for page in pages for item in page["Items"])

    def arrivals(self) -> dict[str, int]:
        """How often each message of the queue was delivered, by message id: its highest receive count in the logs."""
        counts: dict[str, int] = {}
        for line in self._lines():
            message = line.get("origin", {}).get("messageId")
            if line.get("message") == "delivery" and message:
                counts[message] = max(counts.get(message, 0), int(line["receive_count"]))
        return counts

    def dead_letters(self) -> list[str]:
        """The ids of the messages in the dead-letter queue, which keep the ids they had in the queue."""
        found = self._sqs.receive_message(
            QueueUrl=self._outputs.orders_dlq_url, MaxNumberOfMessages=10, VisibilityTimeout=0, WaitTimeSeconds=0
        )
        return [message["MessageId"] for message in found.get("Messages", [])]

    def all_dead_letters(self) -> set[str]:
        """The ids of all messages in the dead-letter queue, however many; they stay invisible for some minutes."""
        found: set[str] = set()
        while messages := self._sqs.receive_message(
            QueueUrl=self._outputs.orders_dlq_url, MaxNumberOfMessages=10, VisibilityTimeout=300, WaitTimeSeconds=0
        ).get("Messages"):
            found |= {message["MessageId"] for message in messages}
        return found

    def waiting(self) -> int:
        """How many messages the queue still holds, whether visible, in flight or delayed."""
        names = ("", "NotVisible", "Delayed")
        numbers: Any = self._sqs.get_queue_attributes(QueueUrl=self._outputs.orders_queue_url, AttributeNames=["All"])
        return sum(int(numbers["Attributes"].get(f"ApproximateNumberOfMessages{name}", 0)) for name in names)

    def _lines(self) -> list[dict[str, Any]]:
        """Every structured line that a function of the stack wrote."""
        found: list[dict[str, Any]] = []
        for group in self._logs.describe_log_groups()["logGroups"]:
            pages = self._logs.get_paginator("filter_log_events").paginate(logGroupName=group["logGroupName"])
            for event in (event for page in pages for event in page["events"]):
                if event["message"].startswith("{"):
                    found.append(json.loads(event["message"]))
        return found


def order_key(order_id: str) -> Key:
    """The key under which the orders function records an order."""
    return keys.make_key("orders.fulfil", [order_id])


def payment_key(event_id: str) -> Key:
    """The key under which the payments function records an event."""
    return keys.make_key("payments.credit", [event_id])


def wait_for(what: str, seen: Callable[[], bool], *, seconds: float) -> None:
    """Return when `seen` says yes. Raises NotSeenError, naming `what`, when it has not after `seconds`."""
    deadline = time.monotonic() + seconds
    while not seen():
        if time.monotonic() > deadline:
            raise NotSeenError(f"{what} did not happen within {seconds:.0f} s")
        time.sleep(POLL_SECONDS)
