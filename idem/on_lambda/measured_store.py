"""The store, measured: how long the table took to answer, and which claims were won.

An observer hears how each delivery ended. What happened between is seen here, at the store's seam.
"""

from __future__ import annotations

from collections.abc import Sequence

from idem import Claim, Key, Record, Store
from idem.errors import IdemError
from idem.on_lambda.observer import Observer
from idem.record import Answer, Failure, Request, StoredResult, Succeeded
from idem.store import Complete, Recording
from idem.writes import Write


class MeasuredStore:
    """Every verb of `store`, told to `observer`; nothing is changed, and nothing is caught."""

    def __init__(self, store: Store, observer: Observer) -> None:
        self._store = store
        self._observer = observer

    def claim(self, wanted: Request) -> Answer:
        with self._observer.timed("ClaimTime"):
            answer = self._store.claim(wanted)
        self._observer.answered(answer)
        return answer

    def claim_many(self, wanted: Sequence[Request]) -> list[Answer | IdemError]:
        with self._observer.timed("ClaimTime"):
            answers = self._store.claim_many(wanted)
        for answer in answers:
            if not isinstance(answer, IdemError):
                self._observer.answered(answer)
        return answers

    def begin(self, claim: Claim) -> Claim:
        return self._store.begin(claim)

    def complete(self, claim: Claim, result: StoredResult, expires_at: int | None) -> None:
        self._observer.recording(result)
        with self._observer.timed("RecordTime"):
            self._store.complete(claim, result, expires_at)

    def fail(self, claim: Claim, failure: Failure, expires_at: int | None) -> None:
        with self._observer.timed("RecordTime"):
            self._store.fail(claim, failure, expires_at)

    def release(self, claim: Claim) -> None:
        with self._observer.timed("RecordTime"):
            self._store.release(claim)

    def get(self, key: Key) -> Record | None:
        return self._store.get(key)

    def commit(self, claim: Claim, result: StoredResult, expires_at: int | None, writes: Sequence[Write]) -> None:
        self._observer.recording(result)
        with self._observer.timed("RecordTime"):
            self._store.commit(claim, result, expires_at, writes)

    def guard(self, wanted: Request, result: StoredResult, writes: Sequence[Write]) -> Answer:
        """One request claims and records: it is a record's time, and a claim if it was ours."""
        with self._observer.timed("RecordTime"):
            answer = self._store.guard(wanted, result, writes)
        if isinstance(answer, Succeeded) and answer.record.claim_token == wanted.token:
            self._observer.recording(result)
            self._observer.claimed(answer.record.key, answer.record.attempt)
        else:
            self._observer.answered(answer)
        return answer

    def record_many(self, recordings: Sequence[Recording]) -> list[IdemError | None]:
        for recording in recordings:
            if isinstance(recording, Complete):
                self._observer.recording(recording.result)
        with self._observer.timed("RecordTime"):
            return self._store.record_many(recordings)
