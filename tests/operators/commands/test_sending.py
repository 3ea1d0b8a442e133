"""`send`: to a queue of the local account, and signed to a receiver on this machine. `race`: on a table of the local account."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from idem import Consumer, MemoryStore, Policy, Retention, WebhookSource, keys
from idem.webhooks.schemes import stripe
from tests.operators.conftest import Cli

pytestmark = pytest.mark.e2e

SECRET = "whsec_c2VjcmV0LW9mLXRoZS10ZXN0cw=="
PAYMENT = "events/payments/checkout_completed.json"
ORDER = "events/orders/order_1001.json"


@dataclass
class Receiver:
    """A webhook receiver on this machine: a real consumer behind a plain HTTP server."""

    url: str
    runs: list[Any] = field(default_factory=list)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    found = Receiver("")
    consumer = Consumer(
        operation="payments.credit",
        source=WebhookSource(stripe(), lambda: [SECRET]),
        key=keys.event_id(),
        work=lambda delivery, _claim: found.runs.append(delivery.event_id),
        policy=Policy(retention=Retention.WEBHOOK),
        store=MemoryStore(),
    )

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"])).decode()
            context = {"http": {"method": "POST"}, "requestId": "r"}
            answer = consumer({"headers": dict(self.headers.items()), "requestContext": context, "body": body})
            self.send_response(answer["statusCode"])
            for name, value in answer["headers"].items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer["body"].encode())

        def log_message(self, *_: Any) -> None:
            """The terminal belongs to the tests."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    found.url = f"http://127.0.0.1:{server.server_port}/"
    yield found
    server.shutdown()
    thread.join()
    server.server_close()


def post(cli: Cli, receiver: Receiver, *more: str) -> list[dict[str, Any]]:
    # Without the local engine's endpoint a post goes to the address itself.
    ran = cli("send", PAYMENT, "--url", receiver.url, "--secret", SECRET, "--json", *more, AWS_ENDPOINT_URL=None)
    assert ran.status == 0, ran.err
    found: list[dict[str, Any]] = ran.json
    return found


def test_a_webhook_that_is_sent_again_is_replayed(cli: Cli, receiver: Receiver) -> None:
    sent = post(cli, receiver, "--times", "3")
    assert [(one["status"], one["replayed"]) for one in sent] == [(200, False), (200, True), (200, True)]
    assert receiver.runs == ["evt_1ExampleCompleted"]


def test_a_webhook_that_is_sent_at_once_runs_once(cli: Cli, receiver: Receiver) -> None:
    sent = post(cli, receiver, "--times", "8", "--concurrently", "--set", "id=evt_9")
    assert len(sent) == 8
    assert receiver.runs == ["evt_9"]


def test_a_webhook_that_was_tampered_with_is_refused(cli: Cli, receiver: Receiver) -> None:
    assert [one["status"] for one in post(cli, receiver, "--tamper")] == [400]
    assert receiver.runs == []


def test_the_body_of_a_whole_http_event_is_sent_with_a_fresh_signature(cli: Cli, receiver: Receiver) -> None:
    event = "events/payments/function_url.json"
    ran = cli("send", event, "--url", receiver.url, "--secret", SECRET, "--json", AWS_ENDPOINT_URL=None)
    assert [one["status"] for one in ran.json] == [200]


def test_answers_are_counted_for_people(cli: Cli, receiver: Receiver) -> None:
    given = ("--url", receiver.url, "--secret", SECRET, "--times", "3")
    ran = cli("send", PAYMENT, *given, AWS_ENDPOINT_URL=None)
    assert "1 x 200: " in ran.out
    assert "2 x 200, replayed: " in ran.out


def test_a_queue_gets_every_message_of_a_sample(cli: Cli) -> None:
    sqs: Any = cli.aws("sqs")
    for name, attributes in (("plain", {}), ("ordered.fifo", {"FifoQueue": "true"})):
        url = sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
        ran = cli("send", ORDER, "--queue", url, "--times", "2", "--set", "orderId=77")
        assert ran.out.count("queued as message") == 2
        bodies = []
        while found := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
            bodies += [json.loads(one["Body"])["orderId"] for one in found]
            for one in found:
                sqs.delete_message(QueueUrl=url, ReceiptHandle=one["ReceiptHandle"])
        assert bodies == ["77", "77"]


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        ((ORDER,), 2, "--queue"),
        ((ORDER, "--queue", "q", "--url", "u"), 2, "one of them"),
        ((ORDER, "--url", "nonsense"), 2, "https://"),
        ((ORDER, "--url", "http://127.0.0.1:9/", "--secret", SECRET), 2, "Whose webhook"),
        ((PAYMENT, "--url", "http://127.0.0.1:9/", "--secret", SECRET), 3, "does not answer"),
    ],
)
def test_what_cannot_be_sent_is_said(cli: Cli, arguments: tuple[str, ...], status: int, said: str) -> None:
    ran = cli("send", *arguments, AWS_ENDPOINT_URL=None)
    assert ran.status == status
    assert said in ran.err


def test_a_race_has_one_winner_to_whom_all_others_lost(cli: Cli) -> None:
    found = cli("race", "--racers", "4", "--json").json
    (winner,) = [racer for racer in found["racers"] if racer["won"]]
    losers = [racer for racer in found["racers"] if not racer["won"]]
    assert len(losers) == 3
    for racer in losers:
        (refused,) = racer["exchanges"]
        assert refused["error"] == "ConditionalCheckFailedException"
        assert refused["response"]["Item"]["claimToken"]["S"] == winner["token"]
    assert cli("show", found["key"]).status == 1  # it was removed again
