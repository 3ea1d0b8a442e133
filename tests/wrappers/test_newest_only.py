"""Older events of an object, after newer ones: in memory, and on a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from idem import Commit, Consumer, DynamoStore, MemoryStore, Policy, Put, Retention, SqsSource, keys
from idem.errors import StoreUnavailable
from idem.testing import ManualClock, sqs_event
from idem.wrappers.newest_only import KEPT_FOR, DynamoPositions, MemoryPositions, NewestOnly, Positions

HOUR = 3_600_000


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def client() -> Iterator[Any]:
    with mock_aws():
        made = boto3.client("dynamodb", "us-east-1")
        for table, key in {"positions": "pk", "records": "pk", "rows": "id"}.items():
            made.create_table(
                TableName=table,
                KeySchema=[{"AttributeName": key, "KeyType": "HASH"}],
                AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"}],
                BillingMode="PAY_PER_REQUEST",
            )
        yield made


@pytest.fixture(params=["memory", "table"])
def positions(request: pytest.FixtureRequest, clock: ManualClock) -> Positions:
    if request.param == "memory":
        return MemoryPositions()
    return DynamoPositions(request.getfixturevalue("client"), "positions", clock=clock)


def applied(positions: Positions, clock: ManualClock) -> tuple[Callable[..., Any], list[Any]]:
    """A consumer behind the wrapper, and what it applied."""
    done: list[Any] = []

    def work(delivery: Any, _claim: Any) -> Any:
        done.append((delivery.payload["object"], delivery.payload["at"]))
        return {"applied": delivery.payload["at"]}

    newest = NewestOnly(positions=positions, object_key=keys.field("object"), position=lambda one: one.payload["at"])
    consumer = Consumer(
        operation="test.apply",
        source=SqsSource(),
        key=keys.field("event"),
        work=newest(work),
        policy=Policy(retention=Retention.QUEUE),
        store=MemoryStore(clock),
        clock=clock,
    )

    def deliver(event: str, at: Any, thing: str = "o-1") -> bool:
        answer: Any = consumer(sqs_event({"event": event, "object": thing, "at": at}))
        return not answer["batchItemFailures"]

    return deliver, done


@pytest.mark.parametrize(
    "times", [(1, 2, 3), ("2026-11-30T12:00:00.1Z", "2026-11-30T12:00:00.2Z", "2026-11-30T12:00:00.3Z")]
)
def test_an_older_event_is_acknowledged_and_not_run(positions: Positions, clock: ManualClock, times: Any) -> None:
    deliver, done = applied(positions, clock)
    assert all([deliver("e-2", times[1]), deliver("e-1", times[0]), deliver("e-3", times[2]), deliver("e-2", times[1])])
    assert done == [("o-1", times[1]), ("o-1", times[2])]


def test_events_of_one_moment_and_of_other_objects_are_run(positions: Positions, clock: ManualClock) -> None:
    deliver, done = applied(positions, clock)
    assert all([deliver("e-1", 5), deliver("e-2", 5), deliver("e-3", 1, "o-2")])
    assert done == [("o-1", 5), ("o-1", 5), ("o-2", 1)]


@pytest.mark.parametrize("at", [None, "", True, 1.5, []])
def test_an_event_without_a_position_is_not_run(positions: Positions, clock: ManualClock, at: Any) -> None:
    deliver, done = applied(positions, clock)
    assert not deliver("e-1", at)
    assert done == []


def test_text_and_numbers_are_never_compared(clock: ManualClock) -> None:
    """As in DynamoDB, where a comparison of two types is false; moto raises instead, so only memory can show it."""
    deliver, done = applied(MemoryPositions(), clock)
    assert deliver("e-1", 5)
    assert deliver("e-2", "2026-11-30")
    assert done == [("o-1", 5)]


def test_a_commit_is_refused_when_a_newer_event_came_in_between(client: Any, clock: ManualClock) -> None:
    positions = DynamoPositions(client, "positions", clock=clock)
    overtaken = True

    def work(delivery: Any, claim: Any) -> Any:
        nonlocal overtaken
        if overtaken:
            overtaken = False
            positions.advance("test.apply#o-1", 9, claim.deadline)
        return Commit([Put("rows", {"id": {"S": "o-1"}, "at": {"N": str(delivery.payload["at"])}})], "applied")

    newest = NewestOnly(positions=positions, object_key=keys.field("object"), position=lambda one: one.payload["at"])
    consumer = Consumer(
        operation="test.apply",
        source=SqsSource(),
        key=keys.field("event"),
        work=newest(work),
        policy=Policy(retention=Retention.QUEUE),
        store=DynamoStore(client, "records", clock=clock),
        clock=clock,
    )
    old = sqs_event({"event": "e-1", "object": "o-1", "at": 1})
    assert consumer(old)["batchItemFailures"] != []
    assert "Item" not in client.get_item(TableName="rows", Key={"id": {"S": "o-1"}})
    assert consumer(old)["batchItemFailures"] == []
    assert "Item" not in client.get_item(TableName="rows", Key={"id": {"S": "o-1"}})
    assert consumer(sqs_event({"event": "e-2", "object": "o-1", "at": 10}))["batchItemFailures"] == []
    assert client.get_item(TableName="rows", Key={"id": {"S": "o-1"}})["Item"]["at"] == {"N": "10"}


def test_a_position_outlives_every_resend(client: Any, clock: ManualClock) -> None:
    DynamoPositions(client, "positions", clock=clock).advance("o-1", 1, clock.now_ms() + HOUR)
    item = client.get_item(TableName="positions", Key={"pk": {"S": "POSITION#o-1"}})["Item"]
    assert int(item["expiresAt"]["N"]) == clock.now_ms() // 1000 + int(KEPT_FOR.total_seconds())
    DynamoPositions(client, "positions", kept_for=None, clock=clock).advance("o-2", 1, clock.now_ms() + HOUR)
    assert "expiresAt" not in client.get_item(TableName="positions", Key={"pk": {"S": "POSITION#o-2"}})["Item"]


def test_without_an_answer_from_the_table_nothing_runs(client: Any, clock: ManualClock) -> None:
    positions = DynamoPositions(client, "no-such-table", clock=clock)
    with pytest.raises(StoreUnavailable):
        positions.advance("o-1", 1, clock.now_ms() + HOUR)
    deliver, done = applied(positions, clock)
    assert not deliver("e-1", 1)
    assert done == []
