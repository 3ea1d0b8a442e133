"""Faults that users of other libraries reported about queues, webhooks and transactions. See test_peer_faults.py."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from idem import Consumer, Lapsed, MemoryStore, Policy, Retention, SqsSource, WebhookSource, keys, once
from idem.delivery import Busy, Delivery, Done, Unsettled
from idem.dynamo.store import DynamoStore
from idem.dynamo.transactions import Impossible, read_reasons
from idem.errors import (
    InProgress,
    SignatureInvalid,
    UnreportableRecord,
    WriteRefused,
    WrongEvent,
)
from idem.record import Key, Status
from idem.sources.http import HttpRequest
from idem.testing import sign_stripe, sqs_event
from idem.webhooks.schemes import stripe
from tests.idem.benches import DynamoBench
from tests.idem.builders import KEY, NOW, NOW_S, RESULT, lapsed, record, request, won
from tests.idem.clients import Raising, client_error
from tests.idem.clocks import TestClock
from tests.idem.consumers import DAY, Bench, raising
from tests.sources.http_events import function_url

LATER = NOW_S + 7200
ORDER = Key("orders.fulfil", "o-1")


# --- SQS ---


# Malformed partial answers fail or delete the whole batch; powertools-python: one record without an id kills the answer.
@pytest.mark.parametrize("message_id", [None, "", 7])
def test_a_record_that_cannot_be_named_is_never_acknowledged(clock: TestClock, message_id: Any) -> None:
    event = sqs_event({"id": "a"}, {"id": "b"})
    event["Records"][1]["messageId"] = message_id
    bench = Bench(clock)
    with pytest.raises(UnreportableRecord):
        bench.consumer(event)
    assert bench.ran == ["a"]


# An event that is not an SQS event is answered "no failures".
def test_a_foreign_event_is_refused(clock: TestClock) -> None:
    with pytest.raises(WrongEvent):
        Bench(clock).consumer({"source": "aws.events", "detail": {}})


# powertools-python #4691, #7596: when all have failed, the answer must still be a list of all.
def test_a_batch_that_failed_whole_is_reported_by_name(clock: TestClock) -> None:
    answer = Bench(clock, raising(ValueError())).consumer(sqs_event({"id": "a"}, {"id": "b"}))
    assert answer == {"batchItemFailures": [{"itemIdentifier": "message-1"}, {"itemIdentifier": "message-2"}]}


# powertools-python: a FIFO batch with a malformed record after the first failure raises, so finished records come again.
def test_a_malformed_record_after_a_failure_is_reported_like_the_rest(clock: TestClock) -> None:
    def work(payload: Any, _claim: Any) -> None:
        if payload["id"] == "b":
            raise ValueError

    bench = Bench(clock, work)
    outcomes = bench({"id": "a"}, {"id": "b"}, "{", {"id": "d"}, group="g")
    assert [isinstance(outcome, Done) for outcome in outcomes] == [True, False, False, False]
    assert bench.ran == ["a", "b"]


# powertools-python #1242: a time-out in the middle returns finished records.
def test_finished_records_are_recorded_and_acknowledged_when_time_runs_out(clock: TestClock) -> None:
    bench = Bench(clock, lambda _payload, _claim: clock.pass_ms(2_800))
    outcomes = bench({"id": "a"}, {"id": "b"}, seconds=3)
    assert [isinstance(outcome, Done) for outcome in outcomes] == [True, False]


# Waiting duplicates burn receives until the dead-letter queue.
def test_a_held_duplicate_comes_back_when_the_lease_ends(clock: TestClock) -> None:
    moved: list[Any] = []

    class Queue:
        def change_message_visibility_batch(self, **asked: Any) -> Any:
            moved.extend(asked["Entries"])
            return {}

    bench = Bench(clock, source=SqsSource(client=Queue(), queue_url="https://sqs.example/q", clock=clock))
    bench.memory.records[ORDER] = record(key=ORDER, lease_until=NOW + 40_000)
    assert bench.one() == Busy(NOW + 42_000)
    assert [entry["VisibilityTimeout"] for entry in moved] == [42]


# --- webhooks ---

SECRET = "whsec_test"
EVENT = {"id": "evt_1", "object": "event", "type": "charge.succeeded"}


def hook(clock: TestClock, work: Any, **more: Any) -> Consumer:
    return Consumer(
        **{
            "operation": "payments.record",
            "source": WebhookSource(stripe(), lambda: [SECRET]),
            "key": keys.event_id(),
            "work": work,
            "policy": Policy(retention=Retention.WEBHOOK, permanent=(KeyError,)),
            "store": MemoryStore(clock),
            "clock": clock,
        }
        | more
    )


def deliver(consumer: Consumer, event: Any = None, at: int = NOW_S) -> Any:
    body = json.dumps(event or EVENT, indent=1).encode()
    return consumer(function_url(body, {"stripe-signature": sign_stripe(body, SECRET, at)}))


# stripe 16.1.0: non-ASCII signatures raise TypeError, undecodable bodies UnicodeDecodeError; standardwebhooks: ValueError.
@pytest.mark.parametrize(
    ("body", "header"),
    [(b"{}", f"t={NOW_S},v1=\u00e9"), (b"\xff", f"t={NOW_S},v1=aa"), (b"{}", "t=\u00b2,v1=aa"), (b"{}", "v1")],
)
def test_hostile_input_is_only_ever_a_bad_signature(body: bytes, header: str) -> None:
    asked = HttpRequest(method="POST", path="/", headers={"stripe-signature": header}, body=body, request_id="r")
    with pytest.raises(SignatureInvalid):
        stripe().verify(asked, [SECRET], NOW)


# stripe 16.1.0: a time stamp ten years ahead is accepted, and a tolerance of 0 switches the check off.
@pytest.mark.parametrize("tolerance", [timedelta(minutes=5), timedelta(0)])
def test_a_signature_from_the_future_is_refused(tolerance: timedelta) -> None:
    at = NOW_S + 10 * 365 * 86_400
    header = sign_stripe(b"{}", SECRET, at)
    asked = HttpRequest(method="POST", path="/", headers={"stripe-signature": header}, body=b"{}", request_id="r")
    with pytest.raises(SignatureInvalid):
        stripe(tolerance=tolerance).verify(asked, [SECRET], NOW)


# PageSpace #2199, PostHog #101508: a duplicate in flight is answered 200, the first one dies, and the event is lost.
def test_a_duplicate_in_flight_is_told_to_come_again(clock: TestClock) -> None:
    inner: list[Any] = []
    consumer: Consumer = hook(clock, lambda _delivery, _claim: inner.append(deliver(consumer)))
    assert deliver(consumer)["statusCode"] == 200
    assert inner[0]["statusCode"] == 409
    assert int(inner[0]["headers"]["retry-after"]) > 0


# postel #129: an event is marked as seen before its handler failed, and its retry is dropped as a duplicate.
def test_an_event_whose_work_failed_is_worked_on_again(clock: TestClock) -> None:
    ran: list[int] = []

    def work(_delivery: Delivery, _claim: Any) -> str:
        ran.append(1)
        if len(ran) == 1:
            raise TimeoutError
        return "done"

    consumer = hook(clock, work)
    assert deliver(consumer)["statusCode"] == 503
    assert deliver(consumer)["statusCode"] == 200
    assert len(ran) == 2


# A permanent rejection answered with an error causes days of retries.
def test_a_permanent_rejection_is_recorded_and_answered_so_that_the_provider_stops(clock: TestClock) -> None:
    def work(_delivery: Delivery, _claim: Any) -> None:
        raise KeyError("no such customer")

    store = MemoryStore(clock)
    consumer = hook(clock, work, store=store)
    assert deliver(consumer)["statusCode"] == 200
    assert [stored.status for stored in store.records.values()] == [Status.FAILED]
    assert deliver(consumer)["statusCode"] == 200


# Thin (v2) events are refused by the snapshot parser.
def test_a_thin_event_is_read_like_any_other(clock: TestClock) -> None:
    thin = {"id": "evt_2", "object": "v2.core.event", "type": "v2.money_management.x", "created": "2026-11-30"}
    assert deliver(hook(clock, lambda _delivery, _claim: "done"), thin)["statusCode"] == 200


# Retention below 30 days: a provider's manual resend runs the work again.
def test_a_webhook_sent_again_by_hand_after_a_month_is_a_replay(clock: TestClock) -> None:
    ran: list[int] = []
    consumer = hook(clock, lambda _delivery, _claim: ran.append(1))
    deliver(consumer)
    clock.pass_ms(30 * 86_400_000)
    assert deliver(consumer, at=clock.now_ms() // 1000)["headers"]["idempotent-replayed"] == "true"
    assert ran == [1]


# --- DynamoDB ---


# pynamodb #1264, scalardb #407: every cancellation is taken for a duplicate.
@pytest.mark.parametrize("code", ["ValidationError", "ItemCollectionSizeLimitExceeded", "AccessDenied"])
def test_a_cancellation_is_a_duplicate_only_if_the_records_condition_failed(code: str) -> None:
    assert isinstance(read_reasons([{"Code": "None"}, {"Code": code}]), Impossible)
    assert isinstance(read_reasons([{"Code": code}, {"Code": "None"}]), Impossible)


def test_the_callers_own_refused_condition_is_no_duplicate(dynamo: DynamoBench) -> None:
    dynamo.store.guard(request("seed", key=Key("seed", "s")), RESULT, [dynamo.put_order("o-1")])
    with pytest.raises(WriteRefused):
        dynamo.store.guard(request(), RESULT, [dynamo.put_order("o-1", only_new=True)])
    assert dynamo.raw(KEY) is None


# A plain put that meets an open transaction is refused with a conflict: that is no duplicate.
def test_a_conflict_with_a_transaction_is_tried_again(dynamo: DynamoBench, clock: TestClock) -> None:
    client = Raising(dynamo.client, "put_item", client_error("TransactionConflictException"))
    assert won(DynamoStore(client, dynamo.table, clock=clock).claim(request())).attempt == 1


# Powertools #8049: no way to say "do not run it again after a time-out".
def test_work_that_timed_out_can_be_left_to_a_person(clock: TestClock) -> None:
    bench = Bench(clock, policy=Policy(retention=DAY, lapsed=Lapsed.HOLD))
    bench.memory.records[ORDER] = lapsed(key=ORDER)
    assert isinstance(bench.one(), Unsettled)
    assert bench.ran == []


# Powertools #2490: in flight only raises; there is no wait.
def test_in_flight_can_be_told_apart_and_waited_for(clock: TestClock) -> None:
    store = MemoryStore(clock)
    store.records[Key("o", "k")] = record(key=Key("o", "k"), lease_until=NOW + 1_000)
    work = once(operation="o", key=keys.field("key"), store=store, policy=Policy(retention=DAY), clock=clock)(
        lambda key: key
    )
    with pytest.raises(InProgress):
        work("k")
    patient = Policy(retention=DAY, wait=timedelta(seconds=10))
    waits = once(operation="o", key=keys.field("key"), store=store, policy=patient, clock=clock)(lambda key: key)
    assert waits("k") == "k"
