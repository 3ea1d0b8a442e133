"""Whatever a batch looks like, the answer is well-formed: nothing done is reported, nothing undone is missing."""

from __future__ import annotations

from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from idem import Consumer, Delivery, Done, Ending, MemoryStore, Policy, SqsSource, keys
from idem.errors import UnreportableRecord, WrongEvent
from tests.idem.clocks import TestClock

JUNK: st.SearchStrategy[Any] = (
    st.none()
    | st.integers()
    | st.text(max_size=3)
    | st.lists(st.integers(), max_size=2)
    | st.just({})
    | st.just({"x": 1})
)
BODIES = (
    st.sampled_from(
        ['{"id": 1}', '{"id": 2}', '{"id": null}', '{"id": "fail"}', '{"id": "final"}', "[]", "", "{", "\ud800"]
    )
    | JUNK
)
ATTRIBUTES = JUNK | st.fixed_dictionaries(
    {},
    optional={
        "ApproximateReceiveCount": st.sampled_from(["1", "2", "2000", "x", ""]) | JUNK,
        "MessageGroupId": st.sampled_from(["g-1", "g-2"]) | JUNK,
    },
)
RECORDS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"eventSource": st.just("aws:sqs")},
    optional={
        "messageId": st.sampled_from(["m-1", "m-2", "m-3", "m-4", "m-5"]) | st.sampled_from(["", None, 7, []]),
        "receiptHandle": st.sampled_from(["h-1", "h-2"]) | JUNK,
        "body": BODIES,
        "attributes": ATTRIBUTES,
        "messageAttributes": JUNK | st.just({"k": {"stringValue": "v"}}),
        "eventSourceARN": st.sampled_from(["arn:aws:sqs:r:a:q", "arn:aws:sqs:r:a:q.fifo"]) | JUNK,
    },
)


class Permanent(Exception):
    pass


def work(delivery: Delivery, _claim: object) -> None:
    if delivery.payload["id"] == "fail":
        raise ValueError
    if delivery.payload["id"] == "final":
        raise Permanent


class Queue:
    """Keeps what it was asked: what an assertion in here raises, the source would only log."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def change_message_visibility_batch(self, **request: Any) -> Any:
        self.calls.append(request["Entries"])
        return {}

    def check(self) -> None:
        for entries in self.calls:
            assert 1 <= len(entries) <= 10
            assert all(isinstance(entry["ReceiptHandle"], str) and entry["ReceiptHandle"] for entry in entries)
            assert all(0 <= entry["VisibilityTimeout"] <= 43_200 for entry in entries)


def answer(event: Any) -> tuple[Any, list[Ending]]:
    clock, endings, queue = TestClock(), list[Ending](), Queue()
    consumer = Consumer(
        operation="orders.fulfil",
        source=SqsSource(client=queue, queue_url="https://sqs.example/q", clock=clock),
        key=keys.field("id"),
        work=work,
        policy=Policy(retention=None, permanent=(Permanent,)),
        store=MemoryStore(clock),
        observe=endings.append,
        clock=clock,
    )
    try:
        return consumer(event), endings
    except (UnreportableRecord, WrongEvent) as error:
        return error, endings
    finally:
        queue.check()


@given(st.lists(RECORDS, max_size=6))
@example(
    [{"eventSource": "aws:sqs", "messageId": "m-1", "body": "{}", "attributes": {"ApproximateReceiveCount": "2000"}}]
)
def test_the_answer_names_exactly_what_was_not_done(records: list[dict[str, Any]]) -> None:
    given_ids = [record.get("messageId") for record in records]
    found, endings = answer({"Records": records})
    assert len(endings) == len(records)
    undone = {ending.arrival.id for ending in endings if not isinstance(ending.outcome, Done)}
    if isinstance(found, UnreportableRecord):
        assert any(not isinstance(one, str) or not one for one in given_ids)
        return
    assert set(found) == {"batchItemFailures"}
    named = [failure["itemIdentifier"] for failure in found["batchItemFailures"]]
    assert all(set(failure) == {"itemIdentifier"} for failure in found["batchItemFailures"])
    assert all(isinstance(one, str) and one for one in named)
    assert len(set(named)) == len(named)
    assert set(named) == undone
    assert undone <= set(given_ids)


@given(st.lists(RECORDS, max_size=6))
def test_in_an_ordered_group_everything_after_the_first_failure_is_reported(records: list[dict[str, Any]]) -> None:
    _, endings = answer({"Records": records})
    stopped: set[str] = set()
    for ending in endings:
        done = isinstance(ending.outcome, Done)
        assert not (done and ending.arrival.group in stopped)
        if not done and ending.arrival.group is not None:
            stopped.add(ending.arrival.group)


@given(JUNK | st.fixed_dictionaries({"Records": JUNK | st.lists(JUNK | RECORDS, max_size=3)}))
def test_any_event_is_answered_or_refused_as_the_wrong_one(event: Any) -> None:
    found, _ = answer(event)
    assert isinstance(found, dict | WrongEvent)
