"""Write the tables of `docs/performance.md` and its plot from `build/bench.json`.

.venv/bench/bin/python -m benchmarks.document
"""

from __future__ import annotations

import json
import re
from typing import Any

from benchmarks import plot
from benchmarks.plot import ROOT

PAGE = ROOT / "docs" / "performance.md"
Rows = dict[str, str]

TARGETS: Rows = {
    "single_new_cpu_vs_boto3": "new message: CPU over two bare boto3 calls",
    "duplicate_cpu_vs_boto3": "duplicate: CPU over one bare boto3 call",
    "batch10_new_5ms_wall_powertools_over_ours": "ten new messages, 5 ms: Powertools' wall time over ours",
    "batch10_new_5ms_wall_over_two_requests": "ten new messages, 5 ms: our wall time over two delays",
    "batch10_new_0ms_cpu_ours_over_powertools": "ten new messages, no delay: our CPU over Powertools'",
    "batch10_duplicate_5ms_wall_powertools_over_ours": "ten duplicates, 5 ms: Powertools' wall time over ours",
    "per_record_1000_over_10": "CPU of one record: in batches of 1,000 over batches of ten",
    "key_10kb_powertools_over_ours": "key of a whole 10 KB payload: Powertools' CPU over ours",
    "import_ours_over_powertools": "`import idem` over `import ...utilities.idempotency`",
    "cold_start_ours_over_powertools": "cold start of the orders handler: our CPU over Powertools'",
    "single_new_5ms_wall_idemkit_over_ours": "new message, 5 ms: idemkit's wall time over ours",
    "webhook_10kb_verify_ours_over_stripe": "10 KB webhook, signature alone: our CPU over stripe's",
    "webhook_10kb_read_ours_over_stripe": "10 KB webhook, from bytes to event: our CPU over stripe's",
    "webhook_import_ours_over_stripe": "importing what a webhook needs: ours over `import stripe`",
}
MORE: Rows = {
    "single_new_cpu_vs_boto3_same_client": "new message: CPU over the same two calls on our own client",
    "duplicate_cpu_vs_boto3_same_client": "duplicate: CPU over the same call on our own client",
    "single_new_decorator_cpu_vs_boto3": "new call of a decorated function: CPU over two bare calls",
    "duplicate_decorator_cpu_vs_boto3": "repeated call of a decorated function: CPU over one bare call",
    "single_new_powertools_cpu_vs_boto3": "Powertools, new message: CPU over two bare calls",
    "duplicate_powertools_cpu_vs_boto3": "Powertools, duplicate: CPU over one bare call",
    "single_new_idemkit_cpu_vs_boto3": "idemkit, new message: CPU over two bare calls",
    "duplicate_idemkit_cpu_vs_boto3": "idemkit, duplicate: CPU over one bare call",
    "in_flight_cpu_ours_over_powertools": "duplicate in flight: our CPU over Powertools'",
    "failing_cpu_ours_over_powertools": "failing message: our CPU over Powertools'",
    "guard_new_cpu_over_claim": "guard, new: CPU over claim and complete",
    "guard_duplicate_cpu_over_claim": "guard, duplicate: CPU over a refused claim",
    "commit_new_cpu_over_claim": "commit, new: CPU over claim and complete",
    "batch10_new_0ms_cpu_same_requests_over_powertools": "floor of ten new messages: the same two requests over Powertools",
    "batch10_new_5ms_wall_same_requests_over_two_requests": "floor of ten new messages: the same two requests over two delays",
    "batch10_new_0ms_cpu_ours_over_powertools_same_client": "ten new messages: our CPU over Powertools' on our client",
    "batch10_mixed_5ms_wall_powertools_over_ours": "ten messages, three of them duplicates: Powertools over ours",
    "batch10_duplicate_5ms_wall_powertools_over_ours_without_items": "ten duplicates, if a refused INSERT returns no item",
    "batch10_new_5ms_wall_threads_over_ours": "ten new messages: ten threads over two statements, wall time",
    "batch10_new_0ms_cpu_threads_over_ours": "ten new messages: ten threads over two statements, CPU",
    "batch100_new_5ms_wall_powertools_over_ours": "100 new messages, 5 ms: Powertools over ours",
    "batch100_duplicate_5ms_wall_powertools_over_ours": "100 duplicates, 5 ms: Powertools over ours",
    "batch1000_new_0ms_cpu_ours_over_powertools": "1,000 new messages, no delay: our CPU over Powertools'",
    "batch10_new_5ms_wall_idemkit_over_ours": "ten new messages, 5 ms: idemkit over ours",
    "batch100_new_5ms_wall_idemkit_over_ours": "100 new messages, 5 ms: idemkit over ours",
    "key_10kb_of_one_field_powertools_over_ours": "key of one field of 10 KB: Powertools' CPU over ours",
    "key_10kb_with_fractions_powertools_over_ours": "key of 10 KB with fractional numbers: Powertools' CPU over ours",
    "key_250kb_powertools_over_ours": "key of a whole 250 KB payload: Powertools' CPU over ours",
    "import_for_a_queue_ours_over_powertools": "importing what a queue's handler needs over Powertools' idempotency",
    "cold_start_asset_over_powertools": "cold start of the deployed asset: CPU over Powertools'",
    "cold_start_without_bytecode_asset_over_powertools": "the same without bytecode, as on Lambda",
    "cold_start_memory_ours_over_powertools": "cold start: peak memory over Powertools'",
    "growth_million_over_thousand_new_cpu": "new message: CPU at a million records over a thousand",
    "growth_million_over_thousand_duplicate_cpu": "duplicate: CPU at a million records over a thousand",
    "account_batch10_new_wall_powertools_over_ours": "MiniStack, ten new messages: Powertools over ours",
    "account_batch10_duplicate_wall_powertools_over_ours": "MiniStack, ten duplicates: Powertools over ours",
}


def main() -> None:
    """Fill what stands between the markers of the page, and draw the plot."""
    report = json.loads((ROOT / "build" / "bench.json").read_text())
    page = PAGE.read_text()
    for name, text in {
        "targets": _ratios(report["ratios"], TARGETS),
        "more": _ratios(report["ratios"], MORE),
        "traffic": _traffic(report["figures"]["traffic"]),
    }.items():
        between = re.compile(f"(<!-- {name}:begin -->\n).*?(<!-- {name}:end -->)", re.DOTALL)
        page, count = between.subn(lambda found, text=text: found[1] + text + found[2], page)  # type: ignore[misc]
        if count != 1:
            raise SystemExit(f"{PAGE.name} has no place for {name}")
    PAGE.write_text(page)
    plot.main()


def _ratios(ratios: dict[str, Any], rows: Rows) -> str:
    lines = ["| ratio | target | median | spread | |", "|---|---|---|---|---|"]
    for name, label in rows.items():
        one = ratios.get(name)
        if one is None:  # a part that the last run left out
            continue
        verdict = ("reached" if one["met"] else "**not reached**") if "target" in one else ""
        digits = 2 if one["median"] >= 0.1 else 3
        median, least, most = (f"{one[key]:.{digits}f}" for key in ("median", "min", "max"))
        lines.append(f"| {label} | {one.get('target', '')} | {median} | {least} to {most} | {verdict} |")
    return "\n".join(lines) + "\n"


def _traffic(traffic: dict[str, Any]) -> str:
    lines = ["| | requests | bytes out | bytes in | write units | read units |", "|---|---|---|---|---|---|"]
    for name, one in traffic.items():
        if not name.startswith("idem, guard, batch") and not name.endswith("in flight"):
            counts = [f"{one[key]:g}" for key in ("requests", "bytes_out", "bytes_in", "write_units", "read_units")]
            lines.append(f"| {name} | {' | '.join(counts)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
