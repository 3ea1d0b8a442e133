"""The plot of `docs/performance.md`, from `build/bench.json`: `.venv/bench/bin/python -m benchmarks.plot`."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
OUTPUT = ROOT / "docs" / "performance.svg"
DELAY_MS = 5
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
    figure, axes = import_module("matplotlib.pyplot").subplots(1, len(CASES), figsize=(10, 4), sharey=True)
    for axis, (case, title) in zip(axes, CASES.items(), strict=True):
        _draw(axis, figures[f"wall_ms_{case}_5ms"], title)
    axes[0].set_ylabel(f"wall time, in delays of one request ({DELAY_MS} ms)")
    figure.suptitle("How long one SQS batch takes (both axes logarithmic; lower is better)", fontsize=10)
    figure.legend(*axes[0].get_legend_handles_labels(), fontsize=8, frameon=False, loc="lower center", ncols=len(LINES))
    figure.tight_layout(rect=(0, 0.06, 1, 1))
    OUTPUT.parent.mkdir(exist_ok=True)
    figure.savefig(OUTPUT, metadata={"Date": None})
    print(f"drawn to {OUTPUT.relative_to(ROOT)}")


def _draw(axis: Any, walls: dict[str, float], title: str) -> None:
    for name, (label, colour, marker) in LINES.items():
        sizes = sorted(int(key.rsplit("_", 1)[1]) for key in walls if key.rsplit("_", 1)[0] == name)
        axis.plot(
            sizes,
            [walls[f"{name}_{size}"] / DELAY_MS for size in sizes],
            marker=marker,
            color=colour,
            label=label,
            lw=1.5,
        )
    axis.set(title=title, xscale="log", yscale="log", xlabel="messages in the batch")
    axis.grid(visible=True, which="major", alpha=0.3)


if __name__ == "__main__":
    main()
