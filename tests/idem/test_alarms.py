"""The system clock's alarms, in real time: one thread waits for all of them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import Empty, Queue

import pytest

from idem.clock import Alarms, SystemClock

PATIENCE_S = 10.0
SOON_S = 0.02


@pytest.fixture
def rung() -> Queue[str]:
    return Queue()


def ring(rung: Queue[str], name: str) -> Callable[[], None]:
    return lambda: rung.put(name)


def test_an_alarm_rings_when_its_time_has_come_in_another_thread(rung: Queue[str]) -> None:
    SystemClock().later(SOON_S * 1000, lambda: rung.put(threading.current_thread().name))
    assert rung.get(timeout=PATIENCE_S) != threading.current_thread().name


def test_an_alarm_that_was_called_off_does_not_ring(rung: Queue[str]) -> None:
    alarms = Alarms()
    call_off = alarms.plan(SOON_S, ring(rung, "called off"))
    call_off()
    alarms.plan(SOON_S * 3, ring(rung, "kept"))
    assert rung.get(timeout=PATIENCE_S) == "kept"
    with pytest.raises(Empty):
        rung.get_nowait()


def test_calling_off_what_has_rung_is_fine(rung: Queue[str]) -> None:
    alarms = Alarms()
    call_off = alarms.plan(0, ring(rung, "first"))
    assert rung.get(timeout=PATIENCE_S) == "first"
    call_off()
    alarms.plan(0, ring(rung, "second"))
    assert rung.get(timeout=PATIENCE_S) == "second"


def test_an_earlier_alarm_that_is_planned_later_is_not_slept_through(rung: Queue[str]) -> None:
    alarms = Alarms()
    alarms.plan(PATIENCE_S * 10, ring(rung, "much later"))
    alarms.plan(SOON_S, ring(rung, "soon"))
    assert rung.get(timeout=PATIENCE_S) == "soon"


def test_alarms_ring_after_the_thread_had_nothing_to_wait_for(rung: Queue[str]) -> None:
    alarms = Alarms()
    for name in ("one", "two", "three"):
        alarms.plan(0, ring(rung, name))
        assert rung.get(timeout=PATIENCE_S) == name


def test_a_slow_action_does_not_hold_up_the_next_one(rung: Queue[str]) -> None:
    alarms, go_on = Alarms(), threading.Event()

    def slowly() -> None:
        go_on.wait(PATIENCE_S)
        rung.put("slow")

    alarms.plan(0, slowly)
    alarms.plan(SOON_S, ring(rung, "next"))
    assert rung.get(timeout=PATIENCE_S) == "next"
    go_on.set()
    assert rung.get(timeout=PATIENCE_S) == "slow"


def test_many_batches_share_one_waiting_thread(rung: Queue[str]) -> None:
    alarms, before = Alarms(), threading.active_count()
    for _ in range(50):
        alarms.plan(PATIENCE_S, ring(rung, "never"))()
    assert threading.active_count() <= before + 1
