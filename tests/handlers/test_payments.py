"""The payments handler, on the samples of `events/payments`."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import Any

import boto3
import pytest

from handlers import payments
from idem import Consumer
from idem.errors import WrongEvent
from idem.testing import Crash, FaultyStore, ManualClock, crash_after, crash_before, redeliver, stripe_request
from tests.handlers.conftest import SECRET, SIGNED_AT, Stack, sample

HTTP_SAMPLES = ["function_url", "http_api", "rest_api", "load_balancer"]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(SIGNED_AT * 1000)


@pytest.fixture
def consumer(stack: Stack, clock: ManualClock) -> Consumer:
    assert stack.environment
    return replace(payments.build(), clock=clock)


def signed(clock: ManualClock, event: Any) -> dict[str, Any]:
    return stripe_request(event, SECRET, clock.now_ms() // 1000)


@pytest.mark.parametrize("name", HTTP_SAMPLES)
def test_a_payment_is_credited_once_however_it_arrives(stack: Stack, consumer: Consumer, name: str) -> None:
    first, second = (consumer(sample(f"payments/{name}.json")) for _ in range(2))
    assert first["statusCode"] == second["statusCode"] == 200
    assert json.loads(first["body"]) == json.loads(second["body"]) == {"credited": 2500, "currency": "EUR"}
    assert "idempotent-replayed" not in first["headers"]
    assert second["headers"]["idempotent-replayed"] == "true"
    assert stack.effects() == ["PAYMENT#cs_test_a1QhExample1001"]


def test_the_same_event_through_every_door_is_one_payment(stack: Stack, consumer: Consumer) -> None:
    for name in HTTP_SAMPLES:
        assert consumer(sample(f"payments/{name}.json"))["statusCode"] == 200
    assert len(stack.effects()) == 1


@pytest.mark.parametrize("fault", [crash_before("complete"), crash_after("complete"), crash_after("claim")])
def test_a_crash_anywhere_leaves_one_credit(stack: Stack, consumer: Consumer, clock: ManualClock, fault: Any) -> None:
    mortal = replace(consumer, store=FaultyStore(replace(consumer).store, fault))
    answers = []
    for _ in range(3):
        answers += redeliver(mortal, signed(clock, sample("payments/checkout_completed.json")), times=1)
        clock.sleep_ms(20 * 60 * 1000)
    assert isinstance(answers[0], Crash)
    assert answers[-1]["statusCode"] == 200
    assert len(stack.effects()) == 1


def test_an_event_of_another_type_is_acknowledged_and_does_nothing(
    stack: Stack, consumer: Consumer, clock: ManualClock
) -> None:
    answer = consumer(signed(clock, sample("payments/customer_created.json")))
    assert answer["statusCode"] == 200
    assert stack.effects() == []


def test_a_session_that_is_paid_later_is_credited_when_it_is(
    stack: Stack, consumer: Consumer, clock: ManualClock
) -> None:
    event = sample("payments/checkout_completed.json")
    event["data"]["object"]["payment_status"] = "unpaid"
    assert json.loads(consumer(signed(clock, event))["body"]) == {"ignored": "checkout.session.completed, unpaid"}
    assert stack.effects() == []
    event |= {"id": "evt_1ExamplePaid", "type": "checkout.session.async_payment_succeeded"}
    event["data"]["object"]["payment_status"] = "paid"
    assert consumer(signed(clock, event))["statusCode"] == 200
    assert len(stack.effects()) == 1


def test_a_payment_that_can_never_be_credited_is_recorded_and_acknowledged(
    stack: Stack, consumer: Consumer, clock: ManualClock
) -> None:
    event = sample("payments/checkout_completed.json")
    event["data"]["object"]["amount_total"] = None
    for _ in range(2):
        assert consumer(signed(clock, event))["statusCode"] == 200
    assert stack.effects() == []
    assert stack.statuses() == {"payments.credit#evt_1ExampleCompleted": "failed"}


def test_a_changed_body_is_refused_before_anything_is_claimed(stack: Stack, consumer: Consumer) -> None:
    event = sample("payments/http_api.json")
    event["body"] = event["body"].replace('"amount_total":2500', '"amount_total":2')
    assert consumer(event)["statusCode"] == 400
    assert stack.statuses() == {}


@pytest.mark.parametrize("header", [None, "", "t=1", "v1=ab", "t=x,v1=ab", "t=1796040000,v1=é", "t=1796040000,v1="])
def test_a_bad_or_missing_signature_is_refused(stack: Stack, consumer: Consumer, header: str | None) -> None:
    event = sample("payments/http_api.json")
    if header is None:
        del event["headers"]["stripe-signature"]
    else:
        event["headers"]["stripe-signature"] = header
    answer = consumer(event)
    assert answer["statusCode"] == 400
    assert json.loads(answer["body"])["error"] == "signature"
    assert stack.statuses() == {}


@pytest.mark.parametrize("minutes", [-6, 6])
def test_a_signature_from_another_time_is_refused(
    stack: Stack, consumer: Consumer, clock: ManualClock, minutes: int
) -> None:
    clock.sleep_ms(minutes * 60_000)
    assert consumer(sample("payments/http_api.json"))["statusCode"] == 400
    assert stack.statuses() == {}


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"null", b'{"object":"charge"}', b"\xff", b'{"object":"event","id":""}']
)
def test_a_signed_body_that_is_no_event_is_refused(
    stack: Stack, consumer: Consumer, clock: ManualClock, body: bytes
) -> None:
    answer = consumer(signed(clock, body))
    assert answer["statusCode"] == 400
    assert json.loads(answer["body"])["error"] == "malformed"
    assert stack.statuses() == {}


def test_a_body_that_is_marked_as_base64_and_is_not_is_refused(stack: Stack, consumer: Consumer) -> None:
    event = sample("payments/function_url.json") | {"body": "not base64!"}
    assert consumer(event)["statusCode"] == 400
    assert stack.statuses() == {}


def test_while_a_secret_is_rolled_both_are_taken(stack: Stack, clock: ManualClock) -> None:
    boto3.client("secretsmanager", "us-east-1").put_secret_value(
        SecretId=stack.environment["PAYMENTS_SECRET_ID"], SecretString="whsec_new whsec_of_the_samples"
    )
    consumer = replace(payments.build(), clock=clock)
    event = sample("payments/checkout_completed.json")
    stamp = clock.now_ms() // 1000
    assert consumer(stripe_request(event, "whsec_new", stamp))["statusCode"] == 200
    assert consumer(stripe_request(event, SECRET, stamp))["headers"]["idempotent-replayed"] == "true"
    assert consumer(stripe_request(event, "whsec_old", stamp))["statusCode"] == 400


def test_a_secret_that_is_replaced_needs_no_new_deployment(stack: Stack, clock: ManualClock) -> None:
    consumer = replace(payments.build(), clock=clock)
    event, stamp = sample("payments/checkout_completed.json"), clock.now_ms() // 1000
    assert consumer(stripe_request(event, SECRET, stamp))["statusCode"] == 200
    boto3.client("secretsmanager", "us-east-1").put_secret_value(
        SecretId=stack.environment["PAYMENTS_SECRET_ID"], SecretString="whsec_new"
    )
    assert consumer(stripe_request(event, "whsec_new", stamp))["headers"]["idempotent-replayed"] == "true"
    assert consumer(stripe_request(event, SECRET, stamp))["statusCode"] == 400


def test_without_a_readable_secret_the_provider_is_asked_to_come_again(
    stack: Stack, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAYMENTS_SECRET_ID", "no-such-secret")
    answer = replace(payments.build(), clock=clock)(sample("payments/http_api.json"))
    assert answer["statusCode"] == 503
    assert "retry-after" in answer["headers"]
    assert stack.statuses() == {}


def test_an_event_of_another_kind_is_refused_whole(consumer: Consumer) -> None:
    with pytest.raises(WrongEvent, match="HTTP"):
        consumer(sample("orders/batch.json"))


def test_the_base64_sample_holds_the_same_bytes_as_the_plain_one() -> None:
    url, api = sample("payments/function_url.json"), sample("payments/http_api.json")
    assert base64.b64decode(url["body"]) == api["body"].encode()
