"""SQS: a batch of messages in, a partial batch response out.

The event source mapping must have ReportBatchItemFailures on, or Lambda ignores the answer and deletes the whole batch.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from enum import Enum
from typing import Any

from idem.arguments import check_function
from idem.clock import Clock, SystemClock, backoff_ms, milliseconds
from idem.delivery import MAPPINGS, Arrival, Busy, Delivery, Done, Ending, NotStarted, Rejected, Retry, Unreadable
from idem.errors import ConfigurationError, IdemError, MalformedDelivery, UnreportableRecord, WrongEvent
from idem.log import log_fault
from idem.sources.content import mapping_of, parse_json, text_of, understood
from idem.sources.dead_letters import DeadLetters
from idem.sources.envelopes import Envelope, bare

VISIBILITY_MAX = timedelta(hours=12)  # SQS's limit for one visibility timeout
BATCH_MAX = 10  # entries in one ChangeMessageVisibilityBatch
COUNT_DIGITS_MAX = 9  # of a receive count: the longest retention and the shortest visibility give seven
BACKOFF_BASE = timedelta(seconds=5)  # a transient failure's first pause; it doubles with each receive
BACKOFF_CAP = timedelta(minutes=15)


class FifoStop(Enum):
    """What a failure on a FIFO queue stops."""

    GROUP = "group"  # the later messages of its message group
    QUEUE = "queue"  # all later messages of the batch


class SqsSource:
    """Reads batches of a standard or FIFO queue, and reports what was not done.

    parse: from the body's bytes to the content; JSON unless another function is given. envelope: what another service has
    wrapped round the event: `envelopes.sns`, `eventbridge` or `s3`. fifo_stop: what a failure on a FIFO queue stops.
    client, queue_url: with a boto3 SQS client, messages that come again do so when it makes sense: held ones when the lease
    ends, transient failures after a pause that grows with each receive, permanent ones at once, so that the queue's redrive
    takes them to the dead-letter queue without holding up others. Without a client they come when the queue's visibility
    timeout ends. dead_letters: rejected messages are sent there at once, and acknowledged; otherwise the queue's redrive takes
    them there, without their work running again.
    """

    def __init__(
        self,
        *,
        parse: Callable[[bytes], Any] = parse_json,
        envelope: Envelope = bare,
        fifo_stop: FifoStop = FifoStop.GROUP,
        client: Any = None,
        queue_url: str | None = None,
        dead_letters: DeadLetters | None = None,
        backoff_base: timedelta = BACKOFF_BASE,
        backoff_cap: timedelta = BACKOFF_CAP,
        clock: Clock | None = None,
    ) -> None:
        if (client is None) != (queue_url is None):
            raise ConfigurationError("give both client and queue_url, or neither: visibility is moved through both")
        check_function("parse", parse, "the body", give="a function of bytes")
        check_function("envelope", envelope, "what was parsed", give="an envelope, such as sns")
        self._parse = parse
        self._envelope = envelope
        self._fifo_stop = fifo_stop
        self._client = client
        self._queue_url = queue_url
        self._dead_letters = dead_letters
        self._backoff_base = backoff_base
        self._backoff_cap = backoff_cap
        self._clock = clock or SystemClock()

    def read(self, event: Any, now_ms: int) -> list[Arrival]:  # noqa: ARG002 - a queue's messages do not age by our clock
        """The messages of a batch. Raises WrongEvent; what is wrong with one message stays with it."""
        records = event.get("Records") if isinstance(event, MAPPINGS) else None
        if not isinstance(records, list):
            raise WrongEvent("this is not an SQS event: it has no list of Records; is the function wired to a queue?")
        for record in records:
            source = record.get("eventSource") if isinstance(record, MAPPINGS) else None
            if source != "aws:sqs":
                raise WrongEvent(f"this is not an SQS event: a record's eventSource is {source!r}, not 'aws:sqs'")
        return [self._arrival(record) for record in records]

    def _arrival(self, record: Mapping[str, Any]) -> Arrival:
        attributes = mapping_of(record.get("attributes"))
        fifo = str(record.get("eventSourceARN", "")).endswith(".fifo")
        message_id = record.get("messageId")
        common: dict[str, Any] = {
            "id": message_id if isinstance(message_id, str) else "",
            "group": self._group(attributes) if fifo else None,
            "handle": text_of(record.get("receiptHandle")) or None,
            "raw": record,
            "receive_count": _count(attributes.get("ApproximateReceiveCount")),
        }
        if not common["id"]:
            return Unreadable(error=UnreportableRecord("a record of the batch has no messageId"), **common)
        body = record.get("body")
        if not isinstance(body, str):
            return Unreadable(error=MalformedDelivery(f"message {message_id} has no body"), **common)
        try:
            raw = body.encode("utf-8", "surrogatepass")
            event = understood("the envelope", self._envelope, understood("the parser", self._parse, raw))
        except MalformedDelivery as error:
            return Unreadable(error=MalformedDelivery(f"message {message_id}: {error}"), **common)
        except IdemError as error:  # whatever the user's own functions raise must not take the batch along
            return Unreadable(error=error, **common)
        queue = str(record.get("eventSourceARN", "")).rsplit(":", 1)[-1]
        return Delivery(
            payload=event.payload,
            body=raw,
            event_id=event.event_id,
            scope=event.scope,
            deduplication_id=text_of(attributes.get("MessageDeduplicationId")) or None,
            headers=_message_attributes(mapping_of(record.get("messageAttributes"))),
            origin={"source": "sqs", "queue": queue, "messageId": common["id"]},
            **common,
        )

    def _group(self, attributes: Mapping[str, Any]) -> str | None:
        return "the queue" if self._fifo_stop is FifoStop.QUEUE else text_of(attributes.get("MessageGroupId")) or None

    def reply(self, endings: Sequence[Ending], now_ms: int) -> dict[str, list[dict[str, str]]]:
        """The partial batch response. Raises UnreportableRecord if a record cannot be named in it.

        Then the whole batch comes again: what was done replays, and the record without an id is not lost.
        """
        undone = [ending for ending in endings if not isinstance(ending.outcome, Done)]
        if self._dead_letters is not None:
            buried = {id(ending) for ending in self._dead_letters.send(undone)}
            undone = [ending for ending in undone if id(ending) not in buried]
        self._move_visibility(undone, now_ms)
        for ending in undone:
            if not ending.arrival.id:
                raise UnreportableRecord(
                    "a record of the batch has no messageId, so it cannot be reported: the whole batch is failed;"
                    f" the other {len(endings) - 1} messages were handled and will be replayed"
                )
        return {"batchItemFailures": [{"itemIdentifier": identifier} for identifier in _once_each(undone)]}

    def _move_visibility(self, undone: Sequence[Ending], now_ms: int) -> None:
        """Say when each undone message may come again. Only a help: if it fails, the queue's own timeout does it."""
        if self._client is None or self._queue_url is None:
            return
        moves = [
            {"Id": str(index), "ReceiptHandle": ending.arrival.handle, "VisibilityTimeout": seconds}
            for index, ending in enumerate(undone)
            if ending.arrival.handle and (seconds := self._comes_again_in(ending, now_ms)) is not None
        ]
        for start in range(0, len(moves), BATCH_MAX):
            entries = moves[start : start + BATCH_MAX]
            try:
                answer = self._client.change_message_visibility_batch(QueueUrl=self._queue_url, Entries=entries)
            except Exception as error:  # noqa: BLE001 - whatever it is, the queue's own timeout does it
                log_fault(f"the visibility of {len(entries)} messages was not changed", error)
            else:
                for refused in answer.get("Failed", ()):
                    logging.getLogger(__name__).warning("the visibility of a message was not changed: %s", refused)

    def _comes_again_in(self, ending: Ending, now_ms: int) -> int | None:
        """Seconds until the message should come again, None to leave it to the queue."""
        match ending.outcome:
            case Busy(until):
                return _in_range(-(-(until - now_ms) // 1000))
            case Retry():
                pause = backoff_ms(
                    max(0, ending.arrival.receive_count - 1),
                    base_ms=milliseconds(self._backoff_base),
                    cap_ms=milliseconds(self._backoff_cap),
                    jitter=self._clock.jitter(),
                )
                return _in_range(round(pause / 1000))
            case Rejected() | NotStarted() if ending.arrival.group is None:
                return 0
        return None


def _in_range(seconds: int) -> int:
    return max(0, min(seconds, int(VISIBILITY_MAX.total_seconds())))


def _count(value: Any) -> int:
    readable = isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= COUNT_DIGITS_MAX
    return int(value) if readable else 1


def _once_each(undone: Sequence[Ending]) -> Iterator[str]:
    """Each id once. An id that came twice in a batch is reported if either of the two was not done."""
    yield from dict.fromkeys(ending.arrival.id for ending in undone)


def _message_attributes(attributes: Mapping[str, Any]) -> dict[str, str]:
    """Text and number attributes by lower-case name; binary ones cannot be keys."""
    return {
        name.lower(): value["stringValue"]
        for name, value in attributes.items()
        if isinstance(value, Mapping) and isinstance(value.get("stringValue"), str)
    }
