"""A queue, its dead-letter queue and its function, in somebody else's stack."""

from __future__ import annotations

import aws_cdk as cdk
import pytest
from aws_cdk import aws_sqs as sqs
from aws_cdk.assertions import Match, Template

from idem.cdk import LimitError
from tests.cdk.apps import consumer, theirs
from tests.cdk.reading import resources


@pytest.fixture
def stack() -> cdk.Stack:
    return theirs()


def test_a_fifo_consumer_has_two_fifo_queues_and_no_batch_window(stack: cdk.Stack) -> None:
    consumer(stack, fifo=True)
    template = Template.from_stack(stack)
    template.all_resources_properties("AWS::SQS::Queue", {"FifoQueue": True})
    template.has_resource_properties(
        "AWS::Lambda::EventSourceMapping", {"MaximumBatchingWindowInSeconds": Match.absent()}
    )


def test_two_consumers_can_share_a_dead_letter_queue(stack: cdk.Stack) -> None:
    shared = sqs.Queue(stack, "Shared")
    for name in ("Parcels", "Letters"):
        consumer(stack, name, dead_letter_queue=shared)
    template = Template.from_stack(stack)
    template.resource_count_is("AWS::SQS::Queue", 3)
    targets = [
        each["RedrivePolicy"]["deadLetterTargetArn"]["Fn::GetAtt"][0]
        for each in resources(template, "AWS::SQS::Queue").values()
        if "RedrivePolicy" in each
    ]
    assert len(targets) == 2
    assert len(set(targets)) == 1


@pytest.mark.parametrize("fifo", [True, False])
def test_a_shared_dead_letter_queue_must_be_of_the_same_kind(*, fifo: bool) -> None:
    stack = theirs()
    shared = sqs.Queue(stack, "Shared", fifo=None if fifo else True)
    with pytest.raises(LimitError, match="within one kind only") as caught:
        consumer(stack, fifo=fifo, dead_letter_queue=shared)
    assert caught.value.prop == "dead_letter_queue"
