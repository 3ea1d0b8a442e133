"""The cases that a message can meet, set up for any contender."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import count
from typing import Any

from benchmarks.contender import Contender
from benchmarks.events import Event, Killed, orders, total
from benchmarks.timing import Body, Prepare

_RUNS = count()

CASES = ("new", "duplicate", "in_flight", "failing")


class Flawed(Exception):
    """The work's own error."""


def kill(_order: Any) -> Any:
    raise Killed


def fail(_order: Any) -> Any:
    raise Flawed("the warehouse said no")


def singles(contender: Contender, case: str, number: int) -> Prepare:
    """`number` invocations with one message each."""

    def prepare() -> Body:
        contender.network.reset()
        run = f"{next(_RUNS)}-"
        events = [orders([index], run) for index in range(number)]
        contender.work = kill if case == "in_flight" else total
        if case in {"duplicate", "in_flight"}:
            _without_delay(contender, lambda: _survive(contender, events))
        contender.work = fail if case == "failing" else total
        return lambda: [contender.handle(event) for event in events]

    return prepare


def batch(contender: Contender, size: int, duplicates: float) -> Prepare:
    """One invocation with `size` messages, of which a part was handled before."""

    def prepare() -> Body:
        contender.network.reset()
        contender.work = total
        run = f"{next(_RUNS)}-"
        known = range(round(size * duplicates))
        if known:
            _without_delay(contender, lambda: contender.handle(orders(known, run)))
        event = orders(range(size), run)
        return lambda: contender.handle(event)

    return prepare


def calls(call: Callable[[Any], object], reset: Callable[[], None], case: str, number: int) -> Prepare:
    """`number` calls of a function or of bare requests, one order each."""

    def prepare() -> Body:
        reset()
        run = f"{next(_RUNS)}-"
        given = [json.loads(orders([index], run)["Records"][0]["body"]) for index in range(number)]

        def body() -> object:
            return [call(order) for order in given]

        if case == "duplicate":
            body()
        return body

    return prepare


def _survive(contender: Contender, events: Sequence[Event]) -> None:
    for event in events:
        with suppress(Killed):
            contender.handle(event)


def _without_delay(contender: Contender, act: Callable[[], object]) -> None:
    delay, contender.network.delay_ms = contender.network.delay_ms, 0
    act()
    contender.network.delay_ms = delay
