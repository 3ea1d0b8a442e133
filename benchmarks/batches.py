"""Batches: 10 to 10,000 messages, with 0, 30 and 100% duplicates, by how the requests travel."""

from __future__ import annotations

import time
from collections.abc import Mapping

import boto3

from benchmarks.contender import Contender
from benchmarks.events import PRODUCT
from benchmarks.message_cases import batch
from benchmarks.network import Network
from benchmarks.report import Report
from benchmarks.table_stub import Table
from benchmarks.timing import Body, Prepare, Samples, Spread, compare, ratio
from benchmarks.with_boto3 import RememberingClient
from benchmarks.with_idem import Ours
from benchmarks.with_powertools import Powertools
from idem.dynamo.statements import Together

DUPLICATES = {"new": 0.0, "mixed": 0.3, "duplicate": 1.0}


class SilentNetwork(Network):
    """One on which a refused PartiQL INSERT does not bring back the item: the documentation promises neither."""

    def reset(self, table: Table | None = None) -> None:
        super().reset(table or Table(duplicates_with_item=False))


def run(report: Report) -> None:
    """Ratios against Powertools; wall times by size, for the plot."""
    _ten(report)
    _hundred(report)
    _thousands(report)


def _contenders() -> dict[str, Contender]:
    return {
        "ours": Ours(Network()),
        "silent": Ours(SilentNetwork()),
        "threads": Ours(Network(), together=Together.THREADS),
        "powertools": Powertools(Network()),
        "powertools_same_client": Powertools(Network(), config=PRODUCT),
    }


def _measured(
    contenders: Mapping[str, Contender], size: int, duplicates: float, delay: int, rounds: int, **more: Prepare
) -> Samples:
    for one in contenders.values():
        one.network.delay_ms = delay
    prepared = {name: batch(one, size, duplicates) for name, one in contenders.items()}
    return compare(prepared | more, rounds=rounds, units=size)


def _ten(report: Report) -> None:
    contenders = _contenders()
    for case, duplicates in DUPLICATES.items():
        report.progress(f"batch of 10: {case}")
        cpu = _measured(contenders, 10, duplicates, 0, 40, floor=_floor(duplicates, 0))
        floor = _floor(duplicates, 5)
        wall = _measured(contenders, 10, duplicates, 5, 15, waits=lambda: _two_waits, floor=floor)
        wall_2 = _measured(contenders, 10, duplicates, 2, 9)
        report.ratio(f"batch10_{case}_0ms_cpu_ours_over_powertools", ratio(cpu, "ours", "powertools", "cpu"))
        report.ratio(
            f"batch10_{case}_0ms_cpu_ours_over_powertools_same_client",
            ratio(cpu, "ours", "powertools_same_client", "cpu"),
        )
        report.ratio(f"batch10_{case}_0ms_cpu_same_requests_over_powertools", ratio(cpu, "floor", "powertools", "cpu"))
        report.ratio(f"batch10_{case}_0ms_cpu_threads_over_ours", ratio(cpu, "threads", "ours", "cpu"))
        report.ratio(f"batch10_{case}_5ms_wall_powertools_over_ours", ratio(wall, "powertools", "ours", "wall"))
        report.ratio(f"batch10_{case}_2ms_wall_powertools_over_ours", ratio(wall_2, "powertools", "ours", "wall"))
        report.ratio(f"batch10_{case}_5ms_wall_threads_over_ours", ratio(wall, "threads", "ours", "wall"))
        report.ratio(f"batch10_{case}_5ms_wall_over_two_requests", ratio(wall, "ours", "waits", "wall"))
        report.ratio(f"batch10_{case}_5ms_wall_same_requests_over_two_requests", ratio(wall, "floor", "waits", "wall"))
        if case != "new":
            silent = ratio(wall, "powertools", "silent", "wall")
            report.ratio(f"batch10_{case}_5ms_wall_powertools_over_ours_without_items", silent)
        _walls(report, case, 10, 5, wall)


def _floor(duplicates: float, delay: int) -> Prepare:
    """The requests of a batch of ten on a bare client, prepared beforehand: less than this no client of botocore can take."""
    network = Network()
    client = RememberingClient(network.attach(boto3.client("dynamodb", config=PRODUCT)))
    ours = Ours(network, client=client)

    def prepare() -> Body:
        network.delay_ms = 0
        body = batch(ours, 10, duplicates)()
        client.asked.clear()
        stored = dict(network.table.items)
        body()
        network.table.items, network.delay_ms = stored, delay
        return client.ask_again

    return prepare


def _two_waits() -> None:
    """The delay of two requests and nothing else, as this machine's timer gives it."""
    time.sleep(0.005)
    time.sleep(0.005)


def _hundred(report: Report) -> None:
    contenders = {name: one for name, one in _contenders().items() if name in {"ours", "threads", "powertools"}}
    for case, duplicates in DUPLICATES.items():
        report.progress(f"batch of 100: {case}")
        samples = _measured(contenders, 100, duplicates, 5, 5 if case == "new" else 3)
        report.ratio(f"batch100_{case}_5ms_wall_powertools_over_ours", ratio(samples, "powertools", "ours", "wall"))
        _walls(report, case, 100, 5, samples)


def _thousands(report: Report) -> None:
    ours, powertools = Ours(Network()), Powertools(Network())
    report.progress("batch of 1,000 beside batches of 10: cost of one record")
    sizes: dict[str, Prepare] = {"ten": _ten_repeated(ours), "thousand": batch(ours, 1000, 0.0)}
    samples = compare(sizes, rounds=11, units=1000)
    report.ratio("per_record_1000_over_10", ratio(samples, "thousand", "ten", "cpu"))
    ours.network.delay_ms = 5
    samples = compare(sizes, rounds=3, units=1000)
    report.ratio("per_record_1000_over_10_5ms_wall", ratio(samples, "thousand", "ten", "wall"))
    for case, duplicates in DUPLICATES.items():
        report.progress(f"batch of 1,000: {case}")
        contenders: dict[str, Contender] = {"ours": ours, "powertools": powertools}
        cpu = _measured(contenders, 1000, duplicates, 0, 3)
        report.ratio(f"batch1000_{case}_0ms_cpu_ours_over_powertools", ratio(cpu, "ours", "powertools", "cpu"))
        _walls(report, case, 1000, 5, _measured({"ours": ours}, 1000, duplicates, 5, 1))
    report.progress("batch of 10,000")
    for case, duplicates in DUPLICATES.items():
        samples = _measured({"ours": ours}, 10_000, duplicates, 0, 1)
        report.figure("batch10000_0ms_cpu_ms_per_record", case, samples["ours"][0].cpu * 1000)


def _ten_repeated(ours: Ours) -> Prepare:
    """A hundred batches of ten: as many records as the batch that they are compared with."""

    def prepare() -> Body:
        bodies = [batch(ours, 10, 0.0)() for _ in range(100)]
        return lambda: [body() for body in bodies]

    return prepare


def _walls(report: Report, case: str, size: int, delay: int, samples: Samples) -> None:
    """Milliseconds of a whole batch: for the plot, never a claim."""
    for name, found in samples.items():
        if name not in {"waits", "floor"}:
            spread = Spread.of([one.wall * size * 1000 for one in found])
            report.figure(f"wall_ms_{case}_{delay}ms", f"{name}_{size}", spread.median)
