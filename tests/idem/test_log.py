"""What is logged where nobody observes: one bounded line for each delivery that somebody should know of."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from idem import MemoryStore, Policy, keys, once
from idem.errors import ConfigurationError, IdemError, InProgress, RequestMismatch, StoredFailure
from idem.log import (
    ERRORS_MAX,
    FRAMES_MAX,
    LOGGER,
    MASKED_CHARS_MAX,
    error_text,
    traceback_text,
)
from idem.testing import FaultyStore, lose_answer, refuse, sqs_event
from idem.text import ERROR_CHARS_MAX
from tests.idem.clocks import TestClock
from tests.idem.consumers import DAY, POLICY, Bench, Final, Passing, raising

MARKER = "4111-1111-1111-1111"


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    caplog.set_level(logging.DEBUG)

    def logged() -> list[str]:
        found = [one.getMessage() for one in caplog.records if one.name == LOGGER]
        caplog.clear()
        return found

    return logged


def unobserved(clock: TestClock, error: Exception | None = None, **more: Any) -> Bench:
    return Bench(
        clock, raising(error) if error else lambda _payload, _claim: MARKER, policy=POLICY, observe=None, **more
    )


def deliver(bench: Bench, *payloads: Any, receive_count: int = 1) -> None:
    bench.consumer(sqs_event(*payloads, receive_count=receive_count))


def test_work_that_raises_is_one_line_with_key_ids_attempt_outcome_and_traceback(
    clock: TestClock, lines: Callable[[], list[str]]
) -> None:
    deliver(unobserved(clock, Passing("the warehouse is closed")), {"id": "o-1", "card": MARKER}, receive_count=2)
    (line,) = lines()
    first, _, rest = line.partition("\n")
    assert first.startswith("delivery of orders.fulfil: key=orders.fulfil#o-1 outcome=Retry attempt=1 receive_count=2")
    assert "messageId=message-" in first
    assert "error=Passing: the warehouse is closed" in first
    assert "consumers.py" in rest  # where it was raised
    assert MARKER not in line


@pytest.mark.parametrize(
    ("error", "outcome"), [(Final("no"), "Rejected"), (Passing("no"), "Retry"), (KeyError("no"), "Retry")], ids=repr
)
def test_each_kind_of_failure_says_its_outcome(
    clock: TestClock, lines: Callable[[], list[str]], error: Exception, outcome: str
) -> None:
    deliver(unobserved(clock, error), {"id": "o-1"})
    (line,) = lines()
    assert f"outcome={outcome} " in line
    assert type(error).__name__ in line


def test_work_that_is_done_and_replayed_is_no_news(clock: TestClock, lines: Callable[[], list[str]]) -> None:
    bench = unobserved(clock)
    deliver(bench, {"id": "o-1"}, {"id": "o-2"})
    deliver(bench, {"id": "o-1"})
    assert lines() == []


def test_what_ran_nothing_is_a_line_without_a_traceback(clock: TestClock, lines: Callable[[], list[str]]) -> None:
    bench = unobserved(clock, Final("no funds"), check=keys.field("amount"))
    deliver(bench, {"id": "o-1", "amount": 1})
    lines()
    deliver(bench, {"id": "o-1", "amount": 1}, {"id": "o-1", "amount": 2}, {"no": "key"}, "{broken")
    stored, mismatch, keyless, broken = lines()
    assert "error=StoredFailure" in stored
    assert "error=RequestMismatch" in mismatch
    assert "key=- outcome=Rejected" in keyless
    assert "error=MalformedDelivery" in broken
    assert all("\n" not in line for line in (stored, mismatch, keyless, broken))


@pytest.mark.parametrize(
    ("fault", "outcome"), [(refuse("claim"), "Unavailable"), (lose_answer("complete"), "Unavailable")]
)
def test_a_table_that_gives_no_answer_is_a_line_with_a_traceback(
    clock: TestClock, lines: Callable[[], list[str]], fault: Any, outcome: str
) -> None:
    deliver(unobserved(clock, store=FaultyStore(MemoryStore(clock), fault)), {"id": "o-1"})
    (line,) = lines()
    assert f"outcome={outcome} " in line
    assert "StoreUnavailable" in line
    assert "\n" in line


def test_an_observer_that_raises_hides_neither_its_fault_nor_the_deliverys(
    clock: TestClock, lines: Callable[[], list[str]]
) -> None:
    def observe(_ending: Any) -> None:
        raise RuntimeError(MARKER * 1_000)

    deliver(Bench(clock, raising(Passing("closed")), observe=observe), {"id": "o-1"})
    fault, failure = lines()
    assert fault.startswith("the observer of orders.fulfil failed")
    assert len(fault) < 20 * ERROR_CHARS_MAX
    assert "key=orders.fulfil#o-1" in failure


@dataclass(frozen=True)
class Frozen(Exception):
    order: str

    def __str__(self) -> str:
        return self.order


class TestOnce:
    """A call that is raised to its caller is a line, too."""

    @staticmethod
    def ship(clock: TestClock, error: Exception | None, **more: Any) -> Any:
        @once(
            operation="orders.ship",
            key=keys.field("order"),
            store=more.pop("store", None) or MemoryStore(clock),
            policy=Policy(retention=DAY, permanent=(Final,), starts_max=None),
            clock=clock,
            **more,
        )
        def ship(order: str, amount: int = 1) -> str:  # noqa: ARG001 - the check reads it
            if error:
                raise error
            return order

        return ship

    def test_its_works_error(self, clock: TestClock, lines: Callable[[], list[str]]) -> None:
        with pytest.raises(Passing):
            self.ship(clock, Passing("closed"))("o-1")
        (line,) = lines()
        assert line.startswith("call of orders.ship: key=orders.ship#o-1 outcome=Retry attempt=1 function=")
        assert "Passing: closed" in line
        assert "\n" in line

    def test_an_error_that_takes_no_traceback_is_still_the_works_own(
        self, clock: TestClock, lines: Callable[[], list[str]]
    ) -> None:
        with pytest.raises(Frozen):
            self.ship(clock, Frozen("o-1"))("o-1")
        assert "error=Frozen: o-1" in lines()[0]

    def test_a_stored_failure_and_a_mismatch(self, clock: TestClock, lines: Callable[[], list[str]]) -> None:
        ship = self.ship(clock, Final("no funds"), check=keys.field("amount"))
        for amount, raised in ((1, Final), (1, StoredFailure), (2, RequestMismatch)):
            with pytest.raises(raised):
                ship("o-1", amount)
        outcomes = [line.split("outcome=")[1].split(" attempt=1")[0] for line in lines()]
        assert outcomes == ["Rejected"] * 3

    def test_a_table_that_gives_no_answer(self, clock: TestClock, lines: Callable[[], list[str]]) -> None:
        with pytest.raises(IdemError):
            self.ship(clock, None, store=FaultyStore(MemoryStore(clock), refuse("claim")))("o-1")
        (line,) = lines()
        assert "outcome=Unavailable attempt=-" in line

    def test_an_attempt_in_flight_and_a_success_are_no_news(
        self, clock: TestClock, lines: Callable[[], list[str]]
    ) -> None:
        store = MemoryStore(clock)
        ship = self.ship(clock, None, store=store)
        ship("o-1")
        ship("o-1")

        @once(operation="o", key=keys.field("order"), store=store, policy=Policy(retention=DAY), clock=clock)
        def again(order: str) -> str:
            with pytest.raises(InProgress):
                again(order)
            return order

        again("o-2")
        assert lines() == []

    def test_a_coroutine_functions_error(self, clock: TestClock, lines: Callable[[], list[str]]) -> None:
        @once(
            operation="o", key=keys.field("order"), store=MemoryStore(clock), policy=Policy(retention=DAY), clock=clock
        )
        async def ship(order: str) -> str:
            raise Passing(order)

        with pytest.raises(Passing):
            asyncio.run(ship("o-1"))
        (line,) = lines()
        assert "outcome=Retry attempt=1" in line


def raised(error: BaseException) -> BaseException:
    try:
        raise error
    except BaseException as caught:  # noqa: BLE001 - for its traceback
        return caught


def test_an_errors_text_is_one_bounded_line() -> None:
    text = error_text(ValueError("a\r\nERROR forged\x1b[2J\u202e\u0085" + "x" * 250_000))
    assert len(text) == ERROR_CHARS_MAX
    assert text.isprintable()
    assert text.startswith("ValueError: a  ERROR forged")


def test_a_traceback_is_bounded_in_messages_frames_and_errors() -> None:
    def deep(levels: int) -> None:
        if levels == 0:
            raise ValueError("y" * 250_000)
        deep(levels - 1)

    with pytest.raises(ValueError, match="y") as caught:
        deep(200)
    chain: BaseException = caught.value
    chain.add_note("its record was not written")
    text = traceback_text(chain)
    assert "its record was not written" in text
    assert "in deep" in text
    assert len(text.splitlines()) < 3 * FRAMES_MAX
    for number in range(10):
        outer = RuntimeError(f"outer {number} " + "z" * 250_000)
        outer.__cause__ = chain
        chain = outer
    text = traceback_text(chain)
    assert text.count("outer ") == ERRORS_MAX
    assert text.index("outer 8") < text.index("outer 9")  # as Python prints it: the last one is the one that was raised
    assert len(text) < 2 * ERRORS_MAX * ERROR_CHARS_MAX


def test_notes_of_any_kind_are_read() -> None:
    error = ValueError("no")
    for notes in (None, 7, ["fine", 7], "text", ["x" * 250_000] * 100):
        error.__notes__ = notes  # type: ignore[assignment]
        assert len(traceback_text(error)) < 5 * ERROR_CHARS_MAX


def test_errors_that_came_from_each_other_end() -> None:
    one, other = ValueError("one"), ValueError("other")
    one.__cause__, other.__cause__ = other, one
    assert traceback_text(one).count("one") <= ERRORS_MAX


def test_a_mask_sees_a_text_before_it_is_cut_and_everywhere() -> None:
    def mask(text: str) -> str:
        assert len(text) <= MASKED_CHARS_MAX
        return text.replace(MARKER, "****")

    error = raised(ValueError("x" * (ERROR_CHARS_MAX - 20) + MARKER + "y" * 250_000))
    error.add_note(f"note {MARKER}")
    error.__cause__ = raised(KeyError(MARKER))
    for text in (error_text(error, mask), traceback_text(error, mask)):
        assert "4111" not in text
        assert "****" in text


def test_where_the_mask_fails_the_text_is_left_out() -> None:
    def mask(_text: str) -> str:
        raise TypeError(MARKER)

    assert error_text(ValueError(MARKER), mask) == "(left out: the mask failed with TypeError)"
    assert MARKER not in traceback_text(ValueError(MARKER), mask).replace(f'MARKER = "{MARKER}"', "")


@pytest.mark.parametrize("hostile", [ConfigurationError("x" * 10_000), ValueError("\ud800")], ids=["long", "surrogate"])
def test_any_text_can_be_written(hostile: Exception) -> None:
    assert len(traceback_text(hostile).encode("utf-8")) < 4 * ERROR_CHARS_MAX
