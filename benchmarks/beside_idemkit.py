"""This product beside idemkit, in idemkit's environment: the same process, the same botocore under both."""

from __future__ import annotations

from benchmarks.contender import Contender
from benchmarks.message_cases import batch, calls, singles
from benchmarks.network import Network
from benchmarks.report import Report
from benchmarks.timing import Prepare, Spread, compare, ratio
from benchmarks.traffic_counts import count
from benchmarks.with_boto3 import Bare
from benchmarks.with_idem import Ours
from benchmarks.with_idemkit import Idemkit

NUMBER = 4


def run(report: Report) -> None:
    ours, kit, bare = Ours(Network()), Idemkit(Network()), Bare(Network())
    both: dict[str, Contender] = {"ours": ours, "idemkit": kit}
    for delay in (0, 2, 5):
        report.progress(f"idemkit: single messages at {delay} ms")
        for one in both.values():
            one.network.delay_ms = delay
        for case in ("new", "duplicate", "failing"):
            name = f"single_{case}" if case == "new" else case
            contenders: dict[str, Prepare] = {key: singles(one, case, NUMBER) for key, one in both.items()}
            if delay == 0 and case != "failing":
                contenders["boto3"] = calls(bare.call, bare.network.reset, case, NUMBER)
                contenders["call"] = calls(ours.call, ours.network.reset, case, NUMBER)
                contenders["idemkit_call"] = calls(kit.call, kit.network.reset, case, NUMBER)
            samples = compare(contenders, rounds=30 if delay == 0 else 11, units=NUMBER)
            report.ratio(f"{name}_{delay}ms_wall_idemkit_over_ours", ratio(samples, "idemkit", "ours", "wall"))
            if delay == 0:
                report.ratio(f"{name}_cpu_idemkit_over_ours", ratio(samples, "idemkit", "ours", "cpu"))
            if delay == 0 and case != "failing":
                report.ratio(f"{name}_idemkit_cpu_vs_boto3", ratio(samples, "idemkit", "boto3", "cpu"))
                report.ratio(f"{name}_decorator_wall_idemkit_over_ours", ratio(samples, "idemkit_call", "call", "wall"))
    _batches(report, both)
    count(report, "idemkit", lambda: Idemkit(Network()))


def _batches(report: Report, both: dict[str, Contender]) -> None:
    for size, rounds in {10: 9, 100: 3}.items():
        report.progress(f"idemkit: batch of {size}")
        for case, duplicates in {"new": 0.0, "mixed": 0.3, "duplicate": 1.0}.items():
            samples = compare(
                {name: batch(one, size, duplicates) for name, one in both.items()}, rounds=rounds, units=size
            )
            report.ratio(f"batch{size}_{case}_5ms_wall_idemkit_over_ours", ratio(samples, "idemkit", "ours", "wall"))
            spread = Spread.of([one.wall * size * 1000 for one in samples["idemkit"]])
            report.figure(f"wall_ms_{case}_5ms", f"idemkit_{size}", spread.median)
