"""Counting what a contender's deliveries send."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from benchmarks.contender import Contender
from benchmarks.events import Killed, orders, total
from benchmarks.message_cases import fail, kill
from benchmarks.report import Report
from benchmarks.table_stub import Table

MESSAGES = 10


def count(report: Report, name: str, make: Callable[[], Contender]) -> None:
    """Each case with one message for each invocation, and with all messages in one batch."""
    for shape, events in {
        "single": [orders([number]) for number in range(MESSAGES)],
        f"batch of {MESSAGES}": [orders(range(MESSAGES))],
    }.items():
        for case in ("new", "duplicate", "in flight", "failing"):
            report.figure("traffic", f"{name}, {shape}, {case}", _counted(make(), events, case))


def _counted(contender: Contender, events: list[Any], case: str) -> dict[str, float]:
    network = contender.network
    network.reset(Table(counting=True))
    if case in {"duplicate", "in flight"}:
        contender.work = kill if case == "in flight" else total
        for event in events:
            with suppress(Killed):
                contender.handle(event)
    contender.work = fail if case == "failing" else total
    table = network.table
    network.requests = network.bytes_out = network.bytes_in = table.write_units = table.read_units = 0
    for event in events:
        contender.handle(event)
    counts = {
        "requests": network.requests,
        "bytes_out": network.bytes_out,
        "bytes_in": network.bytes_in,
        "write_units": table.write_units,
        "read_units": table.read_units,
    }
    return {name: value / MESSAGES for name, value in counts.items()}
