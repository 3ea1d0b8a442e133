"""The orders handler, on the samples of `events/orders`."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from handlers import orders
from idem import Consumer, DynamoStore
from idem.dynamo.statements import Together
from idem.errors import WrongEvent
from idem.testing import FaultyStore, ManualClock, crash_before, lose_answer, one_effect, redeliver, sqs_event
from tests.handlers.conftest import Stack, sample


def consumer(stack: Stack) -> Consumer:
    """The real consumer; only the way in which a batch travels is one that moto can run."""
    return replace(orders.build(), store=DynamoStore(stack.dynamodb, "idempotency", together=Together.SINGLY))


def failed(answer: dict[str, Any]) -> list[str]:
    return [entry["itemIdentifier"][-1] for entry in answer["batchItemFailures"]]


def test_a_batch_fulfils_the_valid_orders_and_reports_the_others(stack: Stack) -> None:
    answer = consumer(stack)(sample("orders/batch.json"))
    assert failed(answer) == ["3", "4"]  # the poison order, and the body that is not JSON
    assert stack.effects() == ["ORDER#1001", "ORDER#1002"]
    assert stack.statuses() == {
        "orders.fulfil#1001": "succeeded",
        "orders.fulfil#1002": "succeeded",
        "orders.fulfil#1003": "failed",
    }


def test_the_same_batch_again_changes_nothing(stack: Stack) -> None:
    first = consumer(stack)(sample("orders/batch.json"))
    before = stack.effects(), stack.statuses()
    assert redeliver(consumer(stack), sample("orders/batch.json"), times=3) == [first] * 3
    assert (stack.effects(), stack.statuses()) == before


def test_an_order_under_another_message_id_is_the_same_order(stack: Stack) -> None:
    order = sample("orders/order_1001.json")
    with one_effect(lambda: len(stack.effects())):
        consumer(stack)(sqs_event(order))
        consumer(stack)(sqs_event({"orderId": "1002"}, order))  # now it is message-2
    assert stack.effects() == ["ORDER#1001"]


def test_a_fifo_group_stops_at_its_first_failure_and_others_go_on(stack: Stack) -> None:
    answer = consumer(stack)(sample("orders/batch_fifo.json"))
    assert [entry["itemIdentifier"][-2:] for entry in answer["batchItemFailures"]] == ["12", "13"]
    assert stack.effects() == ["ORDER#1001", "ORDER#1002"]


def test_a_handler_that_dies_before_its_record_runs_again(stack: Stack) -> None:
    clock = ManualClock()
    real = consumer(stack)
    store = FaultyStore(
        DynamoStore(stack.dynamodb, "idempotency", together=Together.SINGLY, clock=clock), crash_before("complete")
    )
    redeliver(
        replace(real, store=store, clock=clock), sqs_event(sample("orders/order_1001.json")), times=3, clock=clock
    )
    # The gap that this mode has: `payments.py` closes it.
    assert stack.effects() == ["ORDER#1001", "ORDER#1001"]
    assert stack.statuses() == {"orders.fulfil#1001": "succeeded"}


def test_an_outcome_whose_recording_got_no_answer_is_not_acknowledged_and_then_replayed(stack: Stack) -> None:
    store = FaultyStore(DynamoStore(stack.dynamodb, "idempotency", together=Together.SINGLY), lose_answer("complete"))
    with one_effect(lambda: len(stack.effects())):
        answers = redeliver(replace(consumer(stack), store=store), sqs_event(sample("orders/order_1001.json")))
    assert [failed(answer) for answer in answers] == [["1"], []]


@pytest.mark.parametrize(
    ("lines", "what"),
    [
        (None, "lines"),
        ([], "lines"),
        ([{"quantity": 0, "unitPrice": 1}], "quantity"),
        ([{"quantity": 1, "unitPrice": -1}], "price"),
        ([{"quantity": 1.5, "unitPrice": 1}], "quantity"),
        (["tea"], "line 1"),
        ([{"quantity": True, "unitPrice": 1}], "quantity"),
    ],
)
def test_an_order_that_nobody_could_fulfil_is_refused_for_good(stack: Stack, lines: Any, what: str) -> None:
    event = sqs_event({"orderId": "o-1", "lines": lines})
    assert failed(consumer(stack)(event)) == ["1"]
    assert stack.effects() == []
    item = stack.dynamodb.scan(TableName="idempotency")["Items"][0]
    assert item["error"]["M"]["type"]["S"] == "InvalidOrder"
    assert what in item["error"]["M"]["message"]["S"]


@pytest.mark.parametrize("body", ['{"order": 1}', '{"orderId": null}', '{"orderId": " "}', '{"orderId": {}}', "[]", ""])
def test_an_order_without_an_id_is_reported_and_claims_nothing(stack: Stack, body: str) -> None:
    assert failed(consumer(stack)(sqs_event(body))) == ["1"]
    assert stack.statuses() == {}


def test_an_event_of_another_kind_is_refused_whole(stack: Stack) -> None:
    with pytest.raises(WrongEvent, match="SQS"):
        consumer(stack)(sample("payments/http_api.json"))


def test_the_handler_itself_logs_and_counts_each_delivery_without_its_payload(
    stack: Stack, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    assert orders.handler(sqs_event(sample("orders/order_1001.json")), None) == {"batchItemFailures": []}
    logged = next(record.__dict__ for record in caplog.records if record.getMessage() == "delivery")
    assert logged["key"] == "orders.fulfil#1001"
    assert logged["outcome"] == "FirstRuns"
    assert logged["origin"]["messageId"] == "message-1"
    printed = capsys.readouterr().out
    metrics = next(json.loads(line) for line in printed.splitlines() if '"_aws"' in line)
    assert metrics["operation"] == "orders.fulfil"
    assert metrics["FirstRuns"] == [1.0]
    assert "tea-250g" not in printed + caplog.text + repr(logged)
    assert stack.effects() == ["ORDER#1001"]
