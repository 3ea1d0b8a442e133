"""The floor: the requests that this product sends, written by hand on a bare boto3 client, with nothing around them."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from benchmarks.contender import TimedWork
from benchmarks.events import TABLE, total
from benchmarks.network import Network

CLAIM: dict[str, Any] = {
    "TableName": TABLE,
    "ConditionExpression": "attribute_not_exists(pk)",
    "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
}
COMPLETE: dict[str, Any] = {
    "TableName": TABLE,
    "UpdateExpression": "SET #status = :status, finishedAt = :finishedAt, expiresAt = :expiresAt, #result = :result"
    " REMOVE leaseUntil",
    "ConditionExpression": "claimToken = :mine AND #status = :in_progress",
    "ExpressionAttributeNames": {"#status": "status", "#result": "result"},
    "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
}
ORIGIN = {
    "M": {
        "source": {"S": "sqs"},
        "queue": {"S": "orders"},
        "messageId": {"S": "00000000-0000-4000-8000-000000000000"},
    }
}
TOKEN = "0123456789abcdef0123456789abcdef"  # noqa: S105 - a claim's token, fixed because nothing is contended here


class RememberingClient:
    """A client that remembers what it was asked, so that the same requests can be sent again with nothing around them."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def __getattr__(self, name: str) -> Any:
        def ask(**request: Any) -> Any:
            self.asked.append((name, request))
            return getattr(self._client, name)(**request)

        return ask

    def ask_again(self) -> None:
        """Send the remembered requests."""
        for name, request in self.asked:
            with suppress(ClientError):
                getattr(self._client, name)(**request)


class Bare:
    """One conditional PutItem and one conditional UpdateItem for each order. `config`: of its client; None is boto3's own."""

    def __init__(self, network: Network, *, config: Config | None = None) -> None:
        self.network = network
        self.work: TimedWork = total
        self.client = network.attach(boto3.client("dynamodb", config=config))

    def call(self, order: Any) -> None:
        key = {"S": f"IDEMPOTENCY#orders.fulfil#{order['orderId']}"}
        now = str(int(time.time()))
        with suppress(ClientError):
            self.client.put_item(
                Item={
                    "pk": key,
                    "schema": {"N": "1"},
                    "status": {"S": "in_progress"},
                    "operation": {"S": "orders.fulfil"},
                    "claimToken": {"S": TOKEN},
                    "attempt": {"N": "1"},
                    "starts": {"N": "1"},
                    "claimedAt": {"N": now},
                    "leaseUntil": {"N": "1767225600000"},
                    "expiresAt": {"N": "1767225600"},
                    "origin": ORIGIN,
                },
                **CLAIM,
            )
            result = json.dumps(self.work(order))
            self.client.update_item(
                Key={"pk": key},
                ExpressionAttributeValues={
                    ":status": {"S": "succeeded"},
                    ":finishedAt": {"N": now},
                    ":result": {"S": result},
                    ":expiresAt": {"N": "1767225600"},
                    ":mine": {"S": TOKEN},
                    ":in_progress": {"S": "in_progress"},
                },
                **COMPLETE,
            )
