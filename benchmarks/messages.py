"""Single messages: new, duplicate, in flight and failing; with and without a decorator; guard and commit."""

from __future__ import annotations

from benchmarks.contender import Contender
from benchmarks.events import PRODUCT
from benchmarks.message_cases import CASES, calls, singles
from benchmarks.network import Network
from benchmarks.report import Report
from benchmarks.timing import Prepare, compare, ratio
from benchmarks.with_boto3 import Bare
from benchmarks.with_idem import Ours
from benchmarks.with_powertools import Powertools

CPU_ROUNDS, CPU_NUMBER = 60, 10
WALL_ROUNDS, WALL_NUMBER = 11, 4
DELAYS_MS = (2, 5)


def run(report: Report) -> None:
    """Ratios of CPU at no delay, and of wall time at 2 and 5 ms."""
    for case in CASES:
        report.progress(f"single messages: {case.replace('_', ' ')}")
        _cpu(report, case)
    report.progress("single messages: wall time at 2 and 5 ms for each request")
    for delay in DELAYS_MS:
        for case in CASES:
            _wall(report, case, delay)
    report.progress("guard and commit")
    _modes(report)


def _cpu(report: Report, case: str) -> None:
    ours, powertools = Ours(Network()), Powertools(Network())
    tuned = Powertools(Network(), config=PRODUCT)
    bare, bare_same = Bare(Network()), Bare(Network(), config=PRODUCT)
    number = CPU_NUMBER
    contenders: dict[str, Prepare] = {
        "ours": singles(ours, case, number),
        "powertools": singles(powertools, case, number),
        "powertools_same_client": singles(tuned, case, number),
    }
    if case in {"new", "duplicate"}:
        contenders |= {
            "boto3": calls(bare.call, bare.network.reset, case, number),
            "boto3_same_client": calls(bare_same.call, bare_same.network.reset, case, number),
            "decorator": calls(ours.call, ours.network.reset, case, number),
            "powertools_decorator": calls(powertools.call, powertools.network.reset, case, number),
        }
    samples = compare(contenders, rounds=CPU_ROUNDS, units=number)
    name = {"new": "single_new", "duplicate": "duplicate"}.get(case, case)
    report.ratio(f"{name}_cpu_ours_over_powertools", ratio(samples, "ours", "powertools", "cpu"))
    report.ratio(
        f"{name}_cpu_ours_over_powertools_same_client", ratio(samples, "ours", "powertools_same_client", "cpu")
    )
    if "boto3" in samples:
        report.ratio(f"{name}_cpu_vs_boto3", ratio(samples, "ours", "boto3", "cpu"))
        report.ratio(f"{name}_cpu_vs_boto3_same_client", ratio(samples, "ours", "boto3_same_client", "cpu"))
        report.ratio(f"{name}_decorator_cpu_vs_boto3", ratio(samples, "decorator", "boto3", "cpu"))
        report.ratio(f"{name}_powertools_cpu_vs_boto3", ratio(samples, "powertools", "boto3", "cpu"))
        report.ratio(
            f"{name}_decorator_cpu_ours_over_powertools", ratio(samples, "decorator", "powertools_decorator", "cpu")
        )


def _wall(report: Report, case: str, delay: int) -> None:
    contenders: list[Contender] = [Ours(Network()), Powertools(Network())]
    for one in contenders:
        one.network.delay_ms = delay
    samples = compare(
        {type(one).__name__: singles(one, case, WALL_NUMBER) for one in contenders},
        rounds=WALL_ROUNDS,
        units=WALL_NUMBER,
    )
    name = {"new": "single_new", "duplicate": "duplicate"}.get(case, case)
    report.ratio(f"{name}_{delay}ms_wall_powertools_over_ours", ratio(samples, "Powertools", "Ours", "wall"))


def _modes(report: Report) -> None:
    """Guard is one transaction; commit is a claim and one transaction. Both against claim and complete."""
    modes = {mode: Ours(Network(), mode=mode) for mode in ("claim", "guard", "commit")}
    for case in ("new", "duplicate"):
        samples = compare(
            {mode: singles(one, case, CPU_NUMBER) for mode, one in modes.items()},
            rounds=CPU_ROUNDS // 2,
            units=CPU_NUMBER,
        )
        for mode in ("guard", "commit"):
            report.ratio(f"{mode}_{case}_cpu_over_claim", ratio(samples, mode, "claim", "cpu"))
