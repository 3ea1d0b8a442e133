"""A table in several Regions: what is refused, and what is made once the loss is acknowledged."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_kms as kms
from aws_cdk.assertions import Template

from idem.cdk import Consistency, GuaranteeError, IdempotencyTable, LimitError, Replicas
from tests.cdk.apps import theirs


def table(stack: cdk.Stack, **props: Any) -> IdempotencyTable:
    return IdempotencyTable(stack, "Memory", **props)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"replicas": Replicas(regions=(), acknowledged="known")}, "replicas"),
    ({"replicas": Replicas(regions=("eu-west-1",), consistency=Consistency.STRONG, acknowledged="known")}, "replicas"),
]


@pytest.mark.parametrize(("props", "refused"), REFUSED)
def test_props_that_cannot_work_are_refused_by_name(props: dict[str, Any], refused: str) -> None:
    with pytest.raises(LimitError) as caught:
        table(theirs(), **props)
    assert caught.value.prop == refused
    assert str(caught.value).startswith("Theirs/")


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
