"""A delivery on its way through a batch: one value for each stage, so that no stage can hold what belongs to another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from idem.delivery import Arrival, Delivery, NotStarted
from idem.errors import IdemError
from idem.flow import Unrecorded
from idem.record import Claim, Key, Refusal
from idem.store import TOGETHER_MAX

REPEATS_MS = 1_000  # what a throttled recording may take: it is not begun later than so long before its deadline


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A delivery whose work has not been claimed. index: its place in the batch. twin: that of the one before it with its key."""

    index: int
    delivery: Delivery
    key: Key
    request_hash: str | None
    twin: int | None

    @property
    def waiting(self) -> Waiting:
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class Met:
    """A delivery that asked for its key and did not get it: what stands in its way, or why nobody knows."""

    waiting: Waiting
    answer: Refusal | IdemError
    claim_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """A delivery that holds its key."""

    waiting: Waiting
    claim: Claim
    claim_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Worked:
    """A claimed delivery that has ended, and is to be recorded."""

    claimed: Claimed
    unrecorded: Unrecorded
    started: int
    ended: int

    @property
    def due_by(self) -> int:
        """While there is time for a recording to be repeated."""
        return self.claimed.claim.deadline - REPEATS_MS

    @property
    def ran(self) -> bool:
        return not isinstance(self.unrecorded.outcome, NotStarted)


Progress = Waiting | Met | Claimed


def chunks(waiting: Sequence[Waiting]) -> Iterator[list[Waiting]]:
    """The deliveries in order, cut so that a chunk claims at most TOGETHER_MAX keys. Twins without order are left out."""
    usual = [one for one in waiting if one.twin is None or one.delivery.group is not None]
    chunk: list[Waiting] = []
    keys: set[Key] = set()
    for one in usual:
        if len(keys) == TOGETHER_MAX or (one.twin is None and one.key in keys):
            yield chunk
            chunk, keys = [], set()
        chunk.append(one)
        if one.twin is None:
            keys.add(one.key)
    if chunk:
        yield chunk


def predecessors(arrivals: Sequence[Arrival]) -> list[int | None]:
    """For each arrival the one before it in its ordered group, None without one."""
    last: dict[str, int] = {}
    before: list[int | None] = []
    for index, arrival in enumerate(arrivals):
        before.append(None if arrival.group is None else last.get(arrival.group))
        if arrival.group is not None:
            last[arrival.group] = index
    return before
