"""What is counted and logged: the names that the alarms, the dashboard and the saved queries rely on."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from idem import Commit, Consumer, MemoryStore, Policy, Retention, SqsSource, keys
from idem.on_lambda import Observer
from idem.operators.decisions import Decision, Instruction, decided
from idem.record import Answer, Claim, Key, Request, StoredResult
from idem.testing import FaultyStore, ManualClock, crash_before, sqs_event
from idem.text import ERROR_CHARS_MAX
from idem.writes import Write

SECRET_WORD = "tea-250g"


class SlowStore(MemoryStore):
    """A table that takes a quarter of a second for a claim, and half a second to record."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__(clock)
        self._time = clock

    def claim(self, wanted: Request) -> Answer:
        self._time.advance(timedelta(milliseconds=250))
        return super().claim(wanted)

    def complete(
        self, claim: Claim, result: StoredResult, expires_at: int | None, writes: Sequence[Write] | None = None
    ) -> None:
        self._time.advance(timedelta(milliseconds=500))
        super().complete(claim, result, expires_at, writes)


class Bench:
    """A consumer in memory with the real observer, and what it printed."""

    def __init__(self, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> None:
        self._capsys = capsys
        self._caplog = caplog
        self.clock = ManualClock()
        self.observer = Observer("orders.fulfil")
        self.store = SlowStore(self.clock)
        self.fails: list[Exception] = []

    def work(self, _delivery: Any, _claim: Any) -> Any:
        if self.fails:
            raise self.fails.pop()
        return {"done": True}

    def consumer(self, **changes: Any) -> Consumer:
        made = Consumer(
            operation="orders.fulfil",
            source=SqsSource(),
            key=keys.field("orderId"),
            work=self.work,
            policy=Policy(retention=Retention.QUEUE, permanent=(ValueError,)),
            store=self.store,
            observe=self.observer,
            clock=self.clock,
        )
        return replace(made, **changes)

    def deliver(self, *orders: str, **changes: Any) -> dict[str, list[float]]:
        """Deliver one batch; the metrics of its invocation."""
        self._caplog.clear()
        with self.observer.invocation(None):
            self.consumer(**changes)(sqs_event(*({"orderId": one, "sku": SECRET_WORD} for one in orders)))
        printed = self._capsys.readouterr().out
        assert SECRET_WORD not in printed + self._caplog.text
        blobs = [json.loads(line) for line in printed.splitlines() if '"_aws"' in line]
        assert all(blob["operation"] == "orders.fulfil" for blob in blobs)
        return {name: value for blob in blobs for name, value in blob.items() if isinstance(value, list)}

    def lines(self) -> list[dict[str, Any]]:
        """The fields of the delivery lines of the last batch."""
        return [record.__dict__ for record in self._caplog.records if record.getMessage() == "delivery"]


@pytest.fixture
def bench(capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> Bench:
    caplog.set_level(logging.INFO)
    return Bench(capsys, caplog)


def test_a_first_run_is_a_claim_and_a_duplicate_is_a_replay(bench: Bench) -> None:
    first, second = bench.deliver("1"), bench.deliver("1")
    assert (first["Claims"], first["FirstRuns"]) == ([1.0], [1.0])
    assert second["Replays"] == [1.0]
    assert not {"Claims", "FirstRuns", "Takeovers"} & second.keys()


def test_what_a_delivery_waited_for_the_table_is_counted_in_milliseconds(bench: Bench) -> None:
    counted = bench.deliver("1")
    assert counted["ClaimTime"] == [250.0]
    assert counted["RecordTime"] == [500.0]
    assert bench.deliver("1")["ClaimTime"] == [250.0]


def test_a_batch_claims_once_for_all_and_counts_each(bench: Bench) -> None:
    counted = bench.deliver("1", "2", "3")
    assert counted["Claims"] == [1.0] * 3
    assert counted["ClaimTime"] == [750.0] * 3  # what each of them waited for


def test_a_failure_that_is_tried_again_is_a_takeover_then(bench: Bench) -> None:
    bench.fails = [RuntimeError("the warehouse is closed")]
    first, second = bench.deliver("1"), bench.deliver("1")
    assert (first["Claims"], first["TransientFailures"]) == ([1.0], [1.0])
    assert (second["Claims"], second["Takeovers"], second["FirstRuns"]) == ([1.0], [1.0], [1.0])
    assert [line["attempt"] for line in bench.lines()] == [2]


def test_a_permanent_failure_is_counted_once_and_then_as_stored(bench: Bench) -> None:
    bench.fails = [ValueError("no lines")]
    assert bench.deliver("1")["PermanentFailures"] == [1.0]
    assert bench.deliver("1")["StoredFailures"] == [1.0]
    (line,) = bench.lines()
    assert (line["key"], line["attempt"], line["outcome"]) == ("orders.fulfil#1", 1, "StoredFailures")


def test_a_duplicate_of_work_in_flight_is_held_and_says_whose_attempt_it_met(bench: Bench) -> None:
    rival = FaultyStore(bench.store, crash_before("complete"))
    with pytest.raises(BaseException, match="complete"):
        bench.deliver("1", store=rival)
    assert bench.deliver("1")["Held"] == [1.0]
    assert [line["attempt"] for line in bench.lines()] == [1]


def test_every_line_has_key_attempt_outcome_and_origin(bench: Bench) -> None:
    bench.deliver("1", "2")
    lines = bench.lines()
    assert [line["key"] for line in lines] == ["orders.fulfil#1", "orders.fulfil#2"]
    for line in lines:
        assert line["attempt"] == 1
        assert line["outcome"] == "FirstRuns"
        assert line["origin"]["messageId"].startswith("message-")


def test_a_guarded_plan_is_a_claim_too(bench: Bench) -> None:
    plan = {"work": None, "plan": lambda _delivery: Commit([], {"done": True})}
    first, second = bench.deliver("1", **plan), bench.deliver("1", **plan)
    assert (first["Claims"], len(first["RecordTime"])) == ([1.0], 1)
    assert second["Replays"] == [1.0]
    assert "Claims" not in second


def test_a_result_that_cannot_be_kept_is_counted(bench: Bench) -> None:
    policy = Policy(retention=Retention.QUEUE, result_bytes_max=1)
    plan = {"work": None, "plan": lambda _delivery: Commit([], {"done": True})}
    assert bench.deliver("1", policy=policy)["ResultsNotKept"] == [1.0]
    assert bench.deliver("2", policy=policy, **plan)["ResultsNotKept"] == [1.0]


MARKER = "4111-1111-1111-1111"


def test_a_failure_of_the_work_has_its_traceback_and_both_are_cut(bench: Bench) -> None:
    bench.fails = [RuntimeError(f"closed {SECRET_WORD[:3]}\n" + "x" * 250_000)]
    bench.deliver("1")
    (line,) = bench.lines()
    assert line["error"].startswith("RuntimeError: closed tea x")
    assert len(line["error"]) == ERROR_CHARS_MAX
    assert "test_observer.py" in line["traceback"]
    assert len(line["traceback"]) < 10 * ERROR_CHARS_MAX


def test_what_ran_nothing_has_no_traceback(bench: Bench) -> None:
    bench.fails = [ValueError("no lines")]
    bench.deliver("1")
    bench.deliver("1")
    (line,) = bench.lines()
    assert line["error"].startswith("StoredFailure")
    assert "traceback" not in line


def test_a_mask_takes_out_of_every_text_what_must_not_be_logged(
    bench: Bench, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    bench.observer = Observer("orders.fulfil", mask=lambda text: text.replace(MARKER, "****"))
    bench.fails = [ValueError(MARKER), RuntimeError(MARKER)]  # the last one first
    bench.deliver("1")
    (transient,) = bench.lines()
    bench.deliver("2")
    (permanent,) = bench.lines()
    bench.deliver("2")
    (stored,) = bench.lines()
    for line in (transient, permanent, stored):
        assert "****" in line["error"]
    with pytest.raises(KeyError), bench.observer.invocation(None):
        raise KeyError(MARKER)
    assert MARKER not in caplog.text + capsys.readouterr().out


def test_a_decision_that_a_delivery_carries_on_is_in_its_line(bench: Bench) -> None:
    bench.fails = [ValueError("no lines")]
    bench.deliver("1")
    key = Key("orders.fulfil", "1")
    release = Instruction(decision=Decision.RELEASE, who="ada", why="ticket 7")
    bench.store.records[key] = decided(bench.store.records[key], release, bench.clock.now_ms())
    bench.deliver("1")
    (line,) = bench.lines()
    assert line["decided"] == "release by ada, attempt 1: ticket 7"
    bench.deliver("1")
    (replay,) = bench.lines()
    assert "decided" not in replay


def test_an_event_that_nobody_can_read_is_counted_and_the_error_goes_on(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(Exception, match="SQS"), bench.observer.invocation(None):
        bench.consumer()({"not": "an event"})
    assert '"EventsRefused":[1.0]' in capsys.readouterr().out.replace(" ", "")
