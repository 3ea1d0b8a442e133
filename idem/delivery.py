"""What goes in and what comes out: a source turns an event into deliveries, and their outcomes into Lambda's answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from idem.errors import ClaimLost, IdemError, UnsettledWork
from idem.record import Claim, Decided, Key

# For isinstance(): what comes most often stands first, because it is told by its type alone.
MAPPINGS, SEQUENCES = (dict, Mapping), (tuple, list, Sequence)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One arrival of one message.

    id: of the message or request. event_id: of the event in it, given by its producer. deduplication_id: of a FIFO message.
    scope: the account or endpoint that event ids are unique in. payload: the parsed content. body: the raw content.
    headers: HTTP headers or message attributes, names in lower case. group: deliveries of one group are worked on in order.
    receive_count: which arrival this is, as far as the source knows. handle, raw: what the source needs to answer it.
    """

    id: str
    payload: Any
    body: bytes = b""
    event_id: str | None = None
    deduplication_id: str | None = None
    scope: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    group: str | None = None
    handle: str | None = None
    raw: Mapping[str, Any] | None = None
    receive_count: int = 1
    origin: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """A delivery that could not be read. It still has to be answered, so it keeps what the source needs for that."""

    id: str
    error: IdemError
    group: str | None = None
    handle: str | None = None
    raw: Mapping[str, Any] | None = None
    receive_count: int = 1


Arrival = Delivery | Unreadable


@dataclass(frozen=True, slots=True)
class Done:
    """The work is done and recorded; `result` is the same for the first run and for every replay."""

    result: Any
    replayed: bool
    attempt: int


@dataclass(frozen=True, slots=True)
class Busy:
    """Another attempt holds the key until `until` (epoch ms)."""

    until: int


@dataclass(frozen=True, slots=True)
class Retry:
    """The work failed; a later delivery runs it again."""

    error: Exception


@dataclass(frozen=True, slots=True)
class Overtaken:
    """The attempt lost its claim to another one while it worked; a later delivery gets that one's outcome."""

    error: ClaimLost


@dataclass(frozen=True, slots=True)
class Unsettled:
    """An attempt was started and never ended. No delivery runs the work: a person decides."""

    error: UnsettledWork


@dataclass(frozen=True, slots=True)
class Rejected:
    """The delivery cannot succeed. `recorded`: the table knows, so later deliveries do not run the work."""

    error: Exception
    recorded: bool


@dataclass(frozen=True, slots=True)
class Unavailable:
    """The table gave no answer. `ran`: the work had run when it happened, so its outcome is unrecorded."""

    error: IdemError
    ran: bool


@dataclass(frozen=True, slots=True)
class NotStarted:
    """Nothing was done, to keep the order of a group or because the time was too short."""

    reason: str


Outcome = Done | Busy | Retry | Overtaken | Unsettled | Rejected | Unavailable | NotStarted


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How one arrival ended: what a source answers and what an observer counts.

    started, ended: epoch ms, of the work where it ran. attempt: which attempt made the outcome, or stands in the way of another;
    None if the table was not asked or gave no answer. starts: how often the work was started until then, for a claim that was won.
    claim_ms, record_ms: how long the table took to answer the claim and the recording; a batch's travel together and share their
    time. not_kept: why the result of a first run is not in its record. decided: what a person decided last about the key, for a
    claim that was won.
    """

    operation: str
    arrival: Arrival
    outcome: Outcome
    key: Key | None
    started: int
    ended: int
    attempt: int | None = None
    starts: int | None = None
    claim_ms: int | None = None
    record_ms: int | None = None
    not_kept: str | None = None
    decided: Decided | None = None


Work = Callable[[Delivery, Claim], Any]
"""What a consumer runs once for each key: it gets the delivery and the claim, and returns the result or a Commit."""

Plan = Callable[[Delivery], Any]
"""What a consumer asks instead, where the work is only writes: it returns the Commit."""


class Source(Protocol):
    """One kind of event."""

    def read(self, event: Any, now_ms: int) -> Sequence[Arrival]:
        """The deliveries of an event. Raises WrongEvent if it is not one of this source's kind."""
        ...

    def reply(self, endings: Sequence[Ending], now_ms: int) -> Any:
        """Lambda's answer, from one ending for each arrival, in the order that `read` gave."""
        ...
