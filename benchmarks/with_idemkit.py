"""idemkit on its DynamoDB store: its SQS consumer through its own bridge from plain code to its event loop.

It runs in an environment of its own, because its driver is pinned to an older botocore than this product's.
"""

from __future__ import annotations

import asyncio
import json
import time
from importlib import import_module
from typing import Any

from benchmarks.contender import TimedWork
from benchmarks.events import REGION, TABLE, Event, total
from benchmarks.network import Network

VISIBILITY_SECONDS = 180.0


class Idemkit:
    def __init__(self, network: Network) -> None:
        self.network = network
        self.work: TimedWork = total
        kit, bridge = import_module("idemkit"), import_module("idemkit.core.sync_bridge")
        self._response = import_module("aiobotocore.awsrequest").AioAWSResponse
        backend = kit.DynamoBackend(table=TABLE, region_name=REGION, create_table=False)
        sqs = import_module("idemkit.contrib.sqs")
        self._consumer = sqs.sqs_consumer(backend=backend, visibility_timeout_seconds=VISIBILITY_SECONDS)
        self._consumer.handle(self._message)
        config = kit.MethodConfig(key_fields=["order_id"], scope=lambda _arguments: "orders")
        self._once = kit.idempotent_sync(backend=backend, config=config)(self._function)
        table = bridge.run_sync(backend._ensure_table())  # noqa: SLF001 - its client is made at the first use only
        table.meta.client.meta.events.register("before-send.*", self._send)

    def handle(self, event: Event) -> Any:
        """One message after the other, as its own loop over a queue does."""
        results = [self._consumer.dispatch_sync(_message(record)) for record in event["Records"]]
        return {"batchItemFailures": [one for one in results if one.action.value != "ack"]}

    def call(self, order: Any) -> Any:
        return self._once(order["orderId"], order)

    def _message(self, message: Any) -> Any:
        return self.work(json.loads(message["Body"]))

    def _function(self, order_id: str, order: Any) -> Any:  # noqa: ARG002 - its key is an argument of its own
        return self.work(order)

    async def _send(self, request: Any, **_: Any) -> Any:
        arrives = time.perf_counter() + self.network.delay_ms / 1000
        status, headers, body = self.network.answer(request)
        if self.network.delay_ms:
            await asyncio.sleep(max(0.0, arrives - time.perf_counter()))
        return self._response(request.url, status, headers, _Raw(body))


class _Raw:
    """The body as aiohttp hands it over."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    async def read(self) -> bytes:
        return self._body


def _message(record: Event) -> Event:
    """A record of a Lambda event as a message that boto3 receives. Its dedup id is the order, as everybody else's key is."""
    return {
        "MessageId": json.loads(record["body"])["orderId"],
        "Body": record["body"],
        "Attributes": {"ApproximateReceiveCount": "1"},
    }
