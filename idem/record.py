"""The record and its life.

A record is what the table remembers of one key. It moves like this, and no other way:

    (absent) --claim--> in_progress --complete--> succeeded
                        in_progress --fail------> failed
                        in_progress --release---> (absent)
    (absent) --guard----------------------------> succeeded
    in_progress, lease lapsed --take over-------> in_progress, attempt + 1
    failed, reclaimable -------take over--------> in_progress, attempt + 1
    ended, expired ------------take over--------> in_progress, attempt 1
    in_progress, expired ------take over--------> in_progress, attempt + 1

Each arrow is one conditional write. The claim's condition is that the key is absent; every arrow out of in_progress names
the token of the claim; a takeover names the exact version that was read. What a refused claim means is decided by `decide`,
and nowhere else.

Units: names ending in `_at` are epoch seconds (DynamoDB's TTL wants seconds), names ending in `_ms` or `_until` are
epoch milliseconds (Lambda's remaining time is in milliseconds).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Literal


class Status(StrEnum):
    IN_PROGRESS = "in_progress"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Key:
    """An operation and the identity of one piece of its work. Built by `idem.keys`, which validates and escapes."""

    operation: str
    identity: str

    def __str__(self) -> str:
        return f"{self.operation}#{self.identity}"


@dataclass(frozen=True, slots=True)
class StoredResult:
    """A result as it is stored: its JSON, only its identifier, or the reason why it was not kept."""

    kind: Literal["json", "id", "omitted"]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """The error of a failed attempt; `reclaimable` says whether a later delivery may try again."""

    type: str
    message: str
    reclaimable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """What a person decided about a key: the decision, who, when (epoch seconds), why, and about which attempt."""

    decision: str
    by: str
    at: int
    why: str
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What the table holds for a key. `starts` counts the attempts whose work was started: `starts_max` limits it.

    decided: the last decisions of operators about the key, the newest last. Every later attempt carries them on.
    unstarted: the attempt in progress has not counted its start, and every start before it has an end that is known.
    """

    key: Key
    status: Status
    claim_token: str
    attempt: int
    starts: int
    claimed_at: int
    finished_at: int | None = None
    lease_until: int | None = None
    expires_at: int | None = None
    request_hash: str | None = None
    result: StoredResult | None = None
    failure: Failure | None = None
    origin: Mapping[str, str] = field(default_factory=dict)
    decided: tuple[Decided, ...] = ()
    unstarted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a delivery asks of the store: this key, for this long, under these rules.

    token: fresh and random for this attempt to claim, drawn at call time (a snapshot-restored environment must not share it).
    lease_until: epoch ms after which others may take over. deadline: epoch ms until which the store may keep retrying.
    expires_at: epoch seconds of the record's own end, None for a permanent key; never before the lease's end.
    starts_max: how often the work may be started. hold_lapsed: whether a start whose end is not known is left to a person.
    With either of the two the start is counted by `Store.begin` when the work starts, otherwise by the claim.
    asked_at: epoch ms of the delivery, if it lies before the request, as with a plan that took long: a record that was alive then
    answers for it.
    skew_margin_ms: how far the clocks of two workers may differ; a lease or a life counts as over only after it.
    """

    key: Key
    token: str
    lease_until: int
    deadline: int
    expires_at: int | None
    request_hash: str | None = None
    origin: Mapping[str, str] = field(default_factory=dict)
    starts_max: int | None = None
    hold_lapsed: bool = False
    skew_margin_ms: int = 0
    asked_at: int | None = None

    @property
    def counts_starts(self) -> bool:
        """Whether the start of the work is counted by itself: it matters then whether the work has started."""
        return self.starts_max is not None or self.hold_lapsed


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A key won. The token is the fence: every later write on the record names it.

    `attempt` rises at every takeover: pass it on to a system that can compare fences, or the key as its idempotency key.
    """

    key: Key
    token: str
    attempt: int
    starts: int
    lease_until: int
    deadline: int
    expires_at: int | None
    claimed_at: int
    request_hash: str | None = None
    origin: Mapping[str, str] = field(default_factory=dict)
    decided: tuple[Decided, ...] = ()
    unstarted: bool = False


@dataclass(frozen=True, slots=True)
class Succeeded:
    """The work is done; `record` has its result."""

    record: Record


@dataclass(frozen=True, slots=True)
class Failed:
    """The work failed for good; `record` has the error."""

    record: Record


@dataclass(frozen=True, slots=True)
class Held:
    """Another attempt is at work; nobody may take over before `until` (epoch ms)."""

    record: Record
    until: int


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The key was used before with another request. The record stays as it is."""

    record: Record


@dataclass(frozen=True, slots=True)
class Abandoned:
    """An attempt was started and never ended, and by policy a person decides what happens next."""

    record: Record
    reason: str


@dataclass(frozen=True, slots=True)
class TakeOver:
    """Not an answer yet: the store may try to replace exactly the record that was found by `successor`."""

    found: Record
    successor: Claim


Refusal = Succeeded | Failed | Held | Mismatch | Abandoned
"""What stands in the way of a claim."""

Answer = Claim | Refusal
"""What the store says to a request for a key."""


def first_claim(wanted: Request, now_ms: int) -> Claim:
    """The claim that `wanted` gets on an absent (or expired) key."""
    return _claim(wanted, now_ms, attempt=1, starts=0, decided=())


def started(claim: Claim, wanted: Request) -> Claim:
    """`claim` with the start of its work counted, where the claim itself did not count it."""
    return begun(claim) if wanted.counts_starts else claim


def begun(claim: Claim) -> Claim:
    """`claim` whose work has begun, as its start is counted by itself."""
    return replace(claim, starts=claim.starts + 1, unstarted=False)


def claimed_record(claim: Claim) -> Record:
    """The record that says `claim` holds its key."""
    return Record(
        key=claim.key,
        status=Status.IN_PROGRESS,
        claim_token=claim.token,
        attempt=claim.attempt,
        starts=claim.starts,
        claimed_at=claim.claimed_at,
        lease_until=claim.lease_until,
        expires_at=claim.expires_at,
        request_hash=claim.request_hash,
        origin=claim.origin,
        decided=claim.decided,
        unstarted=claim.unstarted,
    )


def decide(found: Record, wanted: Request, now_ms: int) -> Answer | TakeOver:
    """What a refused claim means, from the record that refused it. Pure; the order of the questions is the contract.

    1. It carries my token: my first answer was lost and the request was repeated, so the claim is mine.
    2. It has expired (TTL deletes days late, so it is never waited for): take over, attempt 1, or one more where it was still
       in progress: whoever holds that claim must not share its number.
    3. It was made for another request: Mismatch, whatever its state.
    4. succeeded: Succeeded.
    5. failed: take over if reclaimable and starts are left, otherwise the stored failure.
    6. in progress: Held while the lease lives; afterwards take over, or Abandoned when its work was started and the policy holds
       such work, or when no starts are left.
    """
    if found.claim_token == wanted.token and found.status is Status.IN_PROGRESS:
        return _mine(found, wanted)
    asked_at = now_ms if wanted.asked_at is None else min(wanted.asked_at, now_ms)
    if is_expired(found, asked_at, wanted.skew_margin_ms):
        number = found.attempt + 1 if found.status is Status.IN_PROGRESS else 1
        return TakeOver(found, _claim(wanted, now_ms, attempt=number, starts=0, decided=found.decided))
    if differs(found.request_hash, wanted.request_hash):
        return Mismatch(found)
    starts_left = wanted.starts_max is None or found.starts < wanted.starts_max
    match found.status:
        case Status.SUCCEEDED:
            return Succeeded(found)
        case Status.FAILED:
            reclaimable = found.failure is not None and found.failure.reclaimable
            return _successor(found, wanted, now_ms) if reclaimable and starts_left else Failed(found)
        case Status.IN_PROGRESS:
            until = (found.lease_until or 0) + wanted.skew_margin_ms
            if now_ms < until:
                return Held(found, until)
            if wanted.hold_lapsed and found.starts > 0 and not found.unstarted:
                return Abandoned(
                    found, "its lease lapsed before an outcome was recorded, and the policy holds such work"
                )
            if not starts_left:
                return Abandoned(found, f"it was started {found.starts} times and never ended")
            return _successor(found, wanted, now_ms)


def _successor(found: Record, wanted: Request, now_ms: int) -> TakeOver:
    successor = _claim(wanted, now_ms, attempt=found.attempt + 1, starts=found.starts, decided=found.decided)
    if found.status is Status.IN_PROGRESS and found.starts > 0 and not found.unstarted:
        successor = replace(successor, unstarted=False)  # the end of a start before it is not known, and stays so
    return TakeOver(found, successor)


def is_expired(found: Record, now_ms: int, skew_margin_ms: int) -> bool:
    """Whether the record's life is over, whether or not DynamoDB's TTL has deleted it yet. A lease that lives keeps it alive."""
    if found.expires_at is None:
        return False
    lease_until = found.lease_until if found.status is Status.IN_PROGRESS and found.lease_until else 0
    return now_ms >= max(found.expires_at * 1000, lease_until) + skew_margin_ms


def differs(stored: str | None, wanted: str | None) -> bool:
    """Whether two request hashes say different requests. Hashes of different rule versions are not compared."""
    if stored is None or wanted is None:
        return False
    stored_version, _, stored_hash = stored.partition(":")
    wanted_version, _, wanted_hash = wanted.partition(":")
    return stored_version == wanted_version and stored_hash != wanted_hash


def _claim(wanted: Request, now_ms: int, *, attempt: int, starts: int, decided: tuple[Decided, ...]) -> Claim:
    return Claim(
        key=wanted.key,
        token=wanted.token,
        attempt=attempt,
        starts=starts if wanted.counts_starts else starts + 1,
        lease_until=wanted.lease_until,
        deadline=wanted.deadline,
        expires_at=wanted.expires_at,
        claimed_at=now_ms // 1000,
        request_hash=wanted.request_hash,
        origin=wanted.origin,
        decided=decided,
        unstarted=wanted.counts_starts,
    )


def _mine(found: Record, wanted: Request) -> Claim:
    """My own claim, read back from the table: what was written is what holds."""
    return Claim(
        key=found.key,
        token=found.claim_token,
        attempt=found.attempt,
        starts=found.starts,
        lease_until=found.lease_until or wanted.lease_until,
        deadline=wanted.deadline,
        expires_at=found.expires_at,
        claimed_at=found.claimed_at,
        request_hash=found.request_hash,
        origin=found.origin,
        decided=found.decided,
        unstarted=found.unstarted,
    )
