"""Calls that are cancelled, and claims that come late."""

from __future__ import annotations

import asyncio
import threading
from datetime import timedelta
from typing import Any

import pytest

from idem import Key, MemoryStore, Policy, Status, keys, once
from idem.errors import StoreUnavailable
from idem.record import Answer, Request
from tests.idem.clocks import TestClock

DAY = timedelta(days=1)
KEY = Key("bonus.grant", "a")
PATIENCE_S = 20


def decorated(store: MemoryStore, function: Any, **policy: Any) -> Any:
    return once(operation="bonus.grant", key=keys.field("name"), store=store, policy=Policy(retention=DAY, **policy))(
        function
    )


@pytest.mark.parametrize("starts_max", [None, 2])
def test_work_that_is_cancelled_has_ended_and_the_next_call_runs_it(starts_max: int | None) -> None:
    runs: list[str] = []

    async def grant(name: str) -> str:
        runs.append(name)
        if len(runs) == 1:
            await asyncio.Event().wait()
        return name

    store = MemoryStore()
    function = decorated(store, grant, starts_max=starts_max)

    async def main() -> str:
        call = asyncio.ensure_future(function("a"))
        while not runs:
            await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert store.records[KEY].status is Status.FAILED
        return str(await function("a"))

    assert asyncio.run(main()) == "a"
    assert len(runs) == 2


class Stalling(MemoryStore):
    """A claim that is applied at once, and answered when the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.applied, self.may_answer = threading.Event(), threading.Event()

    def claim(self, wanted: Request) -> Answer:
        answer = super().claim(wanted)
        self.applied.set()
        assert self.may_answer.wait(PATIENCE_S)
        return answer


def test_a_call_that_is_cancelled_while_it_claims_gives_the_claim_back() -> None:
    async def grant(name: str) -> str:
        raise AssertionError(name)

    store = Stalling()
    function = decorated(store, grant)

    async def main() -> None:
        call = asyncio.ensure_future(function("a"))
        await asyncio.to_thread(store.applied.wait, PATIENCE_S)
        call.cancel()
        await asyncio.sleep(0)
        store.may_answer.set()
        with pytest.raises(asyncio.CancelledError):
            await call

    asyncio.run(main())
    assert store.records == {}


@pytest.mark.parametrize("kind", ["plain", "coroutine"])
@pytest.mark.parametrize("starts_max", [None, 1])
def test_nothing_runs_on_a_claim_whose_answer_came_when_its_lease_was_over(
    clock: TestClock, starts_max: int | None, kind: str
) -> None:
    class Late(MemoryStore):
        def claim(self, wanted: Request) -> Answer:
            answer = super().claim(wanted)
            if not runs:
                clock.pass_ms(16 * 60_000)
            return answer

    def grant(name: str) -> None:
        runs.append(name)

    async def granted(name: str) -> None:
        runs.append(name)

    runs: list[str] = []
    store = Late(clock)
    function: Any = once(
        operation="bonus.grant",
        key=keys.field("name"),
        store=store,
        policy=Policy(retention=DAY, starts_max=starts_max),
        clock=clock,
    )(grant if kind == "plain" else granted)
    with pytest.raises(StoreUnavailable, match="lease was over"):
        function("a") if kind == "plain" else asyncio.run(function("a"))
    assert runs == []
    assert store.records == {}
