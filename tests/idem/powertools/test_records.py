"""A switch from Powertools: records that the real Powertools wrote, read by the consumer that follows it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest
from aws_lambda_powertools.utilities.idempotency import (
    DynamoDBPersistenceLayer,
    IdempotencyConfig,
    idempotent_function,
)
from moto import mock_aws

from idem import Commit, Consumer, DynamoStore, MemoryStore, NotKept, Policy, Retention, SqsSource, Status, Store, keys
from idem.delivery import Busy, Done, Ending, Unavailable
from idem.dynamo.statements import Together
from idem.errors import CorruptRecord
from idem.powertools.records import PowertoolsRecords
from idem.testing import ManualClock, sqs_event

REGION = "us-east-1"
TABLE = "powertools"
PREFIX = "orders-fn.fulfil"
SWITCH_ENDS = datetime.now(UTC) + timedelta(days=1)


class Context:
    """An invocation that began just now."""

    @staticmethod
    def get_remaining_time_in_millis() -> int:
        return 30_000


class Before:
    """The old consumer: Powertools itself, on a table of its own. Its clock is the machine's."""

    def __init__(self, **layer: Any) -> None:
        self.client: Any = boto3.client("dynamodb", REGION)
        names = ["pk", "sk"] if layer else ["id"]
        kinds: Any = zip(names, ("HASH", "RANGE"), strict=False)
        self.client.create_table(
            TableName=TABLE,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in names],
            KeySchema=[{"AttributeName": name, "KeyType": kind} for name, kind in kinds],
        )
        self.layer = DynamoDBPersistenceLayer(TABLE, boto3_client=self.client, **layer)

    def fulfil(
        self,
        order: Any,
        *,
        select: str = "orderId",
        result: Any = "by Powertools",
        prefix: str | None = PREFIX,
        **config: Any,
    ) -> Any:
        """Let Powertools do the work; the name of the function it did it in."""
        context: Any = Context()
        settings = IdempotencyConfig(event_key_jmespath=select, lambda_context=context, **config)

        def work(*, order: Any) -> Any:
            assert order
            if isinstance(result, BaseException):
                raise result
            return result

        decorate: Any = idempotent_function(
            data_keyword_argument="order", persistence_store=self.layer, config=settings, key_prefix=prefix
        )
        decorate(work)(order=order)
        return f"{work.__module__}.{work.__qualname__}"

    def change(self, **attributes: Any) -> None:
        """Change attributes of the one record; None removes one."""
        (item,) = self.client.scan(TableName=TABLE)["Items"]
        item |= {name: value for name, value in attributes.items() if value is not None}
        for name in [name for name, value in attributes.items() if value is None]:
            item.pop(name, None)
        self.client.put_item(TableName=TABLE, Item=item)


class After:
    """The new consumer, with what it did."""

    def __init__(self, before: Before, store: Store | None = None, **old: Any) -> None:
        self.clock = ManualClock(int(datetime.now(UTC).timestamp() * 1000))
        self.runs: list[Any] = []
        self.endings: list[Ending] = []
        options: dict[str, Any] = {
            "prefix": PREFIX,
            "until": SWITCH_ENDS,
            "selected": lambda delivery: delivery.payload["orderId"],
        }
        self.old = PowertoolsRecords(before.client, TABLE, clock=self.clock, **(options | old))
        self.store = store or MemoryStore(self.clock)

    def consumer(self, **changes: Any) -> Consumer:
        made: dict[str, Any] = {
            "operation": "orders.fulfil",
            "source": SqsSource(),
            "key": self.old.key(keys.field("orderId")),
            "work": self.work,
            "policy": Policy(retention=Retention.QUEUE),
            "store": self.old.over(self.store),
            "observe": self.endings.append,
            "clock": self.clock,
        }
        return Consumer(**(made | changes))

    def work(self, delivery: Any, _claim: Any) -> str:
        self.runs.append(delivery.payload["orderId"])
        return "by us"

    def deliver(self, *orders: Any, **changes: Any) -> list[Any]:
        """Deliver one batch; the outcomes."""
        self.endings.clear()
        self.consumer(**changes)(sqs_event(*orders))
        return [ending.outcome for ending in self.endings]


ORDER = {"orderId": "o-1", "lines": [1, 2]}


@pytest.fixture(autouse=True)
def _account(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_NAME", "orders-fn")
    with mock_aws():
        yield


@pytest.fixture
def before() -> Before:
    return Before()


def test_work_that_powertools_has_done_is_replayed_and_not_repeated(before: Before) -> None:
    before.fulfil(ORDER, result={"total": 3})
    after = After(before)
    (outcome,) = after.deliver(ORDER)
    assert outcome == Done({"total": 3}, replayed=True, attempt=1)
    assert after.runs == []


def test_an_old_record_lives_on_as_one_of_ours_for_our_retention(before: Before) -> None:
    before.fulfil(ORDER)
    after = After(before)
    after.deliver(ORDER)
    before.client.delete_table(TableName=TABLE)
    after.clock.sleep_ms(28 * 24 * 3600 * 1000)
    assert after.deliver(ORDER) == [Done("by Powertools", replayed=True, attempt=1)]


def test_work_that_powertools_never_saw_runs(before: Before) -> None:
    before.fulfil({"orderId": "another"})
    after = After(before)
    assert after.deliver(ORDER) == [Done("by us", replayed=False, attempt=1)]


def test_work_that_failed_under_powertools_runs_because_it_forgets_failures(before: Before) -> None:
    with pytest.raises(ValueError, match="no stock"):
        before.fulfil(ORDER, result=ValueError("no stock"))
    assert After(before).deliver(ORDER) == [Done("by us", replayed=False, attempt=1)]


def test_a_batch_of_old_and_new_is_sorted_out(before: Before) -> None:
    for number in (1, 3):
        before.fulfil({"orderId": f"o-{number}"})
    after = After(before)
    outcomes = after.deliver(*({"orderId": f"o-{number}"} for number in (1, 2, 3, 2)))
    assert [outcome.replayed for outcome in outcomes] == [True, False, True, True]
    assert after.runs == ["o-2"]


@pytest.mark.parametrize("select", ["orderId", "[orderId, lines]", "{id: orderId}", "lines", "@"])
def test_whatever_powertools_selected_can_be_selected_again(before: Before, select: str) -> None:
    chosen: dict[str, Any] = {
        "orderId": lambda order: order["orderId"],
        "[orderId, lines]": lambda order: [order["orderId"], order["lines"]],
        "{id: orderId}": lambda order: {"id": order["orderId"]},
        "lines": lambda order: order["lines"],
        "@": lambda order: order,
    }
    before.fulfil(ORDER, select=select)
    after = After(before, selected=lambda delivery: chosen[select](delivery.payload))
    assert after.deliver(ORDER) == [Done("by Powertools", replayed=True, attempt=1)]


def test_names_in_another_script_are_hashed_as_powertools_does(before: Before) -> None:
    order = {"orderId": "Bestellung-ü-№1"}
    before.fulfil(order)
    assert After(before).deliver(order) == [Done("by Powertools", replayed=True, attempt=1)]


def test_another_hash_function_is_followed(before: Before) -> None:
    before.fulfil(ORDER, hash_function="sha256")
    assert After(before, hash_function="sha256").deliver(ORDER)[0].replayed


def test_the_name_that_powertools_makes_up_by_itself_is_followed(before: Before) -> None:
    name = before.fulfil(ORDER, prefix=None)
    assert After(before, prefix=f"orders-fn.{name}").deliver(ORDER)[0].replayed


def test_a_table_with_a_sort_key_is_read() -> None:
    before = Before(key_attr="pk", sort_key_attr="sk")
    before.fulfil(ORDER)
    assert After(before, key_attr="pk", sort_key_attr="sk").deliver(ORDER)[0].replayed


def test_work_that_powertools_has_in_hand_is_waited_for(before: Before) -> None:
    before.fulfil(ORDER)
    after = After(before)
    until = after.clock.now_ms() + 60_000
    before.change(status={"S": "INPROGRESS"}, data=None, in_progress_expiration={"N": str(until)})
    assert after.deliver(ORDER) == [Busy(until)]
    assert after.runs == []
    before.change(status={"S": "COMPLETED"}, data={"S": '"late"'})
    assert after.deliver(ORDER) == [Done("late", replayed=True, attempt=1)]


def test_work_that_powertools_left_lying_is_taken_over(before: Before) -> None:
    before.fulfil(ORDER)
    after = After(before)
    past = after.clock.now_ms() - 1
    before.change(status={"S": "INPROGRESS"}, data=None, in_progress_expiration={"N": str(past)})
    assert after.deliver(ORDER) == [Done("by us", replayed=False, attempt=1)]


def test_an_expired_record_counts_as_none(before: Before) -> None:
    before.fulfil(ORDER)
    after = After(before)
    after.clock.sleep_ms(3_602_000)  # Powertools' default is an hour
    assert after.deliver(ORDER) == [Done("by us", replayed=False, attempt=1)]


def test_after_the_transition_the_old_table_is_not_asked(before: Before) -> None:
    before.fulfil(ORDER)
    before.client.delete_table(TableName=TABLE)
    after = After(before, until=datetime.now(UTC) - timedelta(seconds=1))
    assert after.deliver(ORDER) == [Done("by us", replayed=False, attempt=1)]


def test_without_an_answer_from_the_old_table_nothing_is_started_and_nothing_stays_claimed(before: Before) -> None:
    before.client.delete_table(TableName=TABLE)
    after = After(before)
    (outcome,) = after.deliver(ORDER)
    assert isinstance(outcome, Unavailable)
    assert not outcome.ran
    assert after.runs == []
    assert isinstance(after.store, MemoryStore)
    assert after.store.records == {}


def test_a_record_that_nobody_can_read_starts_nothing(before: Before) -> None:
    before.fulfil(ORDER)
    before.change(status={"S": "DONE"})
    after = After(before)
    (outcome,) = after.deliver(ORDER)
    assert isinstance(outcome, Unavailable)
    assert isinstance(outcome.error, CorruptRecord)
    assert after.runs == []


def test_a_result_that_is_too_large_is_not_taken_over_and_the_work_still_not_repeated(before: Before) -> None:
    before.fulfil(ORDER, result="x" * 5000)
    after = After(before)
    (outcome,) = after.deliver(ORDER)
    assert outcome.replayed
    assert isinstance(outcome.result, NotKept)


def test_a_plan_is_not_written_for_what_powertools_has_done(before: Before) -> None:
    before.fulfil(ORDER)
    after = After(before)
    plan = {"work": None, "plan": lambda _delivery: Commit([], "by us")}
    assert after.deliver(ORDER, **plan) == [Done("by Powertools", replayed=True, attempt=1)]
    assert after.deliver({"orderId": "o-2"}, **plan) == [Done("by us", replayed=False, attempt=1)]


def test_on_dynamodb_the_old_record_is_stored_as_any_of_ours(before: Before) -> None:
    before.fulfil(ORDER, result={"total": 3})
    before.client.create_table(
        TableName="ours",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
    )
    store = DynamoStore(before.client, "ours", together=Together.SINGLY)
    after = After(before, store)
    assert after.deliver(ORDER)[0].replayed
    record = store.get(keys.make_key("orders.fulfil", ["o-1"]))
    assert record is not None
    assert (record.status, record.result and json.loads(record.result.text)) == (Status.SUCCEEDED, {"total": 3})
