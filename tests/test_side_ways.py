"""Nothing secret or personal leaves by the side: a marker goes in by every way, and every output is searched for it.

| output | may hold, by design |
|---|---|
| log line, with or without an observer | the first 500 characters of an error's text |
| EMF metric | nothing: service and operation alone |
| HTTP answer | the work's result; of a stored failure that the API lists, its stored message |
| dead-letter queue | the message itself, and the first 500 characters of the error's text |
| `idem list`, `show`, `watch`, also as JSON; console | the stored result, the stored error message |
| `idem stats` | nothing |

A payload, a header or a signing secret is in none of them, and of an error's text only its beginning.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import boto3
import pytest
from moto import mock_aws

from idem import (
    Consumer,
    DynamoStore,
    IdempotencyKeySource,
    Lapsed,
    MemoryStore,
    Policy,
    Retention,
    SqsSource,
    WebhookSource,
    keys,
    once,
    schemes,
)
from idem.on_lambda import Observer
from idem.sources.dead_letters import DeadLetters
from idem.testing import START_MS, Crash, FaultyStore, ManualClock, crash_before, refuse, sqs_event, stripe_request
from idem.text import ERROR_CHARS_MAX
from idem.webhooks.forwarder import Forwarder
from sandbox.console.activity import Activity
from sandbox.console.watched_records import WatchedRecords
from sandbox.stack_connection import StackConnection
from tests.operators.conftest import TABLE, Cli, make_table

PAYLOAD, HEADER, SECRET, RESULT = "mark-payload", "mark-header", "mark-secret", "mark-result"
ERROR, BEYOND = "mark-error", "mark-beyond"  # the beginning of an error's text, and what stands behind its bound
OPERATION = "orders.fulfil"
TEXT = f"{ERROR} " + "x" * ERROR_CHARS_MAX + BEYOND


class Final(Exception):
    pass


def found_in(text: str) -> set[str]:
    return {mark for mark in (PAYLOAD, HEADER, SECRET, RESULT, ERROR, BEYOND) if mark in text}


def work(delivery: Any, _claim: Any) -> Any:
    """How the work ends is said by the id that it works on."""
    name = str(delivery.payload.get("id", ""))
    if name.startswith("final"):
        raise Final(TEXT)
    if name.startswith("again"):
        raise RuntimeError(TEXT) from KeyError(TEXT)
    return {"said": RESULT}


def order(name: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "object": "event", "type": "x", "card": PAYLOAD} | more


@dataclass
class Everything:
    """Every way in, with one observer or none; what was answered over HTTP is kept."""

    observe: Callable[[Any], None] | None
    clock: ManualClock = field(default_factory=ManualClock)
    http: list[dict[str, Any]] = field(default_factory=list)

    def consumer(self, source: Any, key: Any, store: Any = None, **more: Any) -> Consumer:
        policy = Policy(retention=Retention.QUEUE, permanent=(Final,), lapsed=Lapsed.HOLD, lease=timedelta(minutes=1))
        settings = {"policy": policy, "check": keys.field("card"), **more}
        return Consumer(
            operation=OPERATION,
            source=source,
            key=key,
            store=store or MemoryStore(self.clock),
            work=work,
            observe=self.observe,
            clock=self.clock,
            **settings,
        )

    def queue(self) -> None:
        store, batch = MemoryStore(self.clock), ("done", "final", "again")
        event = sqs_event(*map(order, batch), order("done", card="other"), f'{{"broken": {PAYLOAD}', {"no": PAYLOAD})
        for record in event["Records"]:
            record["messageAttributes"] = {"token": {"dataType": "String", "stringValue": HEADER}}
        for _ in range(2):
            self.consumer(SqsSource(), keys.field("id"), store)(event)
        for fault in (refuse("claim"), refuse("complete")):
            self.consumer(SqsSource(), keys.field("id"), FaultyStore(MemoryStore(self.clock), fault))(event)
        with pytest.raises(Crash):
            self.consumer(SqsSource(), keys.field("id"), FaultyStore(store, crash_before("complete")))(
                sqs_event(order("held"))
            )
        self.clock.advance(timedelta(hours=1))
        self.consumer(SqsSource(), keys.field("id"), store)(sqs_event(order("held")))

    def webhooks(self) -> None:
        source = WebhookSource(schemes.stripe(), lambda: [SECRET])
        stored = MemoryStore(self.clock)
        receivers = [self.consumer(source, keys.event_id(), stored), self.forwarder(source)]
        bodies = [order("done"), order("final"), order("again"), order("done", card="other"), f"{{{PAYLOAD}"]
        for receive in receivers:
            for body in [*bodies, *bodies]:
                for secret in (SECRET, "other"):
                    event = stripe_request(body, secret, START_MS // 1000)
                    event["headers"]["x-token"] = HEADER
                    self.http.append(receive(event))

    def forwarder(self, source: WebhookSource) -> Any:
        class Down:
            def send_message_batch(self, **_request: Any) -> Any:
                raise OSError(TEXT)

        return Forwarder(source=source, client=Down(), queue_url="https://q", observe=self.observe, clock=self.clock)

    def api(self) -> None:
        source = IdempotencyKeySource(caller=lambda _context: "ada", failures={"Final": 402})
        consumer = self.consumer(source, keys.event_id())
        for name in ("done", "final", "again"):
            for body in (order(name), order(name), order(name, card="other")):
                for headers in ({"idempotency-key": name}, {}, {"idempotency-key": f"{HEADER} {HEADER}"}):
                    self.http.append(consumer(_request(json.dumps(body), {"x-token": HEADER, **headers})))
        self.http.append(consumer(_request(f"{{{PAYLOAD}", {"idempotency-key": "broken"})))

    def call(self) -> None:
        @once(
            operation=OPERATION,
            key=keys.field("name"),
            check=keys.field("card"),
            store=MemoryStore(self.clock),
            policy=Policy(retention=Retention.QUEUE, permanent=(Final,)),
            clock=self.clock,
        )
        def ship(name: str, card: str) -> Any:  # noqa: ARG001 - a secret of the caller's
            if name == "final":
                raise Final(TEXT)
            return RESULT

        ship("done", PAYLOAD)
        for name, card in (("final", PAYLOAD), ("final", PAYLOAD), ("done", PAYLOAD + "2")):
            with pytest.raises(Exception, match=r"mark|used before"):
                ship(name, card)


def _request(body: str, headers: dict[str, str]) -> dict[str, Any]:
    return {
        "version": "2.0",
        "rawPath": "/orders",
        "rawQueryString": "",
        "headers": {"content-type": "application/json", **headers},
        "requestContext": {"http": {"method": "POST", "path": "/orders"}, "requestId": "r-1"},
        "body": body,
        "isBase64Encoded": False,
    }


def run_all(observe: Callable[[Any], None] | None) -> Everything:
    ways = Everything(observe)
    for way in (ways.webhooks, ways.api, ways.call, ways.queue):
        way()
    return ways


def whole(caplog: pytest.LogCaptureFixture) -> str:
    """Every field of every log line: formatters differ in what they write."""
    return "\n".join(f"{record.getMessage()} {record.__dict__!r}" for record in caplog.records)


def test_without_an_observer_a_log_line_holds_the_beginning_of_an_errors_text_alone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    run_all(None)
    assert len(caplog.records) > 30
    assert found_in(whole(caplog)) == {ERROR}


def test_with_the_observer_it_is_the_same_and_metrics_hold_nothing(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    observer = Observer(OPERATION)
    with observer.invocation(None):
        run_all(observer)
    printed = capsys.readouterr().out
    metrics = [line for line in printed.splitlines() if '"_aws"' in line]
    assert found_in("".join(metrics)) == set()
    assert len(caplog.records) > 30
    assert found_in(whole(caplog) + printed) == {ERROR}


def test_with_a_mask_nothing_is_left_of_it(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    observer = Observer(OPERATION, mask=lambda text: text.replace(ERROR, "****"))
    with observer.invocation(None):
        Everything(observer).queue()
    said = "\n".join(repr(one.__dict__) for one in caplog.records if one.getMessage() == "delivery")
    assert "****" in said
    assert found_in(said + capsys.readouterr().out) == set()


def test_an_answer_over_http_holds_the_result_and_a_listed_failure_alone() -> None:
    answers = run_all(lambda _ending: None).http
    assert {answer["statusCode"] for answer in answers} >= {200, 400, 402, 422, 503}
    for answer in answers:
        allowed = {200: {RESULT}, 402: {ERROR}}.get(answer["statusCode"], set())
        assert found_in(json.dumps(answer)) <= allowed, answer


def test_a_dead_letter_holds_its_message_and_the_beginning_of_the_error() -> None:
    sent: list[dict[str, Any]] = []

    class Queue:
        def send_message_batch(self, **request: Any) -> Any:
            sent.extend(request["Entries"])
            return {"Successful": [{"Id": one["Id"]} for one in request["Entries"]]}

    source = SqsSource(dead_letters=DeadLetters(Queue(), "https://q"))
    Everything(lambda _ending: None).consumer(source, keys.field("id"))(sqs_event(order("final")))
    (entry,) = sent
    assert found_in(entry["MessageBody"]) == {PAYLOAD}
    assert found_in(json.dumps(entry["MessageAttributes"])) == {ERROR}


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A table on moto with one record of each ending."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    with mock_aws():
        client = boto3.client("dynamodb", region_name="us-east-1")
        make_table(client)
        consumer = Consumer(
            operation=OPERATION,
            source=SqsSource(),
            key=keys.field("id"),
            check=keys.field("card"),
            policy=Policy(retention=Retention.QUEUE, permanent=(Final,)),
            store=DynamoStore(client, TABLE),
            work=work,
            observe=lambda _ending: None,
        )
        for name in ("done", "final", "again"):
            event = sqs_event(order(name))
            event["Records"][0]["messageAttributes"] = {"token": {"dataType": "String", "stringValue": HEADER}}
            consumer(event)
        yield client


def client_of(name: Any) -> Any:
    return boto3.client(name, region_name="us-east-1")


SHOWN = {RESULT, ERROR}
COMMANDS: list[tuple[tuple[str, ...], set[str]]] = [
    (("list",), SHOWN),
    (("stats",), set()),
    (("show", f"{OPERATION}#done"), {RESULT}),
    (("show", f"{OPERATION}#final"), {ERROR}),
    (("watch", f"{OPERATION}#final", "--for", "1s", "--every", "0.5"), {ERROR}),
    (("release", f"{OPERATION}#final", "--why", "ticket 7", "--who", "ada", "--yes"), {ERROR}),
    (("doctor",), set()),
]


@pytest.mark.parametrize(("command", "allowed"), COMMANDS, ids=[one[0][0] for one in COMMANDS])
def test_a_command_holds_what_is_stored_alone(table: Any, command: tuple[str, ...], allowed: set[str]) -> None:
    environment = {
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    cli = Cli(environment, client_of, TABLE)
    assert table.scan(TableName=TABLE)["Count"] == 3
    for options in ((), ("--json",)):
        ran = cli(*command, *options)
        assert ran.out + ran.err
        assert found_in(ran.out + ran.err) <= allowed


def test_the_console_holds_what_is_stored_alone(table: Any) -> None:
    assert table.scan(TableName=TABLE)["Count"] == 3
    connection = StackConnection(table_name=TABLE, region="us-east-1")
    records = WatchedRecords(connection, Activity(connection))
    assert found_in(json.dumps(records.look())) == SHOWN
    assert found_in(json.dumps(records.life(f"{OPERATION}#final"))) == {ERROR}
