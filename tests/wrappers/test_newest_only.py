"""Older events of an object, after newer ones: in memory, and on a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import boto3
import pytest
from moto import mock_aws

from idem import Commit, Consumer, DynamoStore, MemoryStore, Policy, Put, Retention, SqsSource, keys
from idem.errors import ConfigurationError, StoreUnavailable, WriteRefused
from idem.testing import LambdaContext, ManualClock, sqs_event
from idem.wrappers.newest_only import NewestOnly
from idem.wrappers.positions import KEPT_FOR, DynamoPositions, MemoryPositions, NewerInProgress, Positions
from tests.idem.builders import request, won


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
        return MemoryPositions(clock)
    return DynamoPositions(request.getfixturevalue("client"), "positions", clock=clock)


class Refused(Exception):
    pass


def applied(
    positions: Positions,
    clock: ManualClock,
    errors: Mapping[int, Exception] | None = None,
    meanwhile: Callable[[int], None] = lambda _at: None,
) -> tuple[Callable[..., Any], list[Any]]:
    """A consumer behind the wrapper, and what it applied; `errors`: what its work raises at a position."""
    done: list[Any] = []

    def work(delivery: Any, _claim: Any) -> Any:
        meanwhile(delivery.payload["at"])
        if errors and delivery.payload["at"] in errors:
            raise errors[delivery.payload["at"]]
        done.append((delivery.payload["object"], delivery.payload["at"]))
        return {"applied": delivery.payload["at"]}

    newest = NewestOnly(positions=positions, object_key=keys.field("object"), position=lambda one: one.payload["at"])
    consumer = Consumer(
        operation="test.apply",
        source=SqsSource(),
        key=keys.field("event"),
        work=newest(work),
        policy=Policy(retention=Retention.QUEUE, permanent=(Refused,)),
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


def test_text_and_numbers_are_never_compared_and_the_event_is_not_lost(clock: ManualClock) -> None:
    """In DynamoDB a comparison of two types is false; moto raises instead, so only memory can show it."""
    deliver, done = applied(MemoryPositions(clock), clock)
    assert deliver("e-1", 5)
    assert not deliver("e-2", "2026-11-30")
    assert done == [("o-1", 5)]


@pytest.mark.parametrize("error", [Refused("never"), ConnectionError("for now")], ids=["for good", "for now"])
def test_an_older_event_is_still_applied_after_a_newer_one_failed(
    positions: Positions, clock: ManualClock, error: Exception
) -> None:
    deliver, done = applied(positions, clock, {20: error})
    deliver("e-20", 20)
    assert deliver("e-10", 10)
    assert done == [("o-1", 10)]
    assert deliver("e-5", 5)
    assert done == [("o-1", 10)]


def test_a_newer_event_that_failed_for_now_is_applied_when_it_comes_again(
    positions: Positions, clock: ManualClock
) -> None:
    errors: dict[int, Exception] = {20: ConnectionError("for now")}
    deliver, done = applied(positions, clock, errors)
    assert not deliver("e-20", 20)
    assert deliver("e-10", 10)
    errors.clear()
    assert deliver("e-20", 20)
    assert done == [("o-1", 10), ("o-1", 20)]


def test_an_older_event_waits_to_see_how_the_newer_one_ends(positions: Positions, clock: ManualClock) -> None:
    inner: list[bool] = []
    errors: dict[int, Exception] = {20: Refused("never")}

    def older_comes_in_between(at: int) -> None:
        if at == 20:
            inner.append(deliver("e-10", 10))

    deliver, done = applied(positions, clock, errors, older_comes_in_between)
    deliver("e-20", 20)
    assert inner == [False]
    assert deliver("e-10", 10)
    assert done == [("o-1", 10)]


def test_a_crash_leaves_what_has_begun_until_its_lease_ends(positions: Positions, clock: ManualClock) -> None:
    crashed = won(MemoryStore(clock).claim(request(lease_until=clock.now_ms() + 60_000)))
    assert positions.begin("test.apply#o-1", 20, crashed)
    deliver, done = applied(positions, clock)
    assert not deliver("e-10", 10)
    with pytest.raises(NewerInProgress):
        positions.begin("test.apply#o-1", 10, crashed)
    clock.sleep_ms(61_000)
    assert deliver("e-10", 10)
    assert done == [("o-1", 10)]
    assert positions.begin("test.apply#o-1", 20, crashed)


def test_giving_up_leaves_what_somebody_else_began_or_applied(positions: Positions, clock: ManualClock) -> None:
    one, two = (won(MemoryStore(clock).claim(request(token, lease_until=clock.now_ms() + 60_000))) for token in "ab")
    assert positions.begin("o", 10, one)
    assert positions.begin("o", 20, two)
    positions.give_up("o", one)
    with pytest.raises(NewerInProgress):
        positions.begin("o", 10, one)
    positions.apply("o", 20, two)
    positions.give_up("o", two)
    assert not positions.begin("o", 10, one)
    positions.apply("o", 10, one)
    assert not positions.begin("o", 15, one)


def test_a_coroutine_function_is_refused_when_it_is_wrapped(clock: ManualClock) -> None:
    async def work(_delivery: Any, _claim: Any) -> None: ...

    newest = NewestOnly(positions=MemoryPositions(clock), object_key=keys.field("object"), position=lambda _one: 1)
    with pytest.raises(ConfigurationError):
        newest(work)


def committing(positions: Positions, client: Any, clock: ManualClock, before: Callable[[int], Any]) -> Consumer:
    """A consumer that writes an event's position into a row; `before` is called when the work begins."""

    def work(delivery: Any, _claim: Any) -> Any:
        at = delivery.payload["at"]
        condition = before(at)
        row = Put("rows", {"id": {"S": "o-1"}, "at": {"N": str(at)}}, condition if isinstance(condition, str) else None)
        return Commit([row], "applied")

    newest = NewestOnly(positions=positions, object_key=keys.field("object"), position=lambda one: one.payload["at"])
    return Consumer(
        operation="test.apply",
        source=SqsSource(),
        key=keys.field("event"),
        work=newest(work),
        policy=Policy(retention=Retention.QUEUE, permanent=(WriteRefused,)),
        store=DynamoStore(client, "records", clock=clock),
        clock=clock,
    )


def row(client: Any) -> str | None:
    item = client.get_item(TableName="rows", Key={"id": {"S": "o-1"}}).get("Item")
    return item["at"]["N"] if item else None


def event(at: int) -> Any:
    return sqs_event({"event": f"e-{at}", "object": "o-1", "at": at})


def test_a_commit_is_refused_when_a_newer_event_was_applied_in_between(client: Any, clock: ManualClock) -> None:
    positions = DynamoPositions(client, "positions", clock=clock)

    def overtaken(at: int) -> None:
        if at == 1:
            assert consumer(event(9))["batchItemFailures"] == []

    consumer = committing(positions, client, clock, overtaken)
    assert consumer(event(1))["batchItemFailures"] != []
    assert row(client) == "9"
    assert consumer(event(10))["batchItemFailures"] == []
    assert row(client) == "10"


def test_a_commit_that_is_refused_for_good_leaves_the_older_event_to_be_applied(
    client: Any, clock: ManualClock
) -> None:
    positions = DynamoPositions(client, "positions", clock=clock)
    consumer = committing(positions, client, clock, lambda at: "attribute_exists(id)" if at == 20 else None)
    assert consumer(event(20), LambdaContext(clock, seconds=30))["batchItemFailures"] != []
    assert consumer(event(10))["batchItemFailures"] != []  # it is not known yet: the claim of 20 may still be at work
    clock.sleep_ms(120_000)
    assert consumer(event(10))["batchItemFailures"] == []
    assert row(client) == "10"


def test_a_position_outlives_every_resend(client: Any, clock: ManualClock) -> None:
    claim = won(MemoryStore(clock).claim(request()))

    def kept(thing: str, **more: Any) -> Any:
        positions = DynamoPositions(client, "positions", clock=clock, **more)
        positions.begin(thing, 1, claim)
        clock.sleep_ms(5_000)
        positions.apply(thing, 1, claim)
        return client.get_item(TableName="positions", Key={"pk": {"S": f"POSITION#{thing}"}})["Item"]

    assert int(kept("o-1")["expiresAt"]["N"]) == clock.now_ms() // 1000 + int(KEPT_FOR.total_seconds())
    assert "expiresAt" not in kept("o-2", kept_for=None)


def test_without_an_answer_from_the_table_nothing_runs(client: Any, clock: ManualClock) -> None:
    positions = DynamoPositions(client, "no-such-table", clock=clock)
    with pytest.raises(StoreUnavailable):
        positions.begin("o-1", 1, won(MemoryStore(clock).claim(request())))
    deliver, done = applied(positions, clock)
    assert not deliver("e-1", 1)
    assert done == []
