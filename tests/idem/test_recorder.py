"""The recorder's one promise: in time, at once, and always before it is closed."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from idem.recorder import Recorder
from tests.idem.builders import NOW
from tests.idem.clocks import TestClock

WITHIN_MS = 50
PATIENCE_S = 20


@dataclass(frozen=True)
class Item:
    name: str
    ran: bool = True
    due_by: int = NOW + 60_000


class Log:
    """What was recorded, and when, in ms from the beginning."""

    def __init__(self, clock: TestClock, within_ms: float = WITHIN_MS) -> None:
        self._clock = clock
        self.recorded: list[tuple[int, str]] = []
        self.recorder: Recorder[Item] = Recorder(self._record, clock, within_ms)

    def _record(self, items: Sequence[Item]) -> None:
        self.recorded.append((self._clock.now_ms() - NOW, " ".join(item.name for item in items)))


@pytest.fixture
def log(clock: TestClock) -> Log:
    return Log(clock)


def test_what_ended_is_recorded_in_time_beside_a_work_that_runs(log: Log, clock: TestClock) -> None:
    log.recorder.put(Item("a"))
    clock.pass_ms(20)
    log.recorder.put(Item("b"))
    log.recorder.starting()
    clock.pass_ms(1_000)
    assert log.recorded == [(WITHIN_MS, "a b")]


def test_a_work_that_ends_while_another_one_runs_is_recorded_in_time(log: Log, clock: TestClock) -> None:
    log.recorder.starting()
    log.recorder.starting()
    clock.pass_ms(100)
    log.recorder.ended()
    log.recorder.put(Item("a"))
    clock.pass_ms(1_000)
    assert log.recorded == [(100 + WITHIN_MS, "a")]


def test_without_patience_each_is_recorded_at_once(clock: TestClock) -> None:
    log = Log(clock, within_ms=0)
    log.recorder.put(Item("a"))
    log.recorder.put(Item("b"))
    assert log.recorded == [(0, "a"), (0, "b")]


def test_what_is_given_back_is_in_no_hurry_and_travels_together(clock: TestClock) -> None:
    log = Log(clock, within_ms=0)
    log.recorder.put(Item("a", ran=False))
    log.recorder.put(Item("b", ran=False))
    assert log.recorded == []
    log.recorder.close()
    assert log.recorded == [(0, "a b")]


def test_an_item_whose_own_time_comes_sooner_is_recorded_then(clock: TestClock) -> None:
    log = Log(clock, within_ms=60_000)
    log.recorder.put(Item("a"))
    log.recorder.put(Item("b", due_by=NOW + 10_000))
    log.recorder.starting()
    clock.pass_ms(30_000)
    assert log.recorded == [(10_000, "a b")]


def test_closing_records_what_is_left_and_calls_the_timer_off(log: Log, clock: TestClock) -> None:
    log.recorder.put(Item("a"))
    log.recorder.starting()
    log.recorder.close()
    clock.pass_ms(1_000)
    assert log.recorded == [(0, "a")]


def test_what_waited_long_enough_is_recorded_before_the_next_work_starts(log: Log, clock: TestClock) -> None:
    log.recorder.put(Item("a"))
    clock.pass_ms(WITHIN_MS - 1)
    log.recorder.flush_if_due()
    assert log.recorded == []
    clock.pass_ms(1)
    log.recorder.flush_if_due()
    assert log.recorded == [(WITHIN_MS, "a")]


def test_what_a_timer_could_not_record_is_recorded_when_it_is_closed_and_then_the_reason_is_raised(
    clock: TestClock,
) -> None:
    recorded: list[str] = []

    def broken_once(items: Sequence[Item]) -> None:
        if not recorded:
            recorded.append("failed")
            raise MemoryError("made up")
        recorded.extend(item.name for item in items)

    recorder: Recorder[Item] = Recorder(broken_once, clock, WITHIN_MS)
    recorder.put(Item("a"))
    recorder.starting()
    clock.pass_ms(1_000)
    with pytest.raises(MemoryError):
        recorder.close()
    assert recorded == ["failed", "a"]


@pytest.mark.parametrize("ask", ["catch_up", "close"])
def test_who_catches_up_waits_for_the_recording_of_another_one(ask: str) -> None:
    """The other recording ends only once somebody is seen to wait for it."""
    under_way, waited_for = threading.Event(), threading.Event()
    recorded: list[str] = []

    class Clock(TestClock):
        def sleep_ms(self, milliseconds: float) -> None:
            super().sleep_ms(milliseconds)
            waited_for.set()

    def stalling(items: Sequence[Item]) -> None:
        under_way.set()
        assert waited_for.wait(PATIENCE_S)
        recorded.extend(item.name for item in items)

    recorder: Recorder[Item] = Recorder(stalling, Clock(), 0)
    other = threading.Thread(target=recorder.put, args=(Item("a"),))
    other.start()
    assert under_way.wait(PATIENCE_S)
    getattr(recorder, ask)()
    seen = list(recorded)
    waited_for.set()
    other.join(PATIENCE_S)
    assert seen == ["a"]


def test_who_needs_one_ending_only_does_not_wait_for_more() -> None:
    under_way, may_end = threading.Event(), threading.Event()

    def stalling(_items: Sequence[Item]) -> None:
        under_way.set()
        assert may_end.wait(PATIENCE_S)

    clock = TestClock()
    recorder: Recorder[Item] = Recorder(stalling, clock, 0)
    other = threading.Thread(target=recorder.put, args=(Item("a"),))
    other.start()
    assert under_way.wait(PATIENCE_S)
    recorder.catch_up(lambda: True)
    may_end.set()
    other.join(PATIENCE_S)
    assert clock.slept == []


def test_what_breaks_while_it_is_closed_is_tried_once_more_and_then_the_reason_is_raised(clock: TestClock) -> None:
    recorded: list[str] = []
    broken = [OSError("made up")]

    def record(items: Sequence[Item]) -> None:
        if broken:
            raise broken.pop()
        recorded.extend(item.name for item in items)

    recorder: Recorder[Item] = Recorder(record, clock, WITHIN_MS)
    recorder.put(Item("a"))
    with pytest.raises(OSError, match="made up"):
        recorder.close()
    assert recorded == ["a"]
