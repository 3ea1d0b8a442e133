"""Run every comparison, each in a fresh process, and write `build/bench.json` and a table.

    python -m benchmarks [part ...]

A part that is named on the command line runs alone; its result is merged into the file that is there.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.machine import about, noise
from benchmarks.report import Report, table

ROOT = Path(__file__).resolve().parent.parent
OUTPUT = ROOT / "build" / "bench.json"
PARTS = {
    "messages": "bench",
    "batches": "bench",
    "beside_idemkit": "idemkit",
    "keying": "bench",
    "webhooks": ".",  # Stripe's library is there, beside what the tests check against
    "starting": "bench",
    "traffic": "bench",
    "growing": "bench",
    "whole_path": "bench",
}
"""Part -> the environment below `.venv` that it runs in."""


def main() -> None:
    """Run the parts, or, in a part's own process, that part."""
    if sys.argv[1:2] == ["--part"]:
        _run_part(sys.argv[2], Path(sys.argv[3]))
        return
    wanted = sys.argv[1:] or list(PARTS)
    if unknown := [part for part in wanted if part not in PARTS]:
        raise SystemExit(f"unknown: {', '.join(unknown)}; the parts are {', '.join(PARTS)}")
    report, started = Report(), time.monotonic()
    if sys.argv[1:] and OUTPUT.exists():
        report.merge(json.loads(OUTPUT.read_text()))
    for number, part in enumerate(wanted, start=1):
        print(f"[{number}/{len(wanted)}] {part}", file=sys.stderr, flush=True)
        report.merge(_in_its_own_process(part))
        found = report.to_json() | {"about": about() | {"seconds": round(time.monotonic() - started)}}
        OUTPUT.parent.mkdir(exist_ok=True)
        OUTPUT.write_text(json.dumps(found, indent=1) + "\n")
    print(table(found))
    print(f"\nwritten to {OUTPUT.relative_to(ROOT)}; how quiet the machine was: figures.noise in it")


def _in_its_own_process(part: str) -> dict[str, Any]:
    """What a part found. Ends the run if it failed: its own words are on the terminal then."""
    python = ROOT / ".venv" / PARTS[part] / "bin" / "python"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "part.json"
        command = [str(python), "-m", "benchmarks", "--part", part, str(file)]
        if subprocess.run(command, cwd=ROOT, check=False).returncode:  # noqa: S603 - our own interpreter and module
            raise SystemExit(f"{part} failed: see above")
        found: dict[str, Any] = json.loads(file.read_text())
        return found


def _run_part(part: str, file: Path) -> None:
    import_module("benchmarks.events").isolate()
    report, before = Report(), noise()
    import_module(f"benchmarks.{part}").run(report)
    report.figure("noise", part, {"before": before, "after": noise()})
    report.save(file)


if __name__ == "__main__":
    main()
