"""Asynchronous events: worked on once, and raised about when Lambda has to try again."""

from __future__ import annotations

from typing import Any

import pytest

from idem import Consumer, Delivery, MemoryStore, Policy, Retention, keys
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
