"""A public endpoint and its secret, in somebody else's stack."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_sqs as sqs
from aws_cdk.assertions import Template

from idem import Retention
from idem.cdk import Front, LimitError, webhook_receiver
from tests.cdk.apps import receiver, theirs
from tests.cdk.reading import granted, resources

DAYS = cdk.Duration.days
SECONDS = cdk.Duration.seconds


@pytest.fixture
def stack() -> cdk.Stack:
    return theirs()


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"timeout_seconds": 0}, "timeout_seconds"),
    ({"timeout_seconds": 31}, "timeout_seconds"),
    ({"timeout_seconds": 30, "front": Front.HTTP_API}, "timeout_seconds"),
    ({"records_kept": DAYS(30)}, "records_kept"),
    ({"records_kept": SECONDS(10), "resends": SECONDS(1)}, "records_kept"),
]


@pytest.mark.parametrize(("props", "refused"), REFUSED)
def test_props_that_cannot_work_are_refused_by_name(props: dict[str, Any], refused: str) -> None:
    with pytest.raises(LimitError) as caught:
        receiver(theirs(), **props)
    assert caught.value.prop == refused
    assert str(caught.value).startswith("Theirs/")


ACCEPTED: list[dict[str, Any]] = [
    {"timeout_seconds": 30},
    {"timeout_seconds": 29, "front": Front.HTTP_API},
    {"records_kept": DAYS(4), "resends": DAYS(3)},
    {"records_kept": None},
]


@pytest.mark.parametrize("props", ACCEPTED)
def test_props_at_their_limits_are_accepted(props: dict[str, Any]) -> None:
    receiver(theirs(), **props)


def test_a_receiver_that_enqueues_may_send_to_its_queue_and_knows_its_url(stack: cdk.Stack) -> None:
    inbox = sqs.Queue(stack, "Inbox")
    receiver(stack, enqueue_to=inbox, queue_url_variable="INBOX")
    template = Template.from_stack(stack)
    queue = next(iter(resources(template, "AWS::SQS::Queue")))
    sending = [each for each in granted(template, "Refunds") if "sqs:" in str(each["Action"])]
    assert [(each["Action"], each["Resource"]) for each in sending] == [
        ("sqs:SendMessage", {"Fn::GetAtt": [queue, "Arn"]})
    ]
    template.has_resource_properties("AWS::Lambda::Function", {"Environment": {"Variables": {"INBOX": {"Ref": queue}}}})


def test_a_receiver_that_enqueues_is_not_asked_how_long_records_are_kept() -> None:
    stack = theirs()
    receiver(stack, enqueue_to=sqs.Queue(stack, "Inbox"), records_kept=DAYS(1))


def test_the_construct_knows_what_the_policy_promises() -> None:
    assert Retention.WEBHOOK.total_seconds() == webhook_receiver.WEBHOOK_RECORDS_KEPT_SECONDS
