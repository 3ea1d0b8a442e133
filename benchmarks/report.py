"""What a run found: ratios with their spread, figures, and what the machine was like. Written as JSON, printed as a table."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

from benchmarks.timing import Spread


@dataclass(frozen=True, slots=True)
class Target:
    """What a ratio should be: at most, or at least."""

    bound: float
    at_most: bool

    def met(self, value: float) -> bool:
        return value <= self.bound if self.at_most else value >= self.bound

    def __str__(self) -> str:
        return f"{'<=' if self.at_most else '>='} {self.bound:g}"


TARGETS = {
    "single_new_cpu_vs_boto3": Target(1.10, at_most=True),
    "duplicate_cpu_vs_boto3": Target(1.10, at_most=True),
    "batch10_new_5ms_wall_powertools_over_ours": Target(8, at_most=False),
    "batch10_new_0ms_cpu_ours_over_powertools": Target(0.25, at_most=True),
    "batch10_duplicate_5ms_wall_powertools_over_ours": Target(5, at_most=False),
    "batch10_new_5ms_wall_over_two_requests": Target(1.4, at_most=True),
    "per_record_1000_over_10": Target(1.0, at_most=True),
    "key_10kb_powertools_over_ours": Target(2, at_most=False),
    "webhook_10kb_verify_ours_over_stripe": Target(1.0, at_most=True),
    "webhook_10kb_read_ours_over_stripe": Target(1.0, at_most=True),
    "webhook_import_ours_over_stripe": Target(0.5, at_most=True),
    "import_ours_over_powertools": Target(0.15, at_most=True),
    "cold_start_ours_over_powertools": Target(0.75, at_most=True),
    "single_new_5ms_wall_idemkit_over_ours": Target(1.0, at_most=False),
}


@dataclass(slots=True)
class Report:
    """`ratios` by name; `figures` by group and name. `progress` is shown while the run goes on."""

    ratios: dict[str, Spread] = field(default_factory=dict)
    figures: dict[str, dict[str, Any]] = field(default_factory=dict)
    started: float = field(default_factory=time.monotonic)

    def ratio(self, name: str, spread: Spread) -> None:
        self.ratios[name] = spread

    def figure(self, group: str, name: str, value: Any) -> None:
        self.figures.setdefault(group, {})[name] = value

    def progress(self, what: str) -> None:
        print(f"  {time.monotonic() - self.started:5.0f} s  {what}", file=sys.stderr, flush=True)

    def to_json(self) -> dict[str, Any]:
        ratios = {
            name: asdict(spread)
            | ({"target": str(target), "met": target.met(spread.median)} if (target := TARGETS.get(name)) else {})
            for name, spread in self.ratios.items()
        }
        return {"ratios": ratios, "figures": self.figures}

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(self.to_json()))

    def merge(self, found: Mapping[str, Any]) -> Self:
        """Take over what another process found."""
        for name, one in found["ratios"].items():
            self.ratio(name, Spread(one["median"], one["min"], one["max"]))
        for group, figures in found["figures"].items():
            for name, value in figures.items():
                self.figure(group, name, value)
        return self


def table(report: Mapping[str, Any]) -> str:
    """The ratios as a readable table, those with a target first."""
    lines = [f"{'ratio':58} {'median':>8} {'smallest':>9} {'largest':>8}  target", "-" * 100]
    ratios = sorted(report["ratios"].items(), key=lambda one: "target" not in one[1])
    for name, one in ratios:
        verdict = f"{one['target']}  {'met' if one['met'] else 'NOT MET'}" if "target" in one else ""
        lines.append(f"{name:58} {one['median']:8.3f} {one['min']:9.3f} {one['max']:8.3f}  {verdict}".rstrip())
    return "\n".join(lines)
