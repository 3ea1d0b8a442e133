"""What breaks in one lane, and work that ends oddly in any way of running: none of it touches another delivery."""
# ruff: noqa: ARG001, ARG002, ARG005, FBT001, SLOT000

from __future__ import annotations

import asyncio
import logging
import threading
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from idem import Claim, Commit, Delivery, Done, MemoryStore, NotStarted, Policy, Put, Retry, keys, once
from idem.errors import StoreUnavailable
from idem.policy import Lapsed
from idem.record import Status
from idem.results import ResultId
from idem.testing import LambdaContext, sqs_event
from tests.idem.clocks import TestClock
from tests.idem.consumers import DAY, Bench
from tests.idem.test_batch_hostile_processes import PATIENCE_S, ids, raise_, system


class OddEnd(BaseException):
    pass


@pytest.mark.parametrize("coroutine", [False, True])
def test_what_breaks_in_one_lane_lets_the_works_of_the_others_end(coroutine: bool) -> None:
    ended: list[str] = []
    broken, all_started = threading.Event(), threading.Barrier(3, timeout=PATIENCE_S)

    class Breaks(MemoryStore):
        def complete(self, claim: Claim, *rest: Any) -> None:
            if claim.key.identity == "bxd":
                broken.set()
                raise OddEnd
            super().complete(claim, *rest)

    def work(delivery: Delivery, _claim: Claim) -> Any:
        all_started.wait()
        if delivery.payload["id"] != "bxd":
            broken.wait(PATIENCE_S)
            ended.append(delivery.payload["id"])

    async def work_async(delivery: Delivery, _claim: Claim) -> Any:
        await asyncio.to_thread(all_started.wait)
        if delivery.payload["id"] != "bxd":
            await asyncio.to_thread(broken.wait, PATIENCE_S)
            for _ in range(1_000):  # as long as it takes for the other lane's exception to leave
                await asyncio.sleep(0)
            ended.append(delivery.payload["id"])

    with pytest.raises(OddEnd):
        system(Breaks(), work_async if coroutine else work, concurrency=3, record_within=timedelta(0))(
            sqs_event(*ids("a", "bxd", "b")), None
        )
    assert sorted(ended) == ["a", "b"]


class OddText(str):
    def encode(self, *_more: Any) -> bytes:
        raise RuntimeError("made up")


def test_an_identifier_that_cannot_be_written_fails_alone(clock: TestClock) -> None:
    bench = Bench(clock, lambda payload, _claim: ResultId(OddText("x")) if payload["id"] == "bad" else 1)
    first, _, last = bench(*ids("a", "bad", "b"), seconds=60)
    assert (type(first), type(last)) == (Done, Done)


@pytest.mark.parametrize("what", ["raises", "store away", "give back fails", "not recorded"])
def test_nothing_fails_without_a_log_line(clock: TestClock, caplog: Any, what: str) -> None:
    class Away(MemoryStore):
        def claim(self, wanted: Any) -> Any:
            return raise_(StoreUnavailable("claim", "x", "y")) if what == "store away" else super().claim(wanted)

        def begin(self, claim: Claim) -> Claim:
            clock.pass_ms(59_900)
            return super().begin(claim)

        def release(self, claim: Claim) -> None:
            raise StoreUnavailable("release", "x", "y")

        def complete(self, *_more: Any) -> None:
            raise StoreUnavailable("complete", "x", "y")

    policy = Policy(retention=DAY, starts_max=3 if what == "give back fails" else None)
    bench = Bench(
        clock,
        (lambda _p, _c: raise_(ValueError("x"))) if what == "raises" else (lambda _p, _c: 1),
        store=MemoryStore(clock) if what == "raises" else Away(clock),
        policy=policy,
    )
    bench.consumer = replace(bench.consumer, observe=None)
    with caplog.at_level(logging.INFO):
        bench.consumer(sqs_event({"id": "a"}), LambdaContext(clock, seconds=60))
    assert caplog.records


# --- plans: twins, groups, coroutines ---


WRITE = Put("t", {"pk": {"S": "x"}})


@pytest.mark.parametrize("coroutine", [False, True])
@pytest.mark.parametrize("concurrency", [1, 3])
@pytest.mark.parametrize("group", [None, "g"])
def test_plans(clock: TestClock, coroutine: bool, concurrency: int, group: Any) -> None:
    def plan(delivery: Delivery) -> Any:
        return raise_(ValueError()) if delivery.payload["id"] == "bad" else Commit([WRITE], 1)

    async def plan_async(delivery: Delivery) -> Any:
        return plan(delivery)

    bench = Bench(clock, concurrency=concurrency)
    bench.consumer = replace(bench.consumer, work=None, plan=plan_async if coroutine else plan)
    outcomes = [type(one) for one in bench(*ids("a", "a", "bad", "b"), seconds=60, group=group)]
    assert outcomes == [Done, Done, Retry, NotStarted if group else Done]


# --- held work: a claim made under one policy, looked at by another; and starts after a give-back ---


def test_held_work_given_back_after_its_start_was_counted_can_start_again(clock: TestClock) -> None:
    class LateBegin(MemoryStore):
        late = True

        def begin(self, claim: Claim) -> Claim:
            begun = super().begin(claim)
            if self.late:
                clock.pass_ms(59_900)
            return begun

    store = LateBegin(clock)
    fails = [ValueError()]
    bench = Bench(
        clock,
        lambda _p, _c: raise_(fails.pop()) if fails else 1,
        store=store,
        policy=Policy(retention=DAY, lapsed=Lapsed.HOLD),
    )
    store.late = False
    assert isinstance(bench.one(seconds=60), Retry)
    store.late = True
    assert isinstance(bench.one(seconds=60), NotStarted)
    store.late = False
    assert isinstance(bench.one(seconds=60), Done)
    (record,) = store.records.values()
    assert (record.attempt, record.starts) == (3, 2)


# --- interrupt within a coroutine consumer ---


@pytest.mark.parametrize(
    "error",
    [
        StopIteration(1),
        StopAsyncIteration(),
        GeneratorExit(),
        BaseExceptionGroup("x", [KeyboardInterrupt()]),
        ExceptionGroup("x", [ValueError()]),
        TimeoutError(),
        MemoryError(),
        RecursionError(),
    ],
    ids=lambda e: type(e).__name__,
)
@pytest.mark.parametrize("kind", ["one", "threads", "async", "once", "once async"])
def test_odd_errors(clock: TestClock, error: BaseException, kind: str) -> None:
    def work(payload: Any, _claim: Claim) -> Any:
        return raise_(error) if payload["id"] == "bad" else 1

    async def work_async(delivery: Delivery, _claim: Claim) -> Any:
        return raise_(error) if delivery.payload["id"] == "bad" else 1

    if kind.startswith("once"):
        store = MemoryStore(clock)
        deco = once(
            operation="invoices.send", key=keys.field("name"), store=store, policy=Policy(retention=DAY), clock=clock
        )
        if kind == "once":
            with pytest.raises(type(error)):
                deco(lambda name: raise_(error))("a")
        else:

            async def send(name: str) -> Any:
                raise error

            with pytest.raises((type(error), RuntimeError)):
                asyncio.run(deco(send)("a"))
        assert {one.status for one in store.records.values()} == {Status.FAILED}
        return
    bench = Bench(clock, work, concurrency=1 if kind == "one" else 3)
    if kind == "async":
        bench.consumer = replace(bench.consumer, work=work_async)
    first, bad, last = bench(*ids("a", "bad", "b"), seconds=60)
    assert (type(first), type(bad), type(last)) == (Done, Retry, Done)


@pytest.mark.filterwarnings("ignore")
def test_a_consumer_in_a_running_loop_claims_nothing() -> None:
    store = MemoryStore()

    async def work(_d: Delivery, _c: Claim) -> None: ...

    async def main() -> None:
        with pytest.raises(RuntimeError):
            system(store, work)(sqs_event(*ids("a")), None)

    asyncio.run(main())
    assert store.records == {}
