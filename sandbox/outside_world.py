"""What the outside world does to the deployed stack: a producer that sends orders, and a Stripe that posts events."""

from __future__ import annotations

import copy
import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from idem.testing import sign_stripe
from sandbox.access import Access, Response
from sandbox.deploy import Outputs
from sandbox.isolation import ROOT

EVENTS = ROOT / "events"


def sample(name: str) -> Any:
    """A sample of `events/`, such as "orders/order_1001.json"."""
    return json.loads((EVENTS / name).read_text(encoding="utf-8"))


class Producer:
    """Puts orders on the queue."""

    def __init__(self, account: Access, outputs: Outputs) -> None:
        self._sqs = account.client("sqs")
        self._queue_url = outputs.orders_queue_url

    def send(self, order: Any) -> str:
        """Send one message; the id that SQS gave it."""
        return self._sqs.send_message(QueueUrl=self._queue_url, MessageBody=json.dumps(order))["MessageId"]


class Stripe:
    """Posts signed events to the webhook, as Stripe does: a fresh signature for each delivery."""

    def __init__(self, account: Access, outputs: Outputs) -> None:
        self._account = account
        self._url = outputs.payments_url
        secret = account.client("secretsmanager").get_secret_value(SecretId=outputs.payments_secret_arn)
        self._secret = secret["SecretString"].split()[0]

    def post(self, event: Any, *, tampered: bool = False) -> Response:
        """Deliver an event once. `tampered`: its body is changed after it was signed."""
        body = json.dumps(event, ensure_ascii=False).encode()
        stamp = int(time.time())
        signature = sign_stripe(body, self._secret, stamp)
        if tampered:
            body = body.replace(b'"amount_total": ', b'"amount_total": 9')
        headers = {"content-type": "application/json", "stripe-signature": signature}
        return self._account.post(self._url, body, headers)

    def post_at_once(self, event: Any, times: int) -> list[Response]:
        """Deliver an event several times at the same moment."""
        with ThreadPoolExecutor(times) as pool:
            return list(pool.map(self.post, [event] * times))


def order(order_id: str, **more: Any) -> Any:
    """A valid order with this id, made from the sample."""
    return sample("orders/order_1001.json") | {"orderId": order_id, **more}


def payment(number: str, **metadata: str) -> Any:
    """A completed checkout, made from the sample: event evt_<number>, session cs_<number>."""
    event = copy.deepcopy(sample("payments/checkout_completed.json"))
    event["id"] = f"evt_{number}"
    event["data"]["object"] |= {"id": f"cs_{number}", "metadata": metadata}
    return event
