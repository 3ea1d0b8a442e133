"""Calls that are cancelled, and claims that come late."""

from __future__ import annotations

import asyncio
import threading
from datetime import timedelta
from typing import Any

import pytest

from idem import Key, MemoryStore, Policy, Status, keys, once
from idem.errors import StoredFailure, StoreUnavailable
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


class BlockedLoop(TestClock):
    """While a key is claimed, it is so much later in the loop's thread than in the one that asks the store."""

    blocked_ms = 0

    def __init__(self) -> None:
        super().__init__()
        self.store = MemoryStore(self)

    def now_ms(self) -> int:
        record = self.store.records.get(KEY)
        claimed = record is not None and record.status is Status.IN_PROGRESS
        in_loop = threading.current_thread() is threading.main_thread()
        return super().now_ms() + (self.blocked_ms if claimed and in_loop else 0)


@pytest.mark.parametrize("starts_max", [None, 2])
def test_a_coroutine_whose_loop_was_blocked_until_its_lease_was_over_does_not_start_and_uses_up_no_start(
    starts_max: int | None,
) -> None:
    async def grant(name: str) -> str:
        runs.append(name)
        if len(runs) == 1:
            raise ValueError(name)
        return name

    def call() -> str:
        return asyncio.run(function("a"))

    runs: list[str] = []
    clock = BlockedLoop()
    function = once(
        operation="bonus.grant",
        key=keys.field("name"),
        store=clock.store,
        policy=Policy(retention=DAY, starts_max=starts_max),
        clock=clock,
    )(grant)
    with pytest.raises(ValueError, match="a"):
        call()
    clock.blocked_ms = 16 * 60_000
    with pytest.raises(StoreUnavailable, match="lease was over"):
        call()
    assert (runs, clock.store.records[KEY].starts) == (["a"], 1)
    clock.blocked_ms = 0
    assert call() == "a"


@pytest.mark.parametrize("kind", ["plain", "coroutine"])
def test_no_function_is_started_more_often_than_its_policy_allows(kind: str) -> None:
    def grant(name: str) -> None:
        runs.append(name)
        raise ValueError(name)

    async def granted(name: str) -> None:
        grant(name)

    def call() -> None:
        function("a") if kind == "plain" else asyncio.run(function("a"))

    runs: list[str] = []
    store = MemoryStore()
    function = decorated(store, grant if kind == "plain" else granted, starts_max=2)
    for _ in range(2):
        with pytest.raises(ValueError, match="a"):
            call()
    with pytest.raises(StoredFailure):
        call()
    assert runs == ["a", "a"]
    assert store.records[KEY].starts == 2
