"""One piece of work, from its key to its outcome: claim, then the work, then record. Used by consumers and by functions.

The caller runs the work between `claim` and `record`/`record_error`, so that it can be called, awaited or scheduled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from idem import results
from idem.clock import Clock, SystemClock, backoff_ms, new_token
from idem.delivery import Busy, Done, Outcome, Rejected, Retry, Unavailable
from idem.errors import (
    ClaimLost,
    CorruptRecord,
    IdemError,
    RequestMismatch,
    StoredFailure,
    StoreUnavailable,
    TransactionRefused,
    UnsettledWork,
)
from idem.policy import Kind, Lapsed, Policy
from idem.record import (
    Answer,
    Claim,
    Failed,
    Failure,
    Finished,
    Held,
    Key,
    Mismatch,
    Request,
    TakeOver,
    Unsettled,
    decide,
)
from idem.store import Store
from idem.writes import Commit

MESSAGE_CHARS_MAX = 500  # of a stored error: enough to recognise it, small enough for a refused claim
WAIT_BASE_MS = 50  # the first pause while waiting for an attempt in flight
WAIT_CAP_MS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """The steps around one piece of work. Holds no state between calls, so that one flow serves many threads."""

    operation: str
    store: Store
    policy: Policy
    clock: Clock = field(default_factory=SystemClock)
    token: Callable[[], str] = new_token

    def request(
        self, key: Key, *, ends_at: int | None, request_hash: str | None = None, origin: Mapping[str, str] | None = None
    ) -> Request:
        """A request for `key` by an attempt that ends at `ends_at` (epoch ms), or after the policy's lease if that is None."""
        now_ms = self.clock.now_ms()
        deadline = ends_at if ends_at is not None else now_ms + _ms(self.policy.lease)
        lease_until = deadline + _ms(self.policy.lease_margin)
        expires_at = self._expires_at()
        return Request(
            key=key,
            token=self.token(),
            lease_until=lease_until if expires_at is None else min(lease_until, expires_at * 1000),
            deadline=deadline,
            expires_at=expires_at,
            request_hash=request_hash,
            origin=origin or {},
            attempts_max=self.policy.attempts_max,
            hold_lapsed=self.policy.lapsed is Lapsed.HOLD,
            skew_margin_ms=_ms(self.policy.skew_margin),
        )

    def claim(
        self, key: Key, *, ends_at: int | None, request_hash: str | None = None, origin: Mapping[str, str] | None = None
    ) -> Answer:
        """Claim `key`; where the policy says so, wait for an attempt in flight. Raises StoreUnavailable, CorruptRecord."""

        def ask() -> Request:
            return self.request(key, ends_at=ends_at, request_hash=request_hash, origin=origin)

        wanted = ask()
        answer = self.store.claim(wanted)
        until = min(self.clock.now_ms() + _ms(self.policy.wait), wanted.deadline)
        tries = 0
        while isinstance(answer, Held) and (left := until - self.clock.now_ms()) > 0:
            pause = backoff_ms(tries, base_ms=WAIT_BASE_MS, cap_ms=WAIT_CAP_MS, jitter=self.clock.jitter())
            self.clock.sleep_ms(min(pause, left))
            tries += 1
            answer = self._look_again(ask())
        return answer

    def _look_again(self, wanted: Request) -> Answer:
        """A read is cheaper than a refused claim, so claim only when there is something to win."""
        found = self.store.read(wanted.key)
        answer = decide(found, wanted, self.clock.now_ms()) if found else None
        return self.store.claim(wanted) if answer is None or isinstance(answer, TakeOver) else answer

    def record(self, claim: Claim, value: Any) -> Outcome:
        """Record what the work returned. Whatever goes wrong here, the work has run: nothing is raised."""
        commit = value if isinstance(value, Commit) else None
        stored, returned = results.store(commit.result if commit else value, self.policy.result_bytes_max)
        try:
            if commit:
                self.store.commit(claim, stored, self._expires_at(), commit.writes)
            else:
                self.store.complete(claim, stored, self._expires_at())
        except ClaimLost as error:
            return Retry(error)
        except TransactionRefused as error:
            return self.record_error(claim, error)
        except (StoreUnavailable, CorruptRecord) as error:
            return Unavailable(error, ran=True)
        return Done(returned, replayed=False, attempt=claim.attempt)

    def record_error(self, claim: Claim, error: Exception) -> Outcome:
        """Record that the work failed. A failure to record never hides the work's own error: it is added as a note to it."""
        kind = self._kind_of(error)
        try:
            if kind is Kind.FORGET:
                self.store.release(claim)
                return Retry(error)
            self.store.fail(claim, failure_of(error, reclaimable=kind is Kind.TRANSIENT), self._expires_at())
        except IdemError as unrecorded:
            error.add_note(f"its record was not written: {unrecorded}")
            return Retry(error)
        limit = self.policy.attempts_max
        final = kind is Kind.PERMANENT or (limit is not None and claim.starts >= limit)
        return Rejected(error, recorded=True) if final else Retry(error)

    def _kind_of(self, error: Exception) -> Kind:
        try:
            return self.policy.kind_of(error)
        except Exception as fault:  # noqa: BLE001 - the user's own classify(); its error must not hide the work's
            error.add_note(f"classifying it failed: {fault!r}")
            return self.policy.otherwise

    def _expires_at(self) -> int | None:
        """The end of a record written now, in epoch seconds, rounded up."""
        if self.policy.retention is None:
            return None
        return -(-(self.clock.now_ms() + _ms(self.policy.retention)) // 1000)


def refusal(answer: Finished | Failed | Held | Mismatch | Unsettled) -> Outcome:
    """The outcome of a delivery whose key was not won."""
    match answer:
        case Finished(record):
            return Done(results.replay(record.result), replayed=True, attempt=record.attempt)
        case Failed(record):
            return Rejected(StoredFailure(record), recorded=True)
        case Held(_, until):
            return Busy(until)
        case Mismatch(record):
            return Rejected(RequestMismatch(record), recorded=True)
        case Unsettled(record, reason):
            return Retry(UnsettledWork(record, reason))


def failure_of(error: Exception, *, reclaimable: bool) -> Failure:
    """What is stored of an error: its type's name and a bounded message."""
    try:
        message = str(error)
    except Exception as fault:  # noqa: BLE001 - an error type of the user's whose __str__ raises
        message = f"(its message could not be read: {type(fault).__name__})"
    writable = message.encode("utf-8", "replace").decode("utf-8")
    return Failure(
        type=type(error).__qualname__,
        message=writable if len(writable) <= MESSAGE_CHARS_MAX else writable[: MESSAGE_CHARS_MAX - 1] + "…",
        reclaimable=reclaimable,
    )


def _ms(duration: Any) -> int:
    return int(duration.total_seconds() * 1000)
