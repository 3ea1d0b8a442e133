"""What a consumer of a queue is refused before AWS sees it, each with the prop to change."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
import pytest

from idem import Retention
from idem.cdk import LimitError, queue_limits
from idem.policy import LEASE_MARGIN
from tests.cdk.apps import consumer, theirs

DAYS = cdk.Duration.days
SECONDS = cdk.Duration.seconds


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"timeout_seconds": 0}, "timeout_seconds"),
    ({"timeout_seconds": 7201}, "timeout_seconds"),
    ({"timeout_seconds": 7200, "batch_window_seconds": 1}, "timeout_seconds"),
    ({"visibility": SECONDS(179)}, "visibility_seconds"),
    ({"visibility": SECONDS(180), "batch_window_seconds": 1}, "visibility_seconds"),
    ({"visibility": SECONDS(43_201)}, "visibility_seconds"),
    ({"batch_window_seconds": -1}, "batch_window_seconds"),
    ({"batch_window_seconds": 301}, "batch_window_seconds"),
    ({"batch_size": 0}, "batch_size"),
    ({"batch_size": 11}, "batch_size"),
    ({"batch_size": 10_001, "batch_window_seconds": 1}, "batch_size"),
    ({"receives_max": 4}, "receives_max"),
    ({"receives_max": 1001}, "receives_max"),
    ({"concurrency_max": 1}, "concurrency_max"),
    ({"concurrency_max": 1001}, "concurrency_max"),
    ({"concurrency_max": 11, "reserved_concurrency": 10}, "concurrency_max"),
    ({"fifo": True, "batch_size": 11, "batch_window_seconds": 1}, "batch_size"),
    ({"fifo": True, "batch_window_seconds": 1}, "batch_window_seconds"),
    ({"queue_retention": SECONDS(59)}, "queue_retention"),
    ({"queue_retention": DAYS(15)}, "queue_retention"),
    ({"dead_letter_retention": DAYS(13)}, "dead_letter_retention"),
    ({"dead_letter_retention": DAYS(15)}, "dead_letter_retention"),
    ({"records_kept": DAYS(28)}, "records_kept"),
    ({"records_kept": SECONDS(31)}, "records_kept"),
    ({"records_kept": DAYS(2), "queue_retention": DAYS(1), "dead_letter_retention": DAYS(1)}, "records_kept"),
]


@pytest.mark.parametrize(("props", "refused"), REFUSED)
def test_props_that_cannot_work_are_refused_by_name(props: dict[str, Any], refused: str) -> None:
    with pytest.raises(LimitError) as caught:
        consumer(theirs(), **props)
    assert caught.value.prop == refused
    assert str(caught.value).startswith("Theirs/")


ACCEPTED: list[dict[str, Any]] = [
    {"timeout_seconds": 7200},
    {"timeout_seconds": 1, "batch_size": 10_000, "batch_window_seconds": 300},
    {"receives_max": 1000, "concurrency_max": 2},
    {"concurrency_max": 10, "reserved_concurrency": 10},
    {"fifo": True, "batch_size": 10},
    {"visibility": SECONDS(180)},
    {"queue_retention": DAYS(1), "dead_letter_retention": DAYS(7), "records_kept": DAYS(9)},
    {"records_kept": None},
]


@pytest.mark.parametrize("props", ACCEPTED)
def test_props_at_their_limits_are_accepted(props: dict[str, Any]) -> None:
    consumer(theirs(), **props)


def test_the_construct_knows_what_the_policies_promise() -> None:
    """The constructs import `idem.dynamo.schema` alone, so their numbers are spelled twice; here they are held together."""
    assert Retention.QUEUE.total_seconds() == queue_limits.QUEUE_RECORDS_KEPT_SECONDS
    assert LEASE_MARGIN.total_seconds() == queue_limits.LEASE_MARGIN_SECONDS
