"""Enqueue mode: verify a webhook, put its events on a queue, and answer 2xx; a consumer of the queue claims by their identity.

For providers that wait only some seconds (Slack, Discord, Shopify), that never try again (GitHub), and for work that takes longer
than they wait.

    # behind the URL, and behind the queue
    receive = Forwarder(source=WebhookSource(schemes.github(), secrets), client=sqs, queue_url=url)
    consume = Consumer(operation="pushes", source=SqsSource(), key=forwarded_event, ...)

Nothing is claimed before the queue: a provider that delivers twice puts two messages on it, and the consumer runs one. On a FIFO
queue most second messages do not even get there: the deduplication id is the event's identity, and holds for five minutes.

The message's body is the event as it arrived: the raw bytes, or one event of a batch as JSON. A form, and what cannot be sent as
text (SQS takes no control characters), is sent as its payload, in JSON and ASCII. The attributes carry what the key needs; a
value that SQS would not take is sent as marked hex digits, which `forwarded_event` reads:

| attribute | |
|---|---|
| webhook-event-id | the event's id |
| webhook-scope | its account or endpoint, if it has one |
| webhook-provider, webhook-event-type | for routing |
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from idem.clock import Clock, SystemClock
from idem.delivery import Arrival, Delivery, Done, Ending, Outcome, Rejected, Unavailable, Unreadable
from idem.errors import InputRefused, MissingKeyPart, StoreUnavailable, TooLarge
from idem.keys import check_operation, make_key
from idem.log import tell
from idem.record import Key
from idem.sources.content import understood
from idem.text import MARKED, hidden, message_of, unhidden
from idem.webhooks.source import WebhookSource

EVENT_ID, SCOPE = "webhook-event-id", "webhook-scope"
BATCH_MAX = 10  # entries in one SendMessageBatch
BYTES_MAX = 1_048_576  # of one message and of one batch, attributes included
UNSENDABLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # by SQS's API reference
GROUP = re.compile(r"[!-~]{1,128}")  # of a FIFO queue: ASCII without blanks

Message = dict[str, Any]


def forwarded_event(delivery: Delivery) -> Sequence[str]:
    """A key rule for the queue's consumer: the same key that `keys.event_id()` makes where the webhook is worked on inline."""
    event_id, scope = (unhidden(delivery.headers.get(name, "")) for name in (EVENT_ID, SCOPE))
    if not event_id:
        raise MissingKeyPart(
            f"message {delivery.id} was not put there by a Forwarder: it has no attribute {EVENT_ID!r}"
        )
    return [scope, event_id] if scope else [event_id]


@dataclass(frozen=True, slots=True, kw_only=True)
class Forwarder:
    """A Lambda handler that verifies webhooks and puts their events on a queue.

    operation: under which the observer counts. client: a boto3 SQS client. group: the message group of an event on a FIFO queue;
    by default each event is its own group, so that they are worked on side by side.
    """

    source: WebhookSource
    client: Any
    queue_url: str
    operation: str = "webhooks.forward"
    group: Callable[[Delivery], str] | None = None
    observe: Callable[[Ending], None] | None = None
    clock: Clock = field(default_factory=SystemClock)

    def __post_init__(self) -> None:
        check_operation(self.operation)

    def __call__(self, event: Any, context: Any = None) -> Any:  # noqa: ARG002 - Lambda hands it over
        """Lambda's entry. Raises WrongEvent for an event that is no HTTP request."""
        started = self.clock.now_ms()
        arrivals = self.source.read(event, started)
        keys, outcomes = self._forward(arrivals)
        ended = self.clock.now_ms()
        endings = [
            Ending(operation=self.operation, arrival=arrival, outcome=outcome, key=key, started=started, ended=ended)
            for arrival, key, outcome in zip(arrivals, keys, outcomes, strict=True)
        ]
        for ending in endings:
            tell(self.observe, ending)
        return self.source.reply(endings, ended)

    def _forward(self, arrivals: Sequence[Arrival]) -> tuple[list[Key | None], list[Outcome]]:
        """Put every readable arrival on the queue: its key, and what became of it."""
        keys: list[Key | None] = [None] * len(arrivals)
        outcomes: dict[int, Outcome] = {}
        messages: dict[int, Message] = {}
        for index, arrival in enumerate(arrivals):
            if isinstance(arrival, Unreadable):
                outcomes[index] = _unreadable(arrival)
                continue
            try:
                keys[index] = key = make_key(self.operation, _identity(arrival))
                messages[index] = understood("making the message", self._message, arrival, key)
            except InputRefused as error:
                outcomes[index] = Rejected(error, recorded=False)
        for batch in _batches(messages):
            outcomes |= self._send(batch)
        return keys, [outcomes[index] for index in range(len(arrivals))]

    def _message(self, delivery: Delivery, key: Key) -> Message:
        attributes = {
            EVENT_ID: delivery.event_id,
            SCOPE: delivery.scope,
            "webhook-provider": delivery.origin.get("source"),
            "webhook-event-type": delivery.origin.get("eventType"),
        }
        message: Message = {
            "MessageBody": _text(delivery),
            "MessageAttributes": {
                name: {"DataType": "String", "StringValue": hidden(value) if _unsendable(value) else value}
                for name, value in attributes.items()
                if value
            },
        }
        if self.queue_url.endswith(".fifo"):
            identity = hashlib.sha256(key.identity.encode("utf-8", "surrogatepass")).hexdigest()
            group = self.group(delivery) if self.group else identity
            if not GROUP.fullmatch(group):
                group = hashlib.sha256(group.encode("utf-8", "surrogatepass")).hexdigest()
            message |= {"MessageDeduplicationId": identity, "MessageGroupId": group}
        if _size(message) > BYTES_MAX:
            raise TooLarge(f"the event has {_size(message)} bytes; a message can have {BYTES_MAX}")
        return message

    def _send(self, batch: dict[int, Message]) -> dict[int, Outcome]:
        """Send one batch. What the queue did not take is to be delivered again by the provider."""
        entries = [{"Id": str(index), **message} for index, message in batch.items()]
        try:
            answer = self.client.send_message_batch(QueueUrl=self.queue_url, Entries=entries)
        except Exception as error:  # noqa: BLE001 - whatever is not an answer means that nothing is known to be on the queue
            lost = StoreUnavailable("enqueue", type(error).__name__, message_of(error))
            return dict.fromkeys(batch, Unavailable(lost, ran=False))
        outcomes: dict[int, Outcome] = {
            int(one["Id"]): Done({"queued": one["MessageId"]}, replayed=False, attempt=1)
            for one in answer.get("Successful", ())
        }
        reasons = {int(one["Id"]): one for one in answer.get("Failed", ())}
        for index in batch:
            if index not in outcomes:
                why = reasons.get(index, {})
                refused = StoreUnavailable(
                    "enqueue", str(why.get("Code", "unknown")), str(why.get("Message", "not taken"))
                )
                outcomes[index] = Unavailable(refused, ran=False)
        return outcomes


def _unreadable(arrival: Unreadable) -> Outcome:
    if isinstance(arrival.error, InputRefused):
        return Rejected(arrival.error, recorded=False)
    return Unavailable(arrival.error, ran=False)


def _identity(delivery: Delivery) -> list[str]:
    return [part for part in (delivery.scope, delivery.event_id) if part]


def _text(delivery: Delivery) -> str:
    """The body as SQS can carry it, and as a consumer that expects JSON can read it."""
    try:
        text = delivery.body.decode("utf-8")
    except UnicodeDecodeError:
        text = ""
    if not text.lstrip().startswith(("{", "[")) or UNSENDABLE.search(text):
        return json.dumps(delivery.payload, separators=(",", ":"))
    return text


def _unsendable(value: str) -> bool:
    """Whether an attribute cannot be sent as it is: SQS would not take it, or `forwarded_event` would read another one."""
    return UNSENDABLE.search(value) is not None or value.startswith(MARKED)


def _size(message: Message) -> int:
    """Bytes as SQS counts them: the body, and the names, types and values of the attributes."""
    attributes = message["MessageAttributes"].items()
    return len(message["MessageBody"].encode()) + sum(
        len(name) + len(value["DataType"]) + len(value["StringValue"].encode()) for name, value in attributes
    )


def _batches(messages: dict[int, Message]) -> Iterator[dict[int, Message]]:
    """The messages in order, cut so that no batch is above SQS's limits."""
    batch: dict[int, Message] = {}
    size = 0
    for index, message in messages.items():
        if batch and (len(batch) == BATCH_MAX or size + _size(message) > BYTES_MAX):
            yield batch
            batch, size = {}, 0
        batch[index] = message
        size += _size(message)
    if batch:
        yield batch
