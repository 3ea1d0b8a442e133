"""The store in this process's memory: the readable reference, and what tests use."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace

from idem.clock import Clock, SystemClock
from idem.dynamo.transactions import transaction
from idem.errors import ClaimLost, IdemError, WriteRefused
from idem.record import (
    Answer,
    Claim,
    Failure,
    Key,
    Record,
    Request,
    Status,
    StoredResult,
    Succeeded,
    TakeOver,
    begun,
    claimed_record,
    decide,
    first_claim,
    started,
)
from idem.store import Finish, claim_each, failed, finish_each, succeeded
from idem.writes import Write

_RECORD_ACTION = {
    "Put": {"TableName": "", "Item": {}}
}  # stands for the record where only the caller's writes are checked


class MemoryStore:
    """A store in this process's memory.

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
            counted = begun(claim)
            self.records[claim.key] = replace(record, starts=counted.starts, unstarted=False)
            return counted

    def complete(
        self, claim: Claim, result: StoredResult, expires_at: int | None, writes: Sequence[Write] | None = None
    ) -> None:
        if writes is not None:
            transaction(_RECORD_ACTION, writes)
        with self._lock:
            if self._already(claim, Status.SUCCEEDED):
                return
            record = succeeded(self._held(claim), result, expires_at, self._clock.now_ms())
            self._apply(record, writes or ())

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

    def get(self, key: Key) -> Record | None:
        with self._lock:
            return self.records.get(key)

    def guard(self, wanted: Request, result: StoredResult, writes: Sequence[Write]) -> Answer:
        transaction(_RECORD_ACTION, writes)
        with self._lock:
            found = self.records.get(wanted.key)
            if found and found.claim_token == wanted.token and found.status is Status.SUCCEEDED:
                return Succeeded(found)
            answer = self._decide(wanted)
            if not isinstance(answer, Claim):
                return answer
            record = succeeded(claimed_record(started(answer, wanted)), result, answer.expires_at, self._clock.now_ms())
            self._apply(record, writes)
            return Succeeded(record)

    def claim_many(self, wanted: Sequence[Request]) -> list[Answer | IdemError]:
        return claim_each(self, wanted)

    def finish_many(self, finishes: Sequence[Finish]) -> list[IdemError | None]:
        return finish_each(self, finishes)

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
