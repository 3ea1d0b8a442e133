"""The SQS source: a batch in, a partial batch response out, whatever the batch looks like."""

from __future__ import annotations

from typing import Any

import pytest

from idem.delivery import (
    Arrival,
    Delivery,
    Done,
    Retry,
    Unreadable,
)
from idem.errors import MalformedDelivery, UnreportableRecord, WrongEvent
from idem.sources.sqs import SqsSource
from idem.testing import sqs_event
from tests.idem.builders import NOW
from tests.sources.endings import TROUBLE, UNDONE, arrival, ended


def read(event: Any) -> list[Arrival]:
    return SqsSource().read(event, NOW)


def one_record(**changes: Any) -> dict[str, Any]:
    event = sqs_event({"orderId": "o-1"})
    event["Records"][0] |= changes
    return event


def test_a_message_is_read_with_all_that_a_key_rule_may_want() -> None:
    event = sqs_event({"orderId": "o-1"}, queue="orders", receive_count=3)
    event["Records"][0]["messageAttributes"] = {
        "Idempotency-Key": {"stringValue": "k-1", "dataType": "String"},
        "Blob": {"binaryValue": "eA==", "dataType": "Binary"},
    }
    (found,) = read(event)
    assert isinstance(found, Delivery)
    assert (found.id, found.payload, found.body) == ("message-1", {"orderId": "o-1"}, b'{"orderId": "o-1"}')
    assert (found.group, found.handle, found.receive_count) == (None, "handle-1-3", 3)
    assert dict(found.headers) == {"idempotency-key": "k-1"}
    assert dict(found.origin) == {"source": "sqs", "queue": "orders", "messageId": "message-1"}


def test_messages_of_a_fifo_queue_belong_to_their_group() -> None:
    (found,) = read(sqs_event({}, group="g-1"))
    assert found.group == "g-1"


def test_a_standard_queue_has_no_groups_even_where_its_messages_name_one() -> None:
    event = sqs_event({})
    event["Records"][0]["attributes"] = {"MessageGroupId": "fair-queue-tenant", "ApproximateReceiveCount": "1"}
    assert read(event)[0].group is None


@pytest.mark.parametrize(
    "event",
    [
        None,
        {},
        [],
        "event",
        {"Records": None},
        {"Records": {}},
        {"records": []},
        {"Records": [None]},
        {"Records": [{}]},
        {"Records": [{"eventSource": "aws:sns", "Sns": {}}]},
        {"Records": [{"EventSource": "aws:sqs"}]},
        {"requestContext": {"http": {"method": "POST"}}},
        {"detail-type": "x", "source": "y", "detail": {}},
    ],
    ids=repr,
)
def test_an_event_of_another_kind_is_never_answered_as_a_batch_without_failures(event: Any) -> None:
    with pytest.raises(WrongEvent):
        read(event)


def test_one_foreign_record_makes_the_event_wrong_before_anything_is_read() -> None:
    event = sqs_event({}, {})
    event["Records"][1]["eventSource"] = "aws:kinesis"
    with pytest.raises(WrongEvent):
        read(event)


@pytest.mark.parametrize(
    "body",
    [
        "",
        "{",
        "not json",
        "NaN",
        "[Infinity]",
        '{"a": 1}x',
        "\ufeff{}",
        "\ud800",
        "[" * 100_000,
        "9" * 5_000,
        None,
        7,
        {},
        ["x"],
    ],
    ids=lambda body: repr(body)[:20],
)
def test_a_message_that_cannot_be_read_is_one_unreadable_delivery(body: Any) -> None:
    event = sqs_event({"n": 1}, {"n": 2})
    event["Records"][0]["body"] = body
    broken, fine = read(event)
    assert isinstance(broken, Unreadable)
    assert isinstance(broken.error, MalformedDelivery)
    assert "message-1" in str(broken.error)
    assert broken.id == "message-1"
    assert isinstance(fine, Delivery)


def test_what_a_parser_raises_stays_with_its_message() -> None:
    def parse(body: bytes) -> Any:
        if body == b'"bad"':
            raise IndexError("out of range")
        return body

    bad, fine = SqsSource(parse=parse).read(sqs_event('"bad"', "fine"), NOW)
    assert isinstance(bad, Unreadable)
    assert isinstance(bad.error, MalformedDelivery)
    assert isinstance(fine, Delivery)
    assert fine.payload == b"fine"


@pytest.mark.parametrize(
    "name", ["attributes", "messageAttributes", "receiptHandle", "eventSourceARN", "messageId", "body"]
)
@pytest.mark.parametrize("value", ["absent", None, 7, "text", [], {}, ["x"], {"x": 1}], ids=repr)
def test_a_record_of_any_shape_is_read_without_taking_the_batch_with_it(name: str, value: Any) -> None:
    event = sqs_event({"n": 1}, {"n": 2}, group="g-1")
    whole, beside = read(event)
    event["Records"][0][name] = value
    if value == "absent":
        del event["Records"][0][name]
    found, neighbour = read(event)
    text = value if value == "text" else ""
    assert neighbour == beside
    assert isinstance(found, Unreadable) is (name == "body" or (name == "messageId" and not text))
    assert found.id == (text if name == "messageId" else whole.id)
    assert found.handle == ((text or None) if name == "receiptHandle" else whole.handle)
    assert found.group == (None if name in {"attributes", "eventSourceARN"} else "g-1")


@pytest.mark.parametrize(
    ("value", "count"),
    [("1", 1), ("12", 12), (None, 1), ("x", 1), (3, 1), ("-1", 1), ("1.5", 1), ("\u0663", 1), ("9" * 5000, 1), ([], 1)],
    ids=lambda value: repr(value)[:12],
)
def test_the_receive_count_is_one_where_it_cannot_be_read(value: Any, count: int) -> None:
    (found,) = read(one_record(attributes={"ApproximateReceiveCount": value}))
    assert found.receive_count == count


def test_what_was_done_is_not_reported_and_all_else_is_in_order() -> None:
    arrivals = [arrival(number) for number in range(8)]
    outcomes = [Done(None, replayed=False, attempt=1), *UNDONE.values(), Done(None, replayed=True, attempt=1)]
    assert SqsSource().reply(ended(arrivals, *outcomes), NOW) == {
        "batchItemFailures": [{"itemIdentifier": f"m-{number}"} for number in range(1, 7)]
    }


def test_a_batch_that_was_done_is_answered_with_an_empty_list() -> None:
    done = Done(None, replayed=False, attempt=1)
    assert SqsSource().reply(ended([arrival()], done), NOW) == {"batchItemFailures": []}
    assert SqsSource().reply([], NOW) == {"batchItemFailures": []}


def test_an_id_that_came_twice_is_reported_once_if_either_was_not_done() -> None:
    done, failed = Done(None, replayed=False, attempt=1), Retry(TROUBLE)
    expected = {"batchItemFailures": [{"itemIdentifier": "m-1"}]}
    for outcomes in ((done, failed), (failed, done), (failed, failed)):
        assert SqsSource().reply(ended([arrival(1), arrival(1)], *outcomes), NOW) == expected


def test_a_record_without_an_id_fails_the_whole_batch_instead_of_being_lost() -> None:
    arrivals = read(one_record(messageId=None))
    with pytest.raises(UnreportableRecord):
        SqsSource().reply(ended(arrivals, UNDONE["malformed"]), NOW)
