"""Events that other services have wrapped: SNS, EventBridge and S3."""

from __future__ import annotations

from typing import Any

import pytest

from idem import Delivery, SqsSource, Unreadable, keys
from idem.errors import MalformedDelivery
from idem.sources import envelopes
from idem.testing import sqs_event
from tests.idem.builders import NOW
from tests.sources.samples import sample

WRAPPED = {
    "sns": (envelopes.sns, sample("invoke/sns.json")["Records"][0]["Sns"]),
    "eventbridge": (envelopes.eventbridge, sample("invoke/eventbridge.json")),
    "s3": (envelopes.s3, sample("invoke/s3.json")),
}
IDENTITIES = {
    "sns": ("arn:aws:sns:us-east-1:123456789012:orders", "95df01b4-ee98-5cb9-9903-4c221d41eb5e"),
    "eventbridge": ("com.example.shop", "7bf73129-1428-4cd3-a780-95db273d1602"),
    "s3": ("example-invoices", "ObjectCreated:Put//0055AED6DCD90281E5/2026/invoice+1001.pdf"),
}


@pytest.mark.parametrize("name", WRAPPED)
def test_an_event_that_came_through_a_queue_is_known_by_its_own_id(name: str) -> None:
    envelope, content = WRAPPED[name]
    (arrival,) = SqsSource(envelope=envelope).read(sqs_event(content), NOW)
    assert isinstance(arrival, Delivery)
    assert (arrival.scope, arrival.event_id) == IDENTITIES[name]
    assert arrival.id == "message-1"
    assert tuple(keys.event_id()(arrival)) == IDENTITIES[name]


@pytest.mark.parametrize("name", WRAPPED)
@pytest.mark.parametrize("content", [{}, [], None, "text", 7, {"Records": []}, {"Records": [{}]}, {"Type": "Other"}])
def test_what_is_not_in_its_envelope_is_refused_alone(name: str, content: Any) -> None:
    envelope, right = WRAPPED[name]
    wrong, fine = SqsSource(envelope=envelope).read(sqs_event(content, right), NOW)
    assert isinstance(wrong, Unreadable)
    assert isinstance(wrong.error, MalformedDelivery)
    assert isinstance(fine, Delivery)


def test_the_message_inside_an_sns_envelope_is_the_payload() -> None:
    (arrival,) = SqsSource(envelope=envelopes.sns).read(sqs_event(WRAPPED["sns"][1]), NOW)
    assert isinstance(arrival, Delivery)
    assert arrival.payload["orderId"] == "1001"


def test_two_changes_of_one_object_are_two_events() -> None:
    first, second = sample("invoke/s3.json"), sample("invoke/s3.json")
    second["Records"][0]["s3"]["object"]["sequencer"] = "0055AED6DCD90281E6"
    one, other = (arrival.event_id for arrival in map(envelopes.s3, (first, second)))
    assert one != other


def test_a_message_attribute_and_a_deduplication_id_can_be_keys() -> None:
    event = sqs_event({"any": 1}, group="g")
    event["Records"][0]["messageAttributes"] = {"OrderId": {"stringValue": "o-7", "dataType": "String"}}
    event["Records"][0]["attributes"]["MessageDeduplicationId"] = "d-7"
    (arrival,) = SqsSource().read(event, NOW)
    assert isinstance(arrival, Delivery)
    assert keys.header("orderid")(arrival) == ("o-7",)
    assert keys.deduplication_id()(arrival) == ("d-7",)
