"""What users' own tests are given behaves as the real thing does, and a mistake in a test is said."""

from __future__ import annotations

import doctest
from datetime import timedelta

import pytest

import idem.testing
from idem import MemoryStore
from idem.errors import ConfigurationError, StoreUnavailable
from idem.record import Claim, Held
from idem.testing import (
    START_MS,
    Crash,
    FaultAt,
    FaultyStore,
    LambdaContext,
    ManualClock,
    crash_after,
    crash_before,
    lose_answer,
    one_effect,
    redeliver,
    refuse,
    sqs_event,
)
from tests.idem.builders import KEY, request


def test_the_examples_of_the_module_run() -> None:
    results = doctest.testmod(idem.testing)
    assert results.attempted > 10
    assert results.failed == 0


@pytest.mark.parametrize(
    ("fault", "error", "stored"),
    [
        (crash_before("claim"), Crash, False),
        (crash_after("claim"), Crash, True),
        (refuse("claim"), StoreUnavailable, False),
        (lose_answer("claim"), StoreUnavailable, True),
    ],
    ids=["crash before", "crash after", "refuse", "lose answer"],
)
def test_each_fault_says_whether_the_table_saw_the_call(fault: FaultAt, error: type, *, stored: bool) -> None:
    store = FaultyStore(MemoryStore(ManualClock()), fault)
    with pytest.raises(error):
        store.claim(request())
    assert (store.get(KEY) is not None) is stored
    second = store.claim(request("theirs"))
    assert type(second) is (Held if stored else Claim)
    assert store.calls == {"claim": 2, "get": 1}


def test_a_fault_is_met_at_its_call_and_no_other() -> None:
    store = FaultyStore(MemoryStore(ManualClock()), refuse("get", 2))
    assert store.get(KEY) is None
    with pytest.raises(StoreUnavailable):
        store.get(KEY)
    assert store.get(KEY) is None


@pytest.mark.parametrize(("verb", "nth"), [("clam", 1), ("", 1), ("claim", 0), ("claim", -1)])
def test_a_fault_that_can_never_happen_is_refused(verb: str, nth: int) -> None:
    with pytest.raises(ConfigurationError):
        refuse(verb, nth)


def test_a_clock_rings_what_was_planned_in_the_order_of_the_times() -> None:
    clock, rung = ManualClock(), list[tuple[str, int]]()
    clock.later(300, lambda: rung.append(("late", clock.now_ms())))
    clock.later(100, lambda: rung.append(("soon", clock.now_ms())))
    call_off = clock.later(200, lambda: rung.append(("never", clock.now_ms())))
    call_off()
    clock.sleep_ms(99)
    assert rung == []
    clock.advance(timedelta(seconds=1))
    assert rung == [("soon", START_MS + 100), ("late", START_MS + 300)]
    assert clock.now_ms() == START_MS + 1_099


def test_an_invocation_has_less_and_less_time_and_never_less_than_none() -> None:
    clock = ManualClock()
    context = LambdaContext(clock, seconds=2)
    clock.sleep_ms(1_500)
    assert context.get_remaining_time_in_millis() == 500
    clock.sleep_ms(1_500)
    assert context.get_remaining_time_in_millis() == 0


@pytest.mark.parametrize("made", [0, 2])
def test_no_effect_and_two_effects_are_told(made: int) -> None:
    effects: list[int] = []
    with pytest.raises(AssertionError, match=f"found {made}"), one_effect(lambda: len(effects)):
        effects.extend(range(made))


def test_a_handlers_own_error_is_raised_and_not_listed() -> None:
    with pytest.raises(ZeroDivisionError):
        redeliver(lambda _event, _context: 1 / 0, {}, times=2)


def test_an_event_has_the_form_of_its_queue() -> None:
    plain, text = sqs_event({"a": 1}, "as it is", receive_count=3)["Records"]
    assert (plain["body"], text["body"]) == ('{"a": 1}', "as it is")
    assert (plain["messageId"], text["messageId"]) == ("message-1", "message-2")
    assert plain["attributes"] == {"ApproximateReceiveCount": "3"}
    (ordered,) = sqs_event({}, group="g")["Records"]
    assert ordered["attributes"]["MessageGroupId"] == "g"
    assert ordered["eventSourceARN"].endswith(".fifo")
