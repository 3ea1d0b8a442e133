"""What the contenders are given: SQS batches of orders, a Lambda context, and the work."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

from botocore.config import Config

Event = dict[str, Any]

TABLE = "records"
OPERATION = "orders.fulfil"
REGION = "us-east-1"
TIMEOUT_MS = 900_000
ACCOUNT = {
    "AWS_ACCESS_KEY_ID": "000000000000",
    "AWS_SECRET_ACCESS_KEY": "local",
    "AWS_DEFAULT_REGION": REGION,
    "AWS_REGION": REGION,
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
}
# The configuration of the handlers' own client (`idem/on_lambda/clients.py`; a test says that they agree).
PRODUCT = Config(
    connect_timeout=1,
    read_timeout=2,
    retries={"mode": "standard", "total_max_attempts": 3},
    parameter_validation=False,
    user_agent_extra="idem",
)


class Killed(KeyboardInterrupt):
    """The process ends in the middle of the work: nobody handles this. Any other error would be the ending of that one work."""


class Context:
    """Lambda's context, as far as anybody asks it."""

    function_name = "orders"
    function_version = "1"
    memory_limit_in_mb = 512
    invoked_function_arn = f"arn:aws:lambda:{REGION}:000000000000:function:orders"
    aws_request_id = "5c2b3d0a-0000-4000-8000-000000000000"

    def get_remaining_time_in_millis(self) -> int:
        return TIMEOUT_MS


def isolate() -> None:
    """Keep this process away from any real account: set before a client is made."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        del os.environ[name]
    os.environ.update(ACCOUNT)


def orders(numbers: Sequence[int], run: str = "") -> Event:
    """An SQS batch with one message for each number; the same number is the same order, under a message id of its own."""
    return {"Records": [_record(f"{run}{number}", place) for place, number in enumerate(numbers)]}


def _record(order_id: str, place: int) -> Event:
    body = {
        "orderId": order_id,
        "customer": "c-1001",
        "lines": [{"sku": "A-1", "quantity": 2, "unitPrice": 1250}, {"sku": "B-7", "quantity": 1, "unitPrice": 399}],
    }
    return {
        "messageId": f"{place:08x}-0000-4000-8000-{abs(hash(order_id)) % 10**12:012d}",
        "receiptHandle": "AQEB" + "x" * 180,
        "body": json.dumps(body),
        "attributes": {
            "ApproximateReceiveCount": "1",
            "SentTimestamp": "1767225600000",
            "SenderId": "AIDAIENQZJOLO23YVJ4VO",
            "ApproximateFirstReceiveTimestamp": "1767225600005",
        },
        "messageAttributes": {},
        "md5OfBody": "0" * 32,
        "eventSource": "aws:sqs",
        "eventSourceARN": f"arn:aws:sqs:{REGION}:000000000000:orders",
        "awsRegion": REGION,
    }


def total(order: Any) -> dict[str, Any]:
    """The work of every contender: cheap, so that what is measured is what is around it."""
    return {
        "orderId": order["orderId"],
        "total": sum(line["quantity"] * line["unitPrice"] for line in order["lines"]),
    }
