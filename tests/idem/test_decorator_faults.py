"""Plain functions when something goes wrong: leases, a table that is away, takeovers, and what has not run yet."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from idem import MemoryStore
from idem.errors import (
    ClaimLost,
    ConfigurationError,
    StoreUnavailable,
)
from idem.record import Status
from idem.testing import Crash, FaultyStore, LambdaContext, refuse
from tests.idem.builders import NOW
from tests.idem.builders import record as another
from tests.idem.clocks import TestClock
from tests.idem.consumers import Final
from tests.idem.functions import KEY, decorated


@pytest.fixture
def store(clock: TestClock) -> MemoryStore:
    return MemoryStore(clock)


def test_within_an_invocation_the_lease_ends_with_it(clock: TestClock, store: MemoryStore) -> None:
    @decorated(clock, store)
    def send(invoice: str) -> None:
        raise Crash(invoice)

    with pytest.raises(Crash):
        send.within(LambdaContext(clock, seconds=10))("i-1")
    assert store.records[KEY].lease_until == NOW + 11_000
    clock.pass_ms(13_000)
    assert decorated(clock, store)(lambda invoice: invoice).within(LambdaContext(clock, seconds=10))("i-1") == "i-1"


def test_without_an_invocation_there_is_a_lease_all_the_same(clock: TestClock, store: MemoryStore) -> None:
    @decorated(clock, store)
    def send(invoice: str) -> None:
        raise Crash(invoice)

    with pytest.raises(Crash):
        send("i-1")
    assert store.records[KEY].lease_until == NOW + 15 * 60_000 + 1_000
    clock.pass_ms(15 * 60_000 + 3_000)
    assert decorated(clock, store)(lambda invoice: invoice)("i-1") == "i-1"


def test_while_the_table_is_away_the_function_does_not_run(clock: TestClock, store: MemoryStore) -> None:
    send = decorated(clock, FaultyStore(store, refuse("claim")))(lambda invoice: pytest.fail(f"ran for {invoice}"))
    with pytest.raises(StoreUnavailable):
        send("i-1")


def test_a_result_that_could_not_be_recorded_is_not_returned_as_if_it_were(
    clock: TestClock, store: MemoryStore
) -> None:
    send = decorated(clock, FaultyStore(store, refuse("complete")))(lambda invoice: invoice)
    with pytest.raises(StoreUnavailable):
        send("i-1")


def test_a_call_that_was_overtaken_says_so(clock: TestClock, store: MemoryStore) -> None:
    @decorated(clock, store)
    def send(invoice: str) -> str:
        store.records[KEY] = another(Status.SUCCEEDED, key=KEY)
        return invoice

    with pytest.raises(ClaimLost):
        send("i-1")
    assert store.records[KEY] == another(Status.SUCCEEDED, key=KEY)


def test_an_error_that_could_not_be_recorded_is_still_the_functions_own(clock: TestClock, store: MemoryStore) -> None:
    @decorated(clock, FaultyStore(store, refuse("fail")))
    def send(invoice: str) -> None:
        raise Final(invoice)

    with pytest.raises(Final) as raised:
        send("i-1")
    assert raised.value.__notes__


def test_a_coroutine_that_nobody_awaits_is_never_recorded_as_done(clock: TestClock, store: MemoryStore) -> None:
    async def later(invoice: str) -> str:
        return invoice

    function: Any = decorated(clock, store)(lambda invoice: later(str(invoice)))
    with pytest.raises(ConfigurationError, match="has not run"):
        function("i-1")
    assert [(key, record.status) for key, record in store.records.items()] == [(KEY, Status.FAILED)]


def test_an_object_whose_call_is_a_coroutine_function_is_awaited(clock: TestClock, store: MemoryStore) -> None:
    class Later:
        async def __call__(self, invoice: str) -> str:
            return invoice

    function: Any = decorated(clock, store)(Later())
    assert asyncio.run(function("i-1")) == asyncio.run(function("i-1")) == "i-1"
    assert store.records[KEY].status is Status.SUCCEEDED


def test_a_generator_function_is_refused_when_it_is_decorated(clock: TestClock, store: MemoryStore) -> None:
    def some(invoice: str) -> Any:
        yield invoice

    async def more(invoice: str) -> Any:
        yield invoice

    for function in (some, more):
        with pytest.raises(ConfigurationError, match="yield"):
            decorated(clock, store)(cast("Any", function))
    assert store.records == {}
