"""Kinesis and DynamoDB Streams: the checkpoint, and order for each item."""

from __future__ import annotations

import base64
import copy
import json
from dataclasses import replace
from typing import Any

import pytest

from idem import Consumer, Delivery, MemoryStore, Policy, Retention, Unreadable, keys
from idem.errors import UnreportableRecord, WrongEvent
from idem.sources.streams import DynamoStreamSource, KinesisSource, StreamSource
from idem.testing import redeliver
from tests.sources.samples import sample

SOURCES: dict[str, type[Any]] = {"kinesis": KinesisSource, "dynamodb": DynamoStreamSource}


def numbers(event: Any, name: str) -> list[str]:
    if name == "kinesis":
        return [record["kinesis"]["sequenceNumber"] for record in event["Records"]]
    return [record["dynamodb"]["SequenceNumber"] for record in event["Records"]]


class Stream:
    """A consumer of a sample stream whose work fails on chosen sequence numbers."""

    def __init__(self, name: str) -> None:
        self.event = sample(f"streams/{name}.json")
        self.numbers = numbers(self.event, name)
        self.failing: dict[str, Exception] = {}
        self.ran: list[str] = []
        source: StreamSource = SOURCES[name]()
        self.handler = Consumer(
            operation="o.p",
            source=source,
            key=keys.event_id(),
            work=self.work,
            policy=Policy(retention=Retention.QUEUE, permanent=(ValueError,)),
            store=MemoryStore(),
        )

    def work(self, delivery: Delivery, _claim: Any) -> None:
        self.ran.append(delivery.id)
        if delivery.id in self.failing:
            raise self.failing[delivery.id]

    def checkpoint(self) -> str | None:
        failures = self.handler(self.event)["batchItemFailures"]
        assert len(failures) <= 1
        return failures[0]["itemIdentifier"] if failures else None


@pytest.fixture(params=SOURCES)
def stream(request: pytest.FixtureRequest) -> Stream:
    return Stream(request.param)


def test_a_batch_that_is_done_has_no_checkpoint_and_replays(stream: Stream) -> None:
    assert redeliver(stream.handler, stream.event, times=3) == [{"batchItemFailures": []}] * 3
    assert sorted(stream.ran) == sorted(stream.numbers)


def test_the_checkpoint_is_the_first_record_that_was_not_done(stream: Stream) -> None:
    # In the samples, records 0 and 2 are of one item, record 1 of another.
    stream.failing = {stream.numbers[0]: TimeoutError("slow")}
    assert stream.checkpoint() == stream.numbers[0]
    assert stream.ran == stream.numbers[:2]  # the other item went on, record 2 waits behind record 0
    stream.failing = {}
    assert stream.checkpoint() is None
    assert stream.ran == [*stream.numbers[:2], stream.numbers[0], stream.numbers[2]]


def test_a_rejection_that_is_recorded_does_not_hold_up_the_shard(stream: Stream) -> None:
    stream.failing = {stream.numbers[1]: ValueError("never")}
    assert stream.checkpoint() is None
    assert stream.checkpoint() is None
    assert stream.ran.count(stream.numbers[1]) == 1


def test_another_content_under_a_known_key_is_reported_and_never_skipped(stream: Stream) -> None:
    assert stream.checkpoint() is None
    stream.handler = replace(stream.handler, key=keys.constant("one"), check=lambda one: one.id, store=MemoryStore())
    assert stream.checkpoint() == stream.numbers[1]
    assert stream.checkpoint() == stream.numbers[1]


def test_what_a_parser_raises_stays_with_its_record() -> None:
    """Records of a gzip stream, of which one is plain: gzip raises an OSError, and other parsers what they like."""
    event = sample("streams/kinesis.json")

    def parse(raw: bytes) -> Any:
        if raw == base64.b64decode(event["Records"][1]["kinesis"]["data"]):
            raise OSError("not a gzipped file")
        return json.loads(raw)

    found = KinesisSource(parse=parse).read(event, 0)
    assert [type(one) for one in found] == [Delivery, Unreadable, Delivery]
    assert found[1].id == event["Records"][1]["kinesis"]["sequenceNumber"]


def test_a_record_that_cannot_be_read_is_reported(stream: Stream) -> None:
    broken = copy.deepcopy(stream.event)
    record = broken["Records"][1]
    if "kinesis" in record:
        record["kinesis"]["data"] = "not base64!"
    else:
        del record["dynamodb"]["Keys"]
    answer = stream.handler(broken)
    assert answer == {"batchItemFailures": [{"itemIdentifier": stream.numbers[1]}]}


def test_a_record_without_a_sequence_number_fails_the_batch(stream: Stream) -> None:
    broken = copy.deepcopy(stream.event)
    record = broken["Records"][0]
    record.get("kinesis", record.get("dynamodb")).pop("sequenceNumber", None)
    record.get("dynamodb", {}).pop("SequenceNumber", None)
    stream.failing = {"": TimeoutError("slow")}
    with pytest.raises(UnreportableRecord):
        stream.handler(broken)


@pytest.mark.parametrize(
    "event", [None, {}, {"Records": None}, {"Records": [{"eventSource": "aws:sqs"}]}, {"Records": [1]}]
)
def test_an_event_of_another_kind_is_refused_whole(stream: Stream, event: Any) -> None:
    with pytest.raises(WrongEvent):
        stream.handler(event)
