"""Payments in enqueue mode: the receiver, the queue, and the consumer behind it."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import Any

import boto3
import pytest

from handlers import payments, payments_enqueued, payments_receiver
from idem import Consumer
from idem.testing import ManualClock, stripe_request
from idem.webhooks.forwarder import Forwarder
from tests.handlers.conftest import SECRET, SIGNED_AT, Stack, sample


class Line:
    """The receiver, a FIFO queue, and the consumer."""

    def __init__(self, stack: Stack, queue_url: str) -> None:
        self.clock = ManualClock(SIGNED_AT * 1000)
        self.stack, self.queue_url = stack, queue_url
        self.receive: Forwarder = replace(payments_receiver.build(), clock=self.clock)
        self.consume: Consumer = replace(payments_enqueued.build(), clock=self.clock)

    def post(self, event: Any, secret: str = SECRET) -> int:
        request = stripe_request(event, secret, self.clock.now_ms() // 1000)
        status: int = self.receive(request)["statusCode"]
        return status

    def work(self) -> list[str]:
        """Hand what is on the queue to the consumer, as Lambda does; the ids that it reported as failed."""
        found = self.stack.sqs.receive_message(
            QueueUrl=self.queue_url, MaxNumberOfMessages=10, MessageAttributeNames=["All"], AttributeNames=["All"]
        )
        records = [
            {
                "messageId": one["MessageId"],
                "receiptHandle": one["ReceiptHandle"],
                "body": one["Body"],
                "attributes": one["Attributes"],
                "messageAttributes": {
                    name: {"stringValue": value["StringValue"], "dataType": "String"}
                    for name, value in one["MessageAttributes"].items()
                },
                "eventSource": "aws:sqs",
                "eventSourceARN": "arn:aws:sqs:us-east-1:123456789012:payments.fifo",
            }
            for one in found.get("Messages", [])
        ]
        return [one["itemIdentifier"] for one in self.consume({"Records": records})["batchItemFailures"]]


@pytest.fixture(params=["payments", "payments.fifo"])
def line(request: pytest.FixtureRequest, stack: Stack, monkeypatch: pytest.MonkeyPatch) -> Line:
    attributes: Any = {"FifoQueue": "true"} if request.param.endswith(".fifo") else {}
    url = boto3.client("sqs").create_queue(QueueName=request.param, Attributes=attributes)["QueueUrl"]
    monkeypatch.setenv("PAYMENTS_QUEUE_URL", url)
    return Line(stack, url)


def test_a_payment_that_is_delivered_three_times_is_credited_once(line: Line) -> None:
    event = sample("payments/checkout_completed.json")
    assert [line.post(event) for _ in range(3)] == [200, 200, 200]
    assert line.stack.effects() == []
    assert line.work() == []
    assert line.stack.effects() == ["PAYMENT#cs_test_a1QhExample1001"]


def test_an_event_that_was_credited_inline_is_not_credited_again_behind_the_queue(line: Line) -> None:
    event = sample("payments/checkout_completed.json")
    inline = replace(payments.build(), clock=line.clock)
    assert inline(stripe_request(event, SECRET, SIGNED_AT))["statusCode"] == 200
    assert line.post(event) == 200
    assert line.work() == []
    assert len(line.stack.effects()) == 1


def test_a_forged_event_never_reaches_the_queue(line: Line) -> None:
    assert line.post(sample("payments/checkout_completed.json"), "whsec_other") == 400
    assert line.work() == []
    assert line.stack.statuses() == {}


def test_a_payment_that_can_never_be_credited_is_reported_so_that_a_person_sees_it(line: Line) -> None:
    event = sample("payments/checkout_completed.json")
    event["data"]["object"]["amount_total"] = None
    assert line.post(event) == 200
    assert len(line.work()) == 1
    assert line.stack.effects() == []


@pytest.mark.parametrize("module", ["payments_receiver", "payments_enqueued"])
def test_on_lambda_each_function_asks_only_for_its_own_half(module: str) -> None:
    environment = {
        "AWS_LAMBDA_RUNTIME_API": "127.0.0.1:1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "x",
        "AWS_SECRET_ACCESS_KEY": "x",
        "_HANDLER": f"handlers.{module}.handler",
        "PAYMENTS_QUEUE_URL": "https://sqs.us-east-1.amazonaws.com/1/payments",
    }
    own = {
        "payments_receiver": {"PAYMENTS_SECRET_ID": "s"},
        "payments_enqueued": {"IDEMPOTENCY_TABLE": "i", "LEDGER_TABLE": "l"},
    }
    command = [sys.executable, "-c", f"import handlers.{module}"]
    whole = subprocess.run(command, env=environment | own[module], capture_output=True, check=False)
    assert whole.returncode == 0, whole.stderr.decode()
    bare = subprocess.run(command, env=environment, capture_output=True, check=False)
    assert next(iter(own[module])).encode() in bare.stderr
