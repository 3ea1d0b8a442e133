"""How messages of a queue end, for tests of what is answered then."""

from __future__ import annotations

from collections.abc import Sequence

from idem.delivery import Arrival, Busy, Delivery, Ending, NotStarted, Outcome, Rejected, Retry, Unavailable
from idem.errors import MalformedDelivery, StoreUnavailable
from tests.idem.builders import NOW

TROUBLE = ValueError("made up")
UNDONE: dict[str, Outcome] = {
    "busy": Busy(NOW + 30_000),
    "retry": Retry(TROUBLE),
    "rejected": Rejected(TROUBLE, recorded=True),
    "malformed": Rejected(MalformedDelivery("made up"), recorded=False),
    "unavailable": Unavailable(StoreUnavailable("claim", "X", "made up"), ran=False),
    "not started": NotStarted("no time"),
}


def ended(arrivals: Sequence[Arrival], *outcomes: Outcome) -> list[Ending]:
    return [
        Ending(operation="o", arrival=arrival, outcome=outcome, key=None, started=NOW, ended=NOW)
        for arrival, outcome in zip(arrivals, outcomes, strict=True)
    ]


def arrival(number: int = 1, *, group: str | None = None, receive_count: int = 1) -> Delivery:
    return Delivery(id=f"m-{number}", payload=None, handle=f"h-{number}", group=group, receive_count=receive_count)
