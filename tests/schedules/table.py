"""The table for the README: what can still happen twice, and which mode closes it, from what the schedules showed."""

from __future__ import annotations

from collections.abc import Mapping

from idem.policy import SKEW_MARGIN
from tests.schedules.checks import Tally
from tests.schedules.mode import Cause
from tests.schedules.modes import MODES

COLUMNS = ("complete", "hold", "commit", "guard")
ALIKE = {"one-start": "hold"}  # modes whose column would be that of another one, which names both
ROWS = (
    Cause.DIED_AFTER,
    Cause.UNRECORDED,
    Cause.STALLED,
    Cause.UNKNOWN,
    Cause.DIED_BEFORE,
    Cause.NOT_STARTED,
    Cause.COUNTED,
)
ANYTHING_ELSE = (
    "anything else: races, lost answers, conflicts, throttles, late requests,"
    f" clocks apart by no more than `skew_margin` ({SKEW_MARGIN.total_seconds():.0f} s unless the policy says otherwise)"
)
BEGIN, END = "<!-- reruns:begin -->", "<!-- reruns:end -->"


def table(tallies: Mapping[str, Tally]) -> str:
    """The Markdown between the README's markers. It depends on what was seen, not on how often."""
    lines = [
        "| what happens | " + " | ".join(MODES[name].title for name in COLUMNS) + " |",
        "|---" * (1 + len(COLUMNS)) + "|",
        *(f"| {row} | " + " | ".join(cell(row, name, tallies[name]) for name in COLUMNS) + " |" for row in ROWS),
        f"| {ANYTHING_ELSE} | " + " | ".join(["once"] * len(COLUMNS)) + " |",
    ]
    return "\n".join(lines)


def cell(cause: Cause, name: str, tally: Tally) -> str:
    if cause is Cause.COUNTED and not MODES[name].counts_starts:
        return "-"
    if tally.effects[cause]:
        return "**effect made again**"
    if tally.held[cause]:
        return "unsettled: a person decides"
    if tally.rejected[cause]:
        return "stored as failed: a person decides"
    if tally.starts[cause]:
        return "work runs again, written once" if MODES[name].writes else "work runs again, effect once"
    return "once"


def block(readme: str) -> str | None:
    """What stands between the markers of a README; None without markers."""
    _, begin, rest = readme.partition(BEGIN)
    found, end, _ = rest.partition(END)
    return found.strip() if begin and end else None
