"""The SQS source says when each message that was not done may come again."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from idem.delivery import (
    Busy,
    Done,
    Ending,
    Outcome,
    Rejected,
    Retry,
)
from idem.sources.sqs import SqsSource
from tests.idem.builders import NOW
from tests.idem.clocks import TestClock
from tests.sources.endings import TROUBLE, UNDONE, arrival, ended

URL = "https://sqs.example/queue"


class Queue:
    """An SQS client that records what it is asked."""

    def __init__(self, error: Exception | None = None, failed: Sequence[str] = ()) -> None:
        self.calls: list[list[dict[str, Any]]] = []
        self._error = error
        self._failed = failed

    def change_message_visibility_batch(self, **request: Any) -> Any:
        assert request.pop("QueueUrl") == URL
        self.calls.append(request.pop("Entries"))
        assert not request
        if self._error:
            raise self._error
        return {"Successful": [], "Failed": [{"Id": one, "Code": "X", "SenderFault": True} for one in self._failed]}

    @property
    def moved(self) -> list[tuple[str, int]]:
        return [(entry["ReceiptHandle"], entry["VisibilityTimeout"]) for call in self.calls for entry in call]


def moves(endings: Sequence[Ending], jitter: float = 1.0) -> list[tuple[str, int]]:
    queue = Queue()
    SqsSource(client=queue, queue_url=URL, clock=TestClock(jitter=jitter)).reply(endings, NOW)
    return queue.moved


@pytest.mark.parametrize(
    ("outcome", "seconds"),
    [
        (Busy(NOW + 30_000), 30),
        (Busy(NOW + 30_001), 31),
        (Busy(NOW), 0),
        (Busy(NOW - 5_000), 0),
        (Busy(NOW + 50 * 3_600_000), 43_200),
        (Rejected(TROUBLE, recorded=True), 0),
        (UNDONE["not started"], 0),
    ],
)
def test_a_message_comes_again_when_it_makes_sense(outcome: Outcome, seconds: int) -> None:
    assert moves(ended([arrival()], outcome)) == [("h-1", seconds)]


@pytest.mark.parametrize("outcome", [UNDONE["unavailable"], Done(None, replayed=False, attempt=1)])
def test_nothing_is_said_about_messages_that_should_come_as_the_queue_says(outcome: Outcome) -> None:
    assert moves(ended([arrival()], outcome)) == []


def test_a_rejected_message_of_an_ordered_group_keeps_its_place() -> None:
    assert moves(ended([arrival(group="g")], Rejected(TROUBLE, recorded=True))) == []


@pytest.mark.parametrize(
    ("received", "seconds"), [(0, 5), (1, 5), (2, 10), (3, 20), (4, 40), (9, 900), (1_344, 900), (10**9, 900)]
)
def test_transient_failures_come_again_after_a_pause_that_doubles(received: int, seconds: int) -> None:
    assert moves(ended([arrival(receive_count=received)], Retry(TROUBLE))) == [("h-1", seconds)]


def test_the_pause_is_jittered_down_to_its_half() -> None:
    assert moves(ended([arrival(receive_count=4)], Retry(TROUBLE)), jitter=0.0) == [("h-1", 20)]


def test_visibility_moves_travel_in_tens_with_an_id_each() -> None:
    queue = Queue()
    arrivals = [arrival(number) for number in range(23)]
    SqsSource(client=queue, queue_url=URL, clock=TestClock()).reply(ended(arrivals, *[Busy(NOW + 1_000)] * 23), NOW)
    assert [len(call) for call in queue.calls] == [10, 10, 3]
    assert all(len({entry["Id"] for entry in call}) == len(call) for call in queue.calls)
    assert [handle for handle, _ in queue.moved] == [f"h-{number}" for number in range(23)]


@pytest.mark.parametrize("queue", [Queue(OSError("reset")), Queue(failed=["0"])], ids=["raises", "refuses"])
def test_the_answer_does_not_depend_on_moving_visibility(queue: Queue, caplog: pytest.LogCaptureFixture) -> None:
    source = SqsSource(client=queue, queue_url=URL, clock=TestClock())
    answer = source.reply(ended([arrival()], Busy(NOW + 1_000)), NOW)
    assert answer == {"batchItemFailures": [{"itemIdentifier": "m-1"}]}
    assert caplog.records


def test_without_a_client_nothing_is_moved() -> None:
    source = SqsSource(backoff_base=timedelta(seconds=1), clock=TestClock())
    assert source.reply(ended([arrival()], Busy(NOW + 1_000)), NOW) == {
        "batchItemFailures": [{"itemIdentifier": "m-1"}]
    }
