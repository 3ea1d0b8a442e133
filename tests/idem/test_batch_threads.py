"""Many threads and tasks on one store: no key and no result is ever another's."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from idem import Policy, once
from idem.delivery import Done
from idem.errors import InProgress
from idem.keys import field
from idem.memory import MemoryStore
from idem.store import Store
from idem.testing import sqs_event
from tests.idem.clocks import TestClock
from tests.idem.conftest import STORES, make_bench
from tests.idem.consumers import DAY, Bench

THREADS = 8


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, clock: TestClock) -> Store:
    return make_bench(request, clock, request.param).store


def test_eight_threads_on_one_store_never_mix_keys_or_results(clock: TestClock, store: Store) -> None:
    """Two nested functions on one store: in a library that keeps the key in the store, they swap."""
    policy = Policy(retention=DAY)
    ran: Counter[tuple[str, int]] = Counter()

    @once(operation="inner", key=field("number"), store=store, policy=policy, clock=clock)
    def inner(number: int) -> str:
        ran["inner", number] += 1
        return f"inner {number}"

    @once(operation="outer", key=field("number"), store=store, policy=policy, clock=clock)
    def outer(number: int) -> str:
        ran["outer", number] += 1
        return f"outer {number} of {inner(number)}"

    numbers = [number for number in range(10) for _ in range(4)]

    def call(number: int) -> tuple[int, str | None]:
        try:
            return number, outer(number)
        except InProgress:
            return number, None

    with ThreadPoolExecutor(THREADS) as pool:
        answers = list(pool.map(call, numbers))
    for number, answer in [*answers, *[(number, outer(number)) for number in range(10)]]:
        assert answer in {None, f"outer {number} of inner {number}"}
    assert ran == Counter({(name, number): 1 for name in ("inner", "outer") for number in range(10)})


def test_of_many_claims_at_once_exactly_one_runs(clock: TestClock, store: Store) -> None:
    ran: list[int] = []
    start = threading.Barrier(THREADS)

    @once(operation="race", key=field("key"), store=store, policy=Policy(retention=DAY), clock=clock)
    def work(key: str, number: int) -> int:
        assert key == "k"
        ran.append(number)
        return number

    def race(number: int) -> Any:
        start.wait()
        try:
            return work("k", number)
        except InProgress:
            return None

    with ThreadPoolExecutor(THREADS) as pool:
        answers = set(pool.map(race, range(THREADS)))
    assert len(ran) == 1
    assert answers <= {None, ran[0]}


@pytest.mark.parametrize("concurrency", [1, 2, 5])
def test_a_consumer_may_work_on_several_deliveries_at_once(clock: TestClock, store: Store, concurrency: int) -> None:
    def work(payload: Any, _claim: Any) -> Any:
        if payload["id"] % 7 == 3:
            raise ValueError(payload["id"])
        return payload["id"]

    bench = Bench(clock, work, store=store, concurrency=concurrency)
    outcomes = bench(*[{"id": number} for number in range(30)])
    results = [outcome.result if isinstance(outcome, Done) else "failed" for outcome in outcomes]
    assert results == ["failed" if number % 7 == 3 else number for number in range(30)]
    assert sorted(bench.ran) == list(range(30))


def test_at_most_as_many_as_allowed_run_at_once_and_they_do(clock: TestClock) -> None:
    together = threading.Barrier(3)

    def work(_payload: Any, _claim: Any) -> None:
        together.wait(timeout=10)  # raises unless three are here at once

    outcomes = Bench(clock, work, concurrency=3)(*[{"id": number} for number in range(6)])
    assert [type(outcome) for outcome in outcomes] == [Done] * 6


@pytest.mark.parametrize("concurrency", [2, 5])
def test_ordered_groups_keep_their_order_while_others_run_beside_them(clock: TestClock, concurrency: int) -> None:
    seen: list[tuple[str, int]] = []

    def work(payload: Any, _claim: Any) -> None:
        seen.append((payload["group"], payload["n"]))
        if payload["id"] == "b1":
            raise ValueError

    bench = Bench(clock, work, concurrency=concurrency)
    payloads = [{"id": f"{group}{n}", "group": group, "n": n} for n in range(4) for group in "abc"]
    event = sqs_event(*payloads, group="x")
    for record, payload in zip(event["Records"], payloads, strict=True):
        record["attributes"] = record["attributes"] | {"MessageGroupId": payload["group"]}
    bench.consumer(event)
    by_group = {group: [n for one, n in seen if one == group] for group in "abc"}
    assert by_group == {"a": [0, 1, 2, 3], "b": [0, 1], "c": [0, 1, 2, 3]}
    done = [isinstance(ending.outcome, Done) for ending in bench.endings]
    assert done == [payload["group"] != "b" or payload["n"] == 0 for payload in payloads]


def test_a_coroutine_function_is_awaited_and_recorded(clock: TestClock) -> None:
    running, most = 0, 0

    async def work(delivery: Any, _claim: Any) -> Any:
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(5):
            await asyncio.sleep(0)
        running -= 1
        if delivery.payload["id"] == 3:
            raise ValueError
        return delivery.payload["id"]

    store = MemoryStore(clock)
    bench = Bench(clock, store=store)
    bench.consumer = replace(bench.consumer, work=work, concurrency=3)
    outcomes = bench(*[{"id": number} for number in range(9)])
    assert [outcome.result if isinstance(outcome, Done) else None for outcome in outcomes] == [
        0,
        1,
        2,
        None,
        4,
        5,
        6,
        7,
        8,
    ]
    assert 1 < most <= 3
    again = bench(*[{"id": number} for number in range(9) if number != 3])
    assert [isinstance(outcome, Done) and outcome.replayed for outcome in again] == [True] * 8
