"""Enqueue mode: a receiver that only puts on a queue, and the consumer that claims by the event's identity."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import boto3
import pytest
from hypothesis import given
from hypothesis import strategies as st
from moto import mock_aws

from idem import Consumer, MemoryStore, Policy, Retention, SqsSource, keys
from idem.delivery import Delivery, Ending
from idem.errors import ConfigurationError, MissingKeyPart, WrongEvent
from idem.testing import START_MS, ManualClock
from idem.webhooks import schemes
from idem.webhooks.forwarder import BYTES_MAX, UNSENDABLE, Forwarder, forwarded_event
from idem.webhooks.signed_requests import as_event, sign
from idem.webhooks.source import WebhookSource
from tests.webhooks.senders import HUBSPOT, NOW, SENDERS, Sender

SECRET = "s"


class Queue:
    """A queue of moto's, behind a receiver; `work` empties it with a consumer."""

    def __init__(self, *, fifo: bool = False) -> None:
        self.client: Any = boto3.client("sqs", "us-east-1")
        attributes: Any = {"FifoQueue": "true"} if fifo else {}
        self.url = self.client.create_queue(QueueName="hooks.fifo" if fifo else "hooks", Attributes=attributes)[
            "QueueUrl"
        ]
        self.endings: list[Ending] = []
        self.store = MemoryStore(ManualClock(NOW))
        self.done: list[Any] = []

    def receiver(self, name: str = "stripe", client: Any = None, **more: Any) -> Forwarder:
        sender = SENDERS[name]
        return Forwarder(
            source=WebhookSource(sender.scheme, lambda: [sender.verifies]),
            client=client or self.client,
            queue_url=self.url,
            observe=self.endings.append,
            clock=ManualClock(NOW),
            **more,
        )

    def messages(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        while batch := self.client.receive_message(
            QueueUrl=self.url, MaxNumberOfMessages=10, MessageAttributeNames=["All"], AttributeNames=["All"]
        ).get("Messages"):
            found += batch
        return found

    def work(self, consumer: Consumer | None = None) -> None:
        consumer = consumer or Consumer(
            operation="test.event",
            source=SqsSource(),
            key=forwarded_event,
            work=lambda delivery, _claim: self.done.append(delivery.payload),
            policy=Policy(retention=Retention.WEBHOOK),
            store=self.store,
            clock=ManualClock(NOW),
        )
        records = [as_record(message) for message in self.messages()]
        assert consumer({"Records": records}) == {"batchItemFailures": []}


def as_record(message: dict[str, Any]) -> dict[str, Any]:
    """A received message as Lambda hands it over."""
    return {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": message["Attributes"],
        "messageAttributes": {
            name: {"stringValue": value["StringValue"], "dataType": value["DataType"]}
            for name, value in message["MessageAttributes"].items()
        },
        "eventSource": "aws:sqs",
        "eventSourceARN": "arn:aws:sqs:us-east-1:000000000000:hooks",
    }


@pytest.fixture
def queue() -> Iterator[Queue]:
    with mock_aws():
        yield Queue()


@pytest.fixture
def fifo() -> Iterator[Queue]:
    with mock_aws():
        yield Queue(fifo=True)


@pytest.mark.parametrize("sender", SENDERS.values(), ids=SENDERS)
def test_an_event_of_every_scheme_is_worked_on_once_behind_the_queue(queue: Queue, sender: Sender) -> None:
    receive = queue.receiver(sender.name)
    for _ in range(3):
        assert receive(as_event(sender.send()))["statusCode"] == 200
    queue.work()
    assert len(queue.done) == len(sender.identities)


def test_the_message_is_the_raw_event_with_its_identity(queue: Queue) -> None:
    sender = SENDERS["stripe"]
    queue.receiver()(as_event(sender.send()))
    (message,) = queue.messages()
    assert message["Body"].encode() == sender.body
    assert {name: value["StringValue"] for name, value in message["MessageAttributes"].items()} == {
        "webhook-event-id": "evt_1",
        "webhook-scope": "acct_1",
        "webhook-provider": "stripe",
        "webhook-event-type": "charge.refunded",
    }


def test_the_key_is_the_same_as_inline_so_that_the_mode_can_be_changed(queue: Queue) -> None:
    sender = SENDERS["stripe"]
    event = as_event(sender.send())
    (inline,) = WebhookSource(sender.scheme, lambda: [sender.verifies]).read(event, NOW)
    queue.receiver()(event)
    (queued,) = SqsSource().read({"Records": [as_record(message) for message in queue.messages()]}, NOW)
    assert isinstance(inline, Delivery)
    assert isinstance(queued, Delivery)
    assert list(forwarded_event(queued)) == list(keys.event_id()(inline)) == ["acct_1", "evt_1"]


def test_on_a_fifo_queue_a_second_delivery_does_not_get_there(fifo: Queue) -> None:
    receive = fifo.receiver()
    for _ in range(2):
        assert receive(as_event(SENDERS["stripe"].send()))["statusCode"] == 200
    (message,) = fifo.messages()
    assert len(message["Attributes"]["MessageDeduplicationId"]) == 64


def test_a_group_can_be_chosen_and_one_that_sqs_would_refuse_is_hashed(fifo: Queue) -> None:
    for number, group in enumerate(["ch_1", "with blank", "é" * 200]):
        receive = fifo.receiver(group=lambda _delivery, group=group: group)
        body = json.dumps({"id": f"evt_{number}", "object": "event", "type": "x"}).encode()
        assert receive(as_event(SENDERS["stripe"].send(body=body)))["statusCode"] == 200
    groups = [message["Attributes"]["MessageGroupId"] for message in fifo.messages()]
    assert groups[0] == "ch_1"
    assert [len(group) for group in groups[1:]] == [64, 64]


def fails(delivery: Delivery) -> str:
    if delivery.payload["eventId"] == 1:
        raise KeyError("region")
    return "all"


def gives_a_number(delivery: Delivery) -> Any:
    return 7 if delivery.payload["eventId"] == 1 else "all"


@pytest.mark.parametrize("group", [fails, gives_a_number])
def test_an_event_that_a_rule_cannot_place_does_not_keep_back_the_others_of_its_request(
    fifo: Queue, group: Callable[[Delivery], str]
) -> None:
    one = json.loads(HUBSPOT)[0]
    body = json.dumps([one | {"eventId": number} for number in range(3)]).encode()
    assert fifo.receiver("hubspot", group=group)(as_event(SENDERS["hubspot"].send(body=body)))["statusCode"] == 400
    assert sorted(json.loads(message["Body"])["eventId"] for message in fifo.messages()) == [0, 2]


def test_a_batch_of_events_becomes_as_many_messages(queue: Queue) -> None:
    one = json.loads(HUBSPOT)[0]
    body = json.dumps([one | {"eventId": number} for number in range(23)]).encode()
    assert queue.receiver("hubspot")(as_event(SENDERS["hubspot"].send(body=body)))["statusCode"] == 200
    assert sorted(json.loads(message["Body"])["eventId"] for message in queue.messages()) == list(range(23))


def test_a_forged_request_is_refused_and_nothing_is_queued(queue: Queue) -> None:
    sender = SENDERS["stripe"]
    answer = queue.receiver()(as_event(sender.send(sender.other_signs)))
    assert answer["statusCode"] == 400
    assert queue.messages() == []
    assert type(queue.endings[0].outcome).__name__ == "Rejected"


def test_a_check_of_the_address_is_answered_and_not_queued(queue: Queue) -> None:
    body = json.dumps({"type": "url_verification", "challenge": "c"}).encode()
    answer = queue.receiver("slack")(as_event(SENDERS["slack"].send(body=body)))
    assert json.loads(answer["body"]) == {"challenge": "c"}
    assert queue.messages() == []


class Broken:
    """An SQS client that raises, or takes only every second message."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error

    def send_message_batch(self, **request: Any) -> Any:
        if self.error:
            raise self.error
        entries = request["Entries"]
        return {
            "Successful": [{"Id": one["Id"], "MessageId": "m"} for one in entries[::2]],
            "Failed": [{"Id": one["Id"], "Code": "InternalError", "SenderFault": False} for one in entries[1::2]],
        }


@pytest.mark.parametrize("client", [Broken(ConnectionError("away")), Broken()], ids=["away", "half"])
def test_what_the_queue_did_not_take_is_asked_for_again(queue: Queue, client: Broken) -> None:
    answer = queue.receiver("hubspot", client)(as_event(SENDERS["hubspot"].send()))
    assert answer["statusCode"] == 503
    assert "retry-after" in answer["headers"]


def test_an_event_that_no_message_can_hold_is_refused(queue: Queue) -> None:
    for size, status in ((BYTES_MAX - 1000, 200), (BYTES_MAX - 50, 413), (BYTES_MAX + 1, 413)):
        body = json.dumps(
            {"id": f"evt_{size}", "object": "event", "type": "x", "data": {"pad": "x" * (size - 60)}}
        ).encode()
        assert queue.receiver()(as_event(SENDERS["stripe"].send(body=body)))["statusCode"] == status


def test_an_observer_that_fails_does_not_lose_the_answer(queue: Queue) -> None:
    def observe(_ending: Ending) -> None:
        raise ValueError

    receive = Forwarder(
        source=queue.receiver().source,
        client=queue.client,
        queue_url=queue.url,
        observe=observe,
        clock=ManualClock(NOW),
    )
    assert receive(as_event(SENDERS["stripe"].send()))["statusCode"] == 200


def test_a_message_of_somebody_else_has_no_key() -> None:
    with pytest.raises(MissingKeyPart, match="Forwarder"):
        forwarded_event(Delivery(id="m-1", payload={}))


def test_a_forwarder_is_checked_when_it_is_built_and_refuses_other_events(queue: Queue) -> None:
    with pytest.raises(ConfigurationError):
        queue.receiver(operation="no spaces")
    with pytest.raises(WrongEvent):
        queue.receiver()({"Records": []})


@given(name=st.text(min_size=1, max_size=6), text=st.text(max_size=12))
def test_any_text_in_an_event_can_be_sent_and_different_ids_stay_different(name: str, text: str) -> None:
    """Whatever a genuine sender puts into its ids and fields, SQS is given nothing that it would refuse."""
    sent: list[Any] = []

    class Client:
        def send_message_batch(self, **request: Any) -> Any:
            sent.extend(request["Entries"])
            return {"Successful": [{"Id": one["Id"], "MessageId": "m"} for one in request["Entries"]]}

    for event_id in (f"{name}\x01", f"{name}\x02"):
        written = json.dumps({"event_id": event_id, "event_type": "t", "text": text}, ensure_ascii=False)
        body = written.encode("utf-8", "surrogatepass")
        receive = Forwarder(
            source=WebhookSource(schemes.paddle(), lambda: [SECRET]),
            client=Client(),
            queue_url="q.fifo",
            clock=ManualClock(),
        )
        receive(as_event(sign("paddle", body, [SECRET], START_MS)))
    texts = [one["MessageBody"] for one in sent]
    texts += [value["StringValue"] for one in sent for value in one["MessageAttributes"].values()]
    assert not any(UNSENDABLE.search(one) or not one for one in texts)
    ids = [one["MessageAttributes"]["webhook-event-id"]["StringValue"] for one in sent]
    assert len(set(ids)) == len(ids)
