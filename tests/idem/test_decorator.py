"""Plain functions run once for each key, however they are called."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from idem import Claim, Kind, MemoryStore, Policy
from idem.errors import (
    ConfigurationError,
    InProgress,
    MissingKeyPart,
    RequestMismatch,
    StoredFailure,
)
from tests.idem.builders import NOW
from tests.idem.clocks import TestClock
from tests.idem.consumers import DAY, Final
from tests.idem.functions import KEY, decorated


@pytest.fixture
def store(clock: TestClock) -> MemoryStore:
    return MemoryStore(clock)


def test_how_a_function_is_called_does_not_matter(clock: TestClock, store: MemoryStore) -> None:
    ran: list[Any] = []

    @decorated(clock, store, check=lambda delivery: delivery.payload)
    def send(invoice: str, /, to: str = "me", *cc: str, urgent: bool = False, **more: Any) -> Any:
        ran.append((invoice, to, cc, urgent, more))
        return len(ran)

    assert [send("i-1"), send("i-1", "me"), send("i-1", to="me", urgent=False)] == [1, 1, 1]
    with pytest.raises(RequestMismatch):
        send("i-1", "you")
    with pytest.raises(RequestMismatch):
        send("i-1", extra=1)
    assert len(ran) == 1


def test_the_function_keeps_its_name_and_tells_its_key(clock: TestClock, store: MemoryStore) -> None:
    @decorated(clock, store)
    def send(invoice: str) -> None:
        """Send it."""

    assert (send.__name__, send.__doc__) == ("send", "Send it.")
    assert send.key_of("i-1") == send.key_of(invoice="i-1") == KEY


def test_renaming_the_function_forgets_nothing(clock: TestClock, store: MemoryStore) -> None:
    @decorated(clock, store)
    def send(invoice: str) -> str:
        return f"sent {invoice}"

    @decorated(clock, store)
    def send_by_mail(invoice: str) -> str:
        raise AssertionError(invoice)

    assert send("i-1") == send_by_mail("i-1") == "sent i-1"


def test_two_operations_never_answer_for_each_other(clock: TestClock, store: MemoryStore) -> None:
    send = decorated(clock, store)(lambda invoice: f"sent {invoice}")
    pay = decorated(clock, store, operation="invoices.pay")(lambda invoice: f"paid {invoice}")
    assert [send("i-1"), pay("i-1"), send("i-1"), pay("i-1")] == ["sent i-1", "paid i-1", "sent i-1", "paid i-1"]


def test_what_the_function_raises_is_raised_and_then_stored(clock: TestClock, store: MemoryStore) -> None:
    error = Final("no such invoice")

    @decorated(clock, store)
    def send(invoice: str) -> None:  # noqa: ARG001 - it is the key
        raise error

    with pytest.raises(Final) as raised:
        send("i-1")
    assert raised.value is error
    with pytest.raises(StoredFailure, match="no such invoice"):
        send("i-1")


def test_a_transient_error_lets_the_next_call_run(clock: TestClock, store: MemoryStore) -> None:
    ran: list[int] = []

    @decorated(clock, store)
    def send(invoice: str) -> str:
        ran.append(1)
        if len(ran) == 1:
            raise TimeoutError
        return invoice

    with pytest.raises(TimeoutError):
        send("i-1")
    assert send("i-1") == "i-1"


def test_a_call_in_flight_is_said_to_be_in_progress(clock: TestClock, store: MemoryStore) -> None:
    inner: list[InProgress] = []

    @decorated(clock, store)
    def send(invoice: str) -> str:
        with pytest.raises(InProgress) as refused:
            send(invoice)
        inner.append(refused.value)
        return invoice

    assert send("i-1") == "i-1"
    assert inner[0].until == NOW + 15 * 60_000 + 1_000 + 2_000
    assert inner[0].record.key == KEY


def test_nested_calls_under_other_keys_have_their_own_results(clock: TestClock, store: MemoryStore) -> None:
    @decorated(clock, store)
    def send(invoice: int) -> int:
        return invoice + (send(invoice - 1) if invoice else 0)

    assert send(5) == 15
    assert [send(number) for number in range(6)] == [0, 1, 3, 6, 10, 15]


def test_the_claim_is_handed_over_and_is_no_part_of_the_key(clock: TestClock, store: MemoryStore) -> None:
    got: list[Claim] = []

    @decorated(clock, store, claim_as="claim", check=lambda delivery: delivery.payload)
    def send(invoice: str, claim: Claim | None = None) -> str:
        assert claim is not None
        got.append(claim)
        return invoice

    assert [send("i-1"), send("i-1")] == ["i-1", "i-1"]
    assert [(claim.key, claim.attempt) for claim in got] == [(KEY, 1)]


def test_a_claim_parameter_that_is_not_there_is_refused_when_it_is_decorated(
    clock: TestClock, store: MemoryStore
) -> None:
    with pytest.raises(ConfigurationError, match="claim"):
        decorated(clock, store, claim_as="claim")(lambda invoice: invoice)


def test_an_operation_that_cannot_be_named_is_refused_when_it_is_decorated(
    clock: TestClock, store: MemoryStore
) -> None:
    with pytest.raises(ConfigurationError):
        decorated(clock, store, operation="a#b")


@pytest.mark.parametrize("invoice", [None, "", "  ", [], {}])
def test_a_call_without_a_key_is_refused_and_not_run(clock: TestClock, store: MemoryStore, invoice: Any) -> None:
    send = decorated(clock, store)(lambda invoice: pytest.fail(f"ran for {invoice!r}"))
    with pytest.raises(MissingKeyPart, match="invoice"):
        send(invoice)
    assert store.records == {}


def test_wrong_arguments_are_a_type_error_as_always(clock: TestClock, store: MemoryStore) -> None:
    send = decorated(clock, store)(lambda invoice: invoice)
    with pytest.raises(TypeError):
        send("i-1", "more")
    assert store.records == {}


def test_methods_are_keyed_by_their_arguments(clock: TestClock, store: MemoryStore) -> None:
    class Mailer:
        def __init__(self) -> None:
            self.sent: list[str] = []

        @decorated(clock, store)
        def send(self, invoice: str) -> str:
            self.sent.append(invoice)
            return invoice

    mailer = Mailer()
    assert [mailer.send("i-1"), mailer.send(invoice="i-1"), Mailer().send("i-1")] == ["i-1"] * 3
    assert mailer.sent == ["i-1"]


def test_a_coroutine_function_runs_once_and_its_duplicates_get_its_result(clock: TestClock, store: MemoryStore) -> None:
    ran: list[str] = []

    @decorated(clock, store)
    async def send(invoice: str) -> str:
        await asyncio.sleep(0)
        ran.append(invoice)
        return f"sent {invoice}"

    async def calls() -> list[str]:
        return [await send("i-1"), await send("i-1")]

    assert asyncio.run(calls()) == ["sent i-1"] * 2
    assert ran == ["i-1"]


def test_a_coroutine_that_fails_is_recorded_as_failed(clock: TestClock, store: MemoryStore) -> None:
    @decorated(clock, store)
    async def send(invoice: str) -> None:
        raise Final(invoice)

    for expected in (Final, StoredFailure):
        with pytest.raises(expected):
            asyncio.run(send("i-1"))


def test_errors_can_be_forgotten(clock: TestClock, store: MemoryStore) -> None:
    @decorated(clock, store, policy=Policy(retention=DAY, otherwise=Kind.FORGET))
    def send(invoice: str) -> None:
        raise Final(invoice)

    for _ in range(2):
        with pytest.raises(Final):
            send("i-1")
    assert store.records == {}
