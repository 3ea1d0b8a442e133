"""The store: the verbs over records, and the reference that keeps them in memory.

Every verb is one atomic step. A verb on a claim changes the record only while it carries the claim's token and is in
progress; otherwise it raises ClaimLost and changes nothing. A verb that repeats what the same claim already did succeeds:
its first answer was lost on the way. Every verb raises StoreUnavailable when it cannot know what happened.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, TypeVar

from idem.clock import Clock, SystemClock
from idem.errors import ClaimLost, IdemError, WriteRefused
from idem.guard import transaction
from idem.record import (
    Answer,
    Claim,
    Failure,
    Finished,
    Key,
    Record,
    Request,
    Result,
    Status,
    TakeOver,
    claimed_record,
    decide,
    first_claim,
)
from idem.writes import Write

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Complete:
    """in_progress -> succeeded."""

    claim: Claim
    result: Result
    expires_at: int | None


@dataclass(frozen=True, slots=True)
class Fail:
    """in_progress -> failed."""

    claim: Claim
    failure: Failure
    expires_at: int | None


@dataclass(frozen=True, slots=True)
class Release:
    """in_progress -> absent."""

    claim: Claim


Recording = Complete | Fail | Release


class Store(Protocol):
    def claim(self, wanted: Request) -> Answer:
        """Claim the key, or say why not."""
        ...

    def begin(self, claim: Claim) -> Claim:
        """Count the start of the work of a claim that was made with `starts_now=False`."""
        ...

    def complete(self, claim: Claim, result: Result, expires_at: int | None) -> None:
        """in_progress -> succeeded."""
        ...

    def fail(self, claim: Claim, failure: Failure, expires_at: int | None) -> None:
        """in_progress -> failed, with the claim's count of starts."""
        ...

    def release(self, claim: Claim) -> None:
        """in_progress -> absent. A record that is already absent is fine."""
        ...

    def read(self, key: Key) -> Record | None:
        """The record as it is now, strongly consistent; None if there is none. Expired records are returned."""
        ...

    def commit(self, claim: Claim, result: Result, expires_at: int | None, writes: Sequence[Write]) -> None:
        """in_progress -> succeeded together with the caller's writes. Raises WriteRefused if one of their conditions fails."""
        ...

    def guard(self, wanted: Request, result: Result, writes: Sequence[Write]) -> Answer:
        """absent -> succeeded together with the caller's writes, without a claim before.

        Finished with my own token in its record means that it happened now; any other answer means that nothing was written.
        Raises WriteRefused if a condition of the caller's own writes fails.
        """
        ...

    def claim_many(self, wanted: Sequence[Request]) -> list[Answer | IdemError]:
        """Claim different keys, each for itself: one answer, or the error that kept it from being known, for each."""
        ...

    def record_many(self, recordings: Sequence[Recording]) -> list[IdemError | None]:
        """Record the outcomes of different claims, each for itself: None, or what `complete`, `fail`, `release` raise."""
        ...


def claim_each(store: Store, wanted: Sequence[Request]) -> list[Answer | IdemError]:
    """`claim_many`, one after the other."""
    return [tried(partial(store.claim, one)) for one in wanted]


def record_each(store: Store, recordings: Sequence[Recording]) -> list[IdemError | None]:
    """`record_many`, one after the other."""
    return [tried(partial(record_one, store, one)) for one in recordings]


def record_one(store: Store, recording: Recording) -> None:
    """The single verb of a recording."""
    match recording:
        case Complete(claim, result, expires_at):
            store.complete(claim, result, expires_at)
        case Fail(claim, failure, expires_at):
            store.fail(claim, failure, expires_at)
        case Release(claim):
            store.release(claim)


def tried(verb: Callable[[], T]) -> T | IdemError:
    """What `verb` returns, or the error of ours that it raises."""
    try:
        return verb()
    except IdemError as error:
        return error


def succeeded(record: Record, result: Result, expires_at: int | None, now_ms: int) -> Record:
    """`record`, completed."""
    return replace(
        record,
        status=Status.SUCCEEDED,
        result=result,
        finished_at=now_ms // 1000,
        lease_until=None,
        expires_at=expires_at,
    )


def failed(record: Record, failure: Failure, expires_at: int | None, now_ms: int) -> Record:
    """`record`, failed."""
    return replace(
        record,
        status=Status.FAILED,
        failure=failure,
        finished_at=now_ms // 1000,
        lease_until=None,
        expires_at=expires_at,
    )


_RECORD_ACTION = {
    "Put": {"TableName": "", "Item": {}}
}  # stands for the record where only the caller's writes are checked


class MemoryStore:
    """A store in this process's memory: the readable reference, and what tests use.

    Conditions on the caller's own writes are not evaluated, because that takes a database: `refuse` stands in for them.
    It is asked for each write and returns True to refuse it. Writes that were committed are kept in `written`, in order.
    What no transaction can hold is refused here too.
    """

    def __init__(self, clock: Clock | None = None, refuse: Callable[[Write], bool] | None = None) -> None:
        self.records: dict[Key, Record] = {}
        self.written: list[Write] = []
        self._clock = clock or SystemClock()
        self._refuse = refuse or (lambda _write: False)
        self._lock = threading.Lock()

    def claim(self, wanted: Request) -> Answer:
        with self._lock:
            answer = self._decide(wanted)
            if isinstance(answer, Claim):
                self.records[wanted.key] = claimed_record(answer)
            return answer

    def begin(self, claim: Claim) -> Claim:
        with self._lock:
            record = self._held(claim)
            self.records[claim.key] = replace(record, starts=claim.starts + 1)
            return replace(claim, starts=claim.starts + 1)

    def complete(self, claim: Claim, result: Result, expires_at: int | None) -> None:
        self.commit(claim, result, expires_at, ())

    def fail(self, claim: Claim, failure: Failure, expires_at: int | None) -> None:
        with self._lock:
            if self._already(claim, Status.FAILED):
                return
            record = replace(self._held(claim), starts=claim.starts)
            self.records[claim.key] = failed(record, failure, expires_at, self._clock.now_ms())

    def release(self, claim: Claim) -> None:
        with self._lock:
            if claim.key in self.records:
                self._held(claim)
                del self.records[claim.key]

    def read(self, key: Key) -> Record | None:
        with self._lock:
            return self.records.get(key)

    def commit(self, claim: Claim, result: Result, expires_at: int | None, writes: Sequence[Write]) -> None:
        transaction(_RECORD_ACTION, writes)
        with self._lock:
            if self._already(claim, Status.SUCCEEDED):
                return
            record = succeeded(self._held(claim), result, expires_at, self._clock.now_ms())
            self._apply(record, writes)

    def guard(self, wanted: Request, result: Result, writes: Sequence[Write]) -> Answer:
        transaction(_RECORD_ACTION, writes)
        with self._lock:
            found = self.records.get(wanted.key)
            if found and found.claim_token == wanted.token and found.status is Status.SUCCEEDED:
                return Finished(found)
            answer = self._decide(wanted)
            if not isinstance(answer, Claim):
                return answer
            record = succeeded(claimed_record(answer), result, answer.expires_at, self._clock.now_ms())
            self._apply(record, writes)
            return Finished(record)

    def claim_many(self, wanted: Sequence[Request]) -> list[Answer | IdemError]:
        return claim_each(self, wanted)

    def record_many(self, recordings: Sequence[Recording]) -> list[IdemError | None]:
        return record_each(self, recordings)

    def _decide(self, wanted: Request) -> Answer:
        now_ms = self._clock.now_ms()
        found = self.records.get(wanted.key)
        if found is None:
            return first_claim(wanted, now_ms)
        answer = decide(found, wanted, now_ms)
        return answer.successor if isinstance(answer, TakeOver) else answer

    def _held(self, claim: Claim) -> Record:
        """The record that the claim still holds; raises ClaimLost."""
        record = self.records.get(claim.key)
        if record is None or record.claim_token != claim.token or record.status is not Status.IN_PROGRESS:
            raise ClaimLost(claim.key, record)
        return record

    def _already(self, claim: Claim, status: Status) -> bool:
        record = self.records.get(claim.key)
        return record is not None and record.claim_token == claim.token and record.status is status

    def _apply(self, record: Record, writes: Sequence[Write]) -> None:
        for index, write in enumerate(writes):
            if self._refuse(write):
                raise WriteRefused(record.key, index, None)
        self.records[record.key] = record
        self.written.extend(writes)
