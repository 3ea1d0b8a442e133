"""What the constructs refuse before AWS sees it, each with the prop to change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sqs as sqs
from aws_cdk.assertions import Template

from idem import Retention
from idem.cdk import (
    Consistency,
    Front,
    GuaranteeError,
    IdempotencyTable,
    LimitError,
    Rate,
    Replicas,
    Throughput,
    queue_limits,
    webhook_receiver,
)
from idem.policy import LEASE_MARGIN
from tests.stacks.apps import consumer, receiver, theirs

DAYS = cdk.Duration.days
SECONDS = cdk.Duration.seconds


def table(stack: cdk.Stack, **props: Any) -> IdempotencyTable:
    return IdempotencyTable(stack, "Memory", **props)


REFUSED: list[tuple[Callable[..., object], dict[str, Any], str]] = [
    (consumer, {"timeout_seconds": 0}, "timeout_seconds"),
    (consumer, {"timeout_seconds": 7201}, "timeout_seconds"),
    (consumer, {"timeout_seconds": 7200, "batch_window_seconds": 1}, "timeout_seconds"),
    (consumer, {"visibility": SECONDS(179)}, "visibility_seconds"),
    (consumer, {"visibility": SECONDS(180), "batch_window_seconds": 1}, "visibility_seconds"),
    (consumer, {"visibility": SECONDS(43_201)}, "visibility_seconds"),
    (consumer, {"batch_window_seconds": -1}, "batch_window_seconds"),
    (consumer, {"batch_window_seconds": 301}, "batch_window_seconds"),
    (consumer, {"batch_size": 0}, "batch_size"),
    (consumer, {"batch_size": 11}, "batch_size"),
    (consumer, {"batch_size": 10_001, "batch_window_seconds": 1}, "batch_size"),
    (consumer, {"receives_max": 4}, "receives_max"),
    (consumer, {"receives_max": 1001}, "receives_max"),
    (consumer, {"concurrency_max": 1}, "concurrency_max"),
    (consumer, {"concurrency_max": 1001}, "concurrency_max"),
    (consumer, {"concurrency_max": 11, "reserved_concurrency": 10}, "concurrency_max"),
    (consumer, {"fifo": True, "batch_size": 11, "batch_window_seconds": 1}, "batch_size"),
    (consumer, {"fifo": True, "batch_window_seconds": 1}, "batch_window_seconds"),
    (consumer, {"queue_retention": SECONDS(59)}, "queue_retention"),
    (consumer, {"queue_retention": DAYS(15)}, "queue_retention"),
    (consumer, {"dead_letter_retention": DAYS(13)}, "dead_letter_retention"),
    (consumer, {"dead_letter_retention": DAYS(15)}, "dead_letter_retention"),
    (consumer, {"records_kept": DAYS(28)}, "records_kept"),
    (consumer, {"records_kept": SECONDS(31)}, "records_kept"),
    (consumer, {"records_kept": DAYS(2), "queue_retention": DAYS(1), "dead_letter_retention": DAYS(1)}, "records_kept"),
    (receiver, {"timeout_seconds": 0}, "timeout_seconds"),
    (receiver, {"timeout_seconds": 31}, "timeout_seconds"),
    (receiver, {"timeout_seconds": 30, "front": Front.HTTP_API}, "timeout_seconds"),
    (receiver, {"records_kept": DAYS(30)}, "records_kept"),
    (receiver, {"records_kept": SECONDS(10), "resends": SECONDS(1)}, "records_kept"),
    (receiver, {"rate": Rate()}, "rate"),
    (receiver, {"path": "/hooks"}, "path"),
    (receiver, {"front": Front.HTTP_API, "path": "hooks"}, "path"),
    (receiver, {"front": Front.HTTP_API, "rate": Rate(per_second=0)}, "rate"),
    (receiver, {"front": Front.HTTP_API, "rate": Rate(per_second=9, burst=8)}, "rate"),
    (table, {"warm_throughput": Throughput(11_999, 4_000)}, "warm_throughput"),
    (table, {"warm_throughput": Throughput(12_000, 3_999)}, "warm_throughput"),
    (table, {"maximum_throughput": Throughput(0, 1)}, "maximum_throughput"),
    (
        table,
        {"warm_throughput": Throughput(20_000, 8_000), "maximum_throughput": Throughput(20_000, 7_999)},
        "warm_throughput",
    ),
    (table, {"replicas": Replicas(regions=(), acknowledged="known")}, "replicas"),
    (
        table,
        {"replicas": Replicas(regions=("eu-west-1",), consistency=Consistency.STRONG, acknowledged="known")},
        "replicas",
    ),
]


@pytest.mark.parametrize(("build", "props", "refused"), REFUSED)
def test_props_that_cannot_work_are_refused_by_name(
    build: Callable[..., object], props: dict[str, Any], refused: str
) -> None:
    with pytest.raises(LimitError) as caught:
        build(theirs(), **props)
    assert caught.value.prop == refused
    assert str(caught.value).startswith("Theirs/")


ACCEPTED: list[tuple[Callable[..., object], dict[str, Any]]] = [
    (consumer, {"timeout_seconds": 7200}),
    (consumer, {"timeout_seconds": 1, "batch_size": 10_000, "batch_window_seconds": 300}),
    (consumer, {"receives_max": 1000, "concurrency_max": 2}),
    (consumer, {"concurrency_max": 10, "reserved_concurrency": 10}),
    (consumer, {"fifo": True, "batch_size": 10}),
    (consumer, {"visibility": SECONDS(180)}),
    (consumer, {"queue_retention": DAYS(1), "dead_letter_retention": DAYS(7), "records_kept": DAYS(9)}),
    (consumer, {"records_kept": None}),
    (receiver, {"timeout_seconds": 30}),
    (receiver, {"timeout_seconds": 29, "front": Front.HTTP_API}),
    (receiver, {"records_kept": DAYS(4), "resends": DAYS(3)}),
    (receiver, {"records_kept": None}),
    (table, {"warm_throughput": Throughput(12_000, 4_000), "maximum_throughput": Throughput(12_000, 4_000)}),
]


@pytest.mark.parametrize(("build", "props"), ACCEPTED)
def test_props_at_their_limits_are_accepted(build: Callable[..., object], props: dict[str, Any]) -> None:
    build(theirs(), **props)


@pytest.mark.parametrize("fifo", [True, False])
def test_a_shared_dead_letter_queue_must_be_of_the_same_kind(*, fifo: bool) -> None:
    stack = theirs()
    shared = sqs.Queue(stack, "Shared", fifo=None if fifo else True)
    with pytest.raises(LimitError, match="within one kind only") as caught:
        consumer(stack, fifo=fifo, dead_letter_queue=shared)
    assert caught.value.prop == "dead_letter_queue"


def test_a_receiver_that_enqueues_is_not_asked_how_long_records_are_kept() -> None:
    stack = theirs()
    receiver(stack, enqueue_to=sqs.Queue(stack, "Inbox"), records_kept=DAYS(1))


@pytest.mark.parametrize(
    ("consistency", "reason"),
    [
        (Consistency.EVENTUAL, "two Regions can win the same key"),
        (Consistency.STRONG, "no TTL, so that records stay for ever, and no transactions"),
    ],
)
@pytest.mark.parametrize("acknowledged", ["", "  "])
def test_a_global_table_is_refused_with_what_it_takes_away(
    consistency: Consistency, reason: str, acknowledged: str
) -> None:
    regions = ("eu-west-1", "eu-west-3")
    replicas = Replicas(regions=regions, consistency=consistency, acknowledged=acknowledged)
    with pytest.raises(GuaranteeError, match=reason):
        table(theirs(), replicas=replicas)


def test_a_global_table_is_made_once_its_loss_is_acknowledged() -> None:
    stack = theirs()
    table(stack, replicas=Replicas(regions=("eu-west-1",), acknowledged="each order has one home Region"))
    Template.from_stack(stack).has_resource_properties(
        "AWS::DynamoDB::GlobalTable",
        {"TimeToLiveSpecification": {"AttributeName": "expiresAt", "Enabled": True}},
    )


def test_a_strongly_consistent_table_has_no_ttl_because_dynamodb_would_refuse_it() -> None:
    stack = theirs()
    regions = ("eu-west-1", "eu-west-3")
    table(stack, replicas=Replicas(regions=regions, consistency=Consistency.STRONG, acknowledged="we sweep"))
    properties = next(iter(Template.from_stack(stack).find_resources("AWS::DynamoDB::GlobalTable").values()))
    assert "TimeToLiveSpecification" not in properties["Properties"]
    assert properties["Properties"]["MultiRegionConsistency"] == "STRONG"


def test_replicas_and_one_customer_key_do_not_go_together() -> None:
    stack = theirs()
    with pytest.raises(LimitError) as caught:
        table(
            stack,
            encryption_key=kms.Key(stack, "Key"),
            replicas=Replicas(regions=("eu-west-1",), acknowledged="known"),
        )
    assert caught.value.prop == "encryption_key"


def test_the_constructs_know_what_the_policies_promise() -> None:
    """The constructs import `idem.dynamo.schema` alone, so their numbers are spelled twice; here they are held together."""
    assert Retention.QUEUE.total_seconds() == queue_limits.RECORDS_KEPT_SECONDS
    assert Retention.WEBHOOK.total_seconds() == webhook_receiver.RECORDS_KEPT_SECONDS
    assert LEASE_MARGIN.total_seconds() == queue_limits.LEASE_MARGIN_SECONDS
