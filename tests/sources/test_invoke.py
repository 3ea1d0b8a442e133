"""Asynchronous events: worked on once, and raised about when Lambda has to try again."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from idem import Consumer, Delivery, HttpResult, MemoryStore, NotKept, Policy, ResultId, Retention, keys
from idem.errors import WrongEvent
from idem.sources import envelopes
from idem.sources.invoke import InvokeSource, Undone
from idem.testing import one_effect, redeliver
from tests.sources.samples import sample


def consumer(work: Any, source: InvokeSource, key: keys.KeyRule) -> Consumer:
    policy = Policy(retention=Retention.QUEUE, permanent=(ValueError,))
    return Consumer(operation="o.p", source=source, key=key, work=work, policy=policy, store=MemoryStore())


@pytest.mark.parametrize(
    ("name", "envelope"),
    [("sns", envelopes.bare), ("s3", envelopes.bare), ("eventbridge", envelopes.eventbridge)],
)
def test_an_asynchronous_event_is_worked_on_once(name: str, envelope: envelopes.Envelope) -> None:
    runs: list[Any] = []
    handler = consumer(
        lambda delivery, _: runs.append(delivery.payload), InvokeSource(envelope=envelope), keys.event_id()
    )
    with one_effect(lambda: len(runs)):
        assert redeliver(handler, sample(f"invoke/{name}.json"), times=3) == [[None]] * 3


def test_a_plain_event_is_known_by_its_fields() -> None:
    runs: list[Any] = []
    handler = consumer(lambda *_: runs.append(1), InvokeSource(), keys.field("jobId"))
    with one_effect(lambda: len(runs)):
        redeliver(handler, {"jobId": "j-1"}, times=3)


def test_a_transient_failure_raises_so_that_lambda_tries_again() -> None:
    runs: list[Any] = []

    def work(_delivery: Delivery, claim: Any) -> str:
        runs.append(claim.attempt)
        if len(runs) == 1:
            raise TimeoutError("slow")
        return "done"

    handler = consumer(work, InvokeSource(), keys.field("jobId"))
    with pytest.raises(Undone, match="TimeoutError"):
        handler({"jobId": "j-1"})
    assert handler({"jobId": "j-1"}) == ["done"]
    assert runs == [1, 2]


def test_a_permanent_failure_is_recorded_and_does_not_raise() -> None:
    runs: list[Any] = []

    def work(_delivery: Delivery, _claim: Any) -> None:
        runs.append(1)
        raise ValueError("never")

    handler = consumer(work, InvokeSource(), keys.field("jobId"))
    answers = redeliver(handler, {"jobId": "j-1"}, times=3)
    assert len(runs) == 1
    assert all("never" in answer[0]["rejected"] for answer in answers)


def test_bad_input_that_is_not_recorded_raises() -> None:
    handler = consumer(lambda *_: None, InvokeSource(), keys.field("jobId"))
    with pytest.raises(Undone, match="jobId"):
        handler({"other": 1})
    with pytest.raises(WrongEvent):
        handler(None)


def test_another_content_under_a_known_key_is_raised_and_never_skipped() -> None:
    handler = replace(consumer(lambda *_: "done", InvokeSource(), keys.field("jobId")), check=lambda one: one.payload)
    assert handler({"jobId": "j-1", "n": 1}) == ["done"]
    for _ in range(2):
        with pytest.raises(Undone, match="RequestMismatch"):
            handler({"jobId": "j-1", "n": 2})
    assert handler({"jobId": "j-1", "n": 1}) == ["done"]


def test_a_plain_event_has_no_id_to_be_known_by() -> None:
    runs: list[Any] = []
    for rule in (keys.message_id(), keys.event_id()):
        with pytest.raises(Undone, match="MissingKeyPart"):
            consumer(lambda *_: runs.append(1), InvokeSource(), rule)({"jobId": "j-1"})
    assert runs == []


def test_an_event_in_an_envelope_is_known_by_its_own_id() -> None:
    handler = consumer(lambda *_: 1, InvokeSource(envelope=envelopes.eventbridge), keys.message_id())
    assert handler(sample("invoke/eventbridge.json")) == [1]


@pytest.mark.parametrize(
    "result",
    [
        {1, 2},
        float("nan"),
        b"bytes",
        Decimal("1.5"),
        ResultId("ord-7"),
        ResultId("\ud800"),
        NotKept("personal"),
        NotKept("\ud800"),
        HttpResult(201, {"a": 1}),
        object(),
        "\ud800",
        "x" * 10_000,
        {1: "a", "1": "b"},
        [[]] * 3,
    ],
    ids=lambda value: repr(value)[:20],
)
def test_no_result_makes_a_function_error_of_work_that_is_done(result: Any) -> None:
    runs: list[Any] = []

    def work(_delivery: Delivery, _claim: Any) -> Any:
        runs.append(1)
        return result

    handler = consumer(work, InvokeSource(), keys.field("jobId"))
    for answer in redeliver(handler, {"jobId": "j-1"}, times=3):
        assert json.dumps(answer, allow_nan=False).encode("utf-8")
    assert runs == [1]


def test_many_large_results_stay_below_what_lambda_takes() -> None:
    event = sample("invoke/sns.json")
    records = [copy.deepcopy(event["Records"][0]) for _ in range(4)]
    for number, record in enumerate(records):
        record["Sns"]["MessageId"] = f"m-{number}"
    handler = consumer(lambda *_: "x" * 2_000_000, InvokeSource(), keys.event_id())
    answer = handler({"Records": records})
    assert len(answer) == 4
    assert len(json.dumps(answer)) < 6_000_000


@pytest.mark.parametrize("value", [None, 7, "text", [], {}], ids=repr)
@pytest.mark.parametrize("name", ["s3", "bucket", "object"])
def test_a_broken_record_does_not_take_its_neighbours_along(name: str, value: Any) -> None:
    good, bad = sample("invoke/s3.json")["Records"][0], sample("invoke/s3.json")["Records"][0]
    (bad if name == "s3" else bad["s3"])[name] = value
    runs: list[Any] = []
    handler = consumer(lambda delivery, _: runs.append(delivery.payload), InvokeSource(), keys.event_id())
    with pytest.raises(Undone, match="1 of 2"):
        handler({"Records": [bad, good]})
    assert runs == [good]


def test_what_a_users_envelope_raises_is_an_event_that_cannot_be_read() -> None:
    def envelope(_content: Any) -> Any:
        raise AttributeError("made up")

    with pytest.raises(Undone, match="MalformedDelivery"):
        consumer(lambda *_: 1, InvokeSource(envelope=envelope), keys.event_id())({"a": 1})
