"""The catalogue of works: how long they take, and every way in which they end."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from idem import Commit, NotKept, Put, ResultId
from idem.errors import ClaimLost, IdemError
from idem.keys import make_key


class TransientError(Exception):
    """Listed as transient."""


class PermanentError(Exception):
    """Listed as permanent."""


class ForgottenError(Exception):
    """Listed as forgotten."""


class UnlistedError(Exception):
    """In no list."""


@dataclass(frozen=True)
class FrozenError(Exception):
    """Takes no note: a frozen dataclass."""

    code: int


class TextlessError(Exception):
    """Its text raises."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


class OutsideError(BaseException):
    """No Exception."""


@dataclass(frozen=True)
class Receipt:
    number: int


def nested(more: int) -> Any:
    """A list nested as deep as JSON just manages here, or a little deeper."""
    low, high = 1, sys.getrecursionlimit()
    while low + 1 < high:
        middle = (low + high) // 2
        try:
            json.dumps(_nested(middle))
            low = middle
        except RecursionError:
            high = middle
    return _nested(low + more)


def _nested(depth: int) -> Any:
    value: Any = []
    for _ in range(depth - 1):
        value = [value]
    return value


async def _coroutine() -> str:
    return "ran"


def _generator() -> Iterator[str]:
    yield "ran"


async def _async_generator() -> AsyncIterator[str]:
    yield "ran"


def _put(key: str) -> Put:
    return Put("business", {"pk": {"S": key}})


def _raising_writes(key: str) -> Iterator[Put]:
    yield _put(key)
    raise KeyError("no second write")


VALUES: dict[str, Callable[[str], object]] = {
    "ok": lambda run: {"run": run},
    "None": lambda _run: None,
    "text": lambda run: f"by {run}",
    "tuple": lambda run: (run, 1),
    "decimal": lambda _run: Decimal("1.50"),
    "set": lambda run: {run},
    "bytes": lambda run: run.encode(),
    "object": lambda _run: object(),
    "not a number": lambda _run: float("nan"),
    "big": lambda run: run * 2_000,
    "names that meet": lambda _run: {1: "number", "1": "text"},
    "result id": ResultId,
    "not kept": NotKept,
    "dataclass": lambda _run: Receipt(7),
    "an error": ValueError,
    "http shape": lambda run: {"http_status": 302, "http_body": run, "http_headers": {"location": "/"}},
    "times out inside": lambda run: {"run": run},
}
NEVER_RUN: dict[str, Callable[[], object]] = {
    "coroutine": _coroutine,
    "generator": _generator,
    "async generator": _async_generator,
    "future": Future,
    "map": lambda: map(str, [1]),
    "filter": lambda: filter(None, [1]),
}
MISPLACED: dict[str, Callable[[str], object]] = {
    "[Commit]": lambda key: [Commit([_put(key)])],
    "(Commit, text)": lambda key: (Commit([_put(key)]), "r"),
    "Put": _put,
    "[Put]": lambda key: [_put(key)],
    "{commit: Commit}": lambda key: {"commit": Commit([_put(key)])},
}
COMMITS: dict[str, Callable[[str, str], Commit]] = {
    "commit": lambda key, run: Commit([_put(key)], {"run": run}),
    "commit of a tuple": lambda key, run: Commit((_put(key),), {"run": run}),
    "commit of a generator": lambda key, run: Commit((put for put in [_put(key)]), {"run": run}),  # type: ignore[arg-type]
    "commit of a raising generator": lambda key, run: Commit(_raising_writes(key), {"run": run}),  # type: ignore[arg-type]
    "commit without writes": lambda _key, run: Commit([], {"run": run}),
    "commit refused": lambda key, run: Commit(
        [Put("business", {"pk": {"S": key}}, "attribute_exists(never)")], {"run": run}
    ),
    "commit of two on one item": lambda key, run: Commit([_put(key), _put(key)], {"run": run}),
    "commit of no writes at all": lambda _key, run: Commit(None, {"run": run}),  # type: ignore[arg-type]
    "commit of an odd result": lambda key, run: Commit([_put(key)], {run}),
}
EITHER = {"commit of a generator"}  # may be refused as well
MAY_SUCCEED = {
    "commit",
    "commit of a tuple",
    "commit of a generator",
    "commit without writes",
    "commit of an odd result",
}

RAISES: dict[str, Callable[[], BaseException]] = {
    "transient": lambda: TransientError("try again"),
    "permanent": lambda: PermanentError("never"),
    "forgotten": lambda: ForgottenError("forget it"),
    "unlisted": lambda: UnlistedError("who knows"),
    "frozen": lambda: FrozenError(5),
    "no text": TextlessError,
    "own IdemError": lambda: IdemError("from a nested call"),
    "own ClaimLost": lambda: ClaimLost(make_key("other", ["x"]), None),
    "group": lambda: ExceptionGroup("several", [ValueError("one")]),
    "StopIteration": lambda: StopIteration("odd"),
    "recursion": RecursionError,
    "SystemExit": lambda: SystemExit(3),
    "KeyboardInterrupt": KeyboardInterrupt,
    "GeneratorExit": GeneratorExit,
    "CancelledError": asyncio.CancelledError,
    "BaseException": lambda: OutsideError("no Exception"),
}


async def await_a_cancelled_task() -> None:
    task = asyncio.ensure_future(asyncio.sleep(10))
    task.cancel()
    await task


async def cancel_itself() -> None:
    task = asyncio.current_task()
    if task is not None:
        task.cancel()
    await asyncio.sleep(0)


async def time_out_inside() -> None:
    try:
        await asyncio.wait_for(asyncio.sleep(10), 0.01)
    except TimeoutError:
        return


AWAITED = {
    "a cancelled task": await_a_cancelled_task,
    "cancels itself": cancel_itself,
    "times out inside": time_out_inside,
}
