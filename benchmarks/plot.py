"""The plot of `docs/performance.md`, from `build/bench.json`: `.venv/bench/bin/python -m benchmarks.plot`."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
OUTPUT = ROOT / "docs" / "performance.svg"
CASES = {"new": "new messages", "mixed": "30% duplicates", "duplicate": "duplicates"}
LINES = {
    "powertools": ("Powertools idempotency + batch", "#c44e52", "s"),
    "idemkit": ("idemkit, one message after the other", "#dd8452", "^"),
    "threads": ("idem, single requests on ten threads", "#8c8c8c", "d"),
    "ours": ("idem", "#1f5aa6", "o"),
}


def main() -> None:
    """Draw the wall time of a batch against its size, for each share of duplicates."""
    figures = json.loads((ROOT / "build" / "bench.json").read_text())["figures"]
    matplotlib: Any = import_module("matplotlib")
    matplotlib.use("svg")
    matplotlib.rcParams |= {"svg.hashsalt": "idem", "svg.fonttype": "path", "font.size": 9}
    figure, axes = import_module("matplotlib.pyplot").subplots(1, len(CASES), figsize=(10, 3.6), sharey=True)
    for axis, (case, title) in zip(axes, CASES.items(), strict=True):
        _draw(axis, figures[f"wall_ms_{case}_5ms"], title)
    axes[0].set_ylabel("wall time of the batch, ms")
    axes[0].legend(fontsize=7, frameon=False, loc="upper left")
    figure.suptitle("One SQS batch at 5 ms for each request (logarithmic)", fontsize=10)
    figure.tight_layout()
    OUTPUT.parent.mkdir(exist_ok=True)
    figure.savefig(OUTPUT, metadata={"Date": None})
    print(f"drawn to {OUTPUT.relative_to(ROOT)}")


def _draw(axis: Any, walls: dict[str, float], title: str) -> None:
    for name, (label, colour, marker) in LINES.items():
        sizes = sorted(int(key.rsplit("_", 1)[1]) for key in walls if key.rsplit("_", 1)[0] == name)
        axis.plot(sizes, [walls[f"{name}_{size}"] for size in sizes], marker=marker, color=colour, label=label, lw=1.5)
    axis.set(title=title, xscale="log", yscale="log", xlabel="messages in the batch")
    axis.grid(visible=True, which="major", alpha=0.3)


if __name__ == "__main__":
    main()
