"""The cost of a message as the table grows, from a thousand records to a million.

The stub keeps its items in a dict, so this shows what can be shown without AWS: that a message sends the same requests and
bytes and costs the same CPU whatever else is stored, because nothing here scans, queries, counts or keeps an index of its own.
That DynamoDB answers single-key requests in the same time at any size is its own promise.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.events import TABLE, orders
from benchmarks.network import Network
from benchmarks.report import Report
from benchmarks.table_stub import Table
from benchmarks.timing import Body, Prepare, compare, ratio
from benchmarks.with_idem import Ours

SIZES = (1_000, 10_000, 100_000, 1_000_000)
NUMBER, ROUNDS = 10, 25


def run(report: Report) -> None:
    network = Network()
    ours = Ours(network)
    ours.handle(orders([0], "model-"))
    ((_, model),) = network.table.items.items()
    tables = {str(size): _filled(size, model) for size in SIZES}
    report.progress("growth of the table to a million records")
    for case in ("new", "duplicate"):
        prepared = {name: _messages(ours, table, case) for name, table in tables.items()}
        samples = compare(prepared, rounds=ROUNDS, units=NUMBER)
        report.ratio(f"growth_million_over_thousand_{case}_cpu", ratio(samples, str(SIZES[-1]), str(SIZES[0]), "cpu"))


def _filled(size: int, model: dict[str, Any]) -> Table:
    """A table of `size` records. They share what is in them: what counts is how many keys there are."""
    table = Table()
    table.items = {(TABLE, f"IDEMPOTENCY#orders.fulfil#stored-{number}"): model for number in range(size)}
    return table


def _messages(ours: Ours, table: Table, case: str) -> Prepare:
    numbers = _fresh()

    def prepare() -> Body:
        ours.network.reset(table)
        run, first = ("stored-", 17) if case == "duplicate" else ("new-", next(numbers))
        events = [orders([number], run) for number in range(first, first + NUMBER)]
        return lambda: [ours.handle(event) for event in events]

    return prepare


def _fresh() -> Iterator[int]:
    first = 0
    while True:
        yield first
        first += NUMBER
