"""Rejected messages that the consumer itself sends to a dead-letter queue."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from idem.delivery import Delivery, Ending, Rejected, Retry
from idem.sources.dead_letters import DeadLetters
from idem.sources.sqs import FifoStop, SqsSource
from idem.testing import sqs_event
from idem.text import ERROR_CHARS_MAX
from tests.idem.builders import NOW
from tests.sources.endings import TROUBLE, ended


class Hostile(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no message")


class Queue:
    """An SQS client that keeps what it was sent; `failed`: ids of entries that it refuses."""

    def __init__(self, *failed: str, error: Exception | None = None) -> None:
        self.failed = failed
        self.error = error
        self.entries: list[dict[str, Any]] = []

    def send_message_batch(self, *, QueueUrl: str, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803, ARG002
        if self.error:
            raise self.error
        self.entries += Entries
        return {
            "Successful": [{"Id": one["Id"]} for one in Entries if one["Id"] not in self.failed],
            "Failed": [{"Id": one["Id"]} for one in Entries if one["Id"] in self.failed],
        }


def rejected(error: Exception, *payloads: Any, fifo_stop: FifoStop = FifoStop.GROUP, group: str = "") -> list[Ending]:
    event = sqs_event(*payloads, group=group) if group else sqs_event(*payloads)
    arrivals = SqsSource(fifo_stop=fifo_stop).read(event, NOW)
    return ended(arrivals, *[Rejected(error, recorded=True)] * len(arrivals))


def test_a_rejected_message_is_sent_with_its_error_and_others_are_not() -> None:
    queue = Queue()
    one, two = rejected(TROUBLE, {"n": 1}, {"n": 2})
    assert DeadLetters(queue, "https://q").send([one, replace(two, outcome=Retry(TROUBLE))]) == [one]
    (entry,) = queue.entries
    assert entry["MessageBody"] == '{"n": 1}'
    assert entry["MessageAttributes"]["idem.error"]["StringValue"] == "ValueError: made up"
    assert entry["MessageAttributes"]["idem.messageId"]["StringValue"] == "message-1"


@pytest.mark.parametrize(
    "error", [Hostile(), ValueError("\ud800\x00" * 2_000), ValueError()], ids=lambda one: repr(one)[:12]
)
def test_an_error_of_any_kind_is_text_that_a_queue_takes(error: Exception) -> None:
    queue = Queue()
    (one,) = rejected(error, {"n": 1})
    assert DeadLetters(queue, "https://q").send([one]) == [one]
    text = queue.entries[0]["MessageAttributes"]["idem.error"]["StringValue"]
    assert text.startswith(type(error).__name__)
    assert 0 < len(text) <= ERROR_CHARS_MAX
    assert text.isprintable()


@pytest.mark.parametrize(
    "attributes",
    [
        {"a": {}},
        {"a": None},
        {"a": {"dataType": 7}},
        {"a": {"dataType": "String"}},
        {"a": {"dataType": "Binary", "binaryValue": "é"}},
        {"a": {"dataType": "Binary", "binaryValue": None}},
        {str(number): {"dataType": "String", "stringValue": "x"} for number in range(9)},
        [],
        "text",
    ],
    ids=lambda one: repr(one)[:40],
)
def test_a_message_of_an_odd_form_is_left_to_the_queue_and_its_neighbours_are_sent(attributes: Any) -> None:
    queue = Queue()
    event = sqs_event({"n": 1}, {"n": 2}, {"n": 3})
    event["Records"][1]["messageAttributes"] = attributes
    endings = ended(SqsSource().read(event, NOW), *[Rejected(TROUBLE, recorded=True)] * 3)
    sent = DeadLetters(queue, "https://q").send(endings)
    assert [endings[0], endings[2]] == [one for one in sent if one is not endings[1]]
    assert len(queue.entries) == len(sent)


@pytest.mark.parametrize("fifo_stop", FifoStop)
def test_a_fifo_dead_letter_queue_keeps_the_messages_own_group(fifo_stop: FifoStop) -> None:
    queue = Queue()
    DeadLetters(queue, "https://q.fifo").send(rejected(TROUBLE, {"n": 1}, fifo_stop=fifo_stop, group="customer-7"))
    (entry,) = queue.entries
    assert (entry["MessageGroupId"], entry["MessageDeduplicationId"]) == ("customer-7", "message-1")


def test_what_the_queue_does_not_take_is_not_acknowledged() -> None:
    endings = rejected(TROUBLE, {"n": 1}, {"n": 2})
    assert DeadLetters(Queue("0"), "https://q").send(endings) == endings[1:]
    assert DeadLetters(Queue(error=OSError("reset")), "https://q").send(endings) == []
    (bare,) = ended([Delivery(id="m", payload=None)], Rejected(TROUBLE, recorded=True))
    assert DeadLetters(Queue(), "https://q").send([bare]) == []
