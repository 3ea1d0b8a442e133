"""What a delivery sends: requests, bytes and DynamoDB capacity units, counted and not timed."""

from __future__ import annotations

from benchmarks.network import Network
from benchmarks.report import Report
from benchmarks.traffic_counts import count
from benchmarks.with_idem import Ours
from benchmarks.with_powertools import Powertools


def run(report: Report) -> None:
    report.progress("requests, bytes and capacity units for each delivery")
    count(report, "idem, claim", lambda: Ours(Network()))
    count(report, "idem, guard", lambda: Ours(Network(), mode="guard"))
    count(report, "idem, commit", lambda: Ours(Network(), mode="commit"))
    count(report, "powertools", lambda: Powertools(Network()))
