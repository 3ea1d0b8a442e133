"""The store: the verbs over records.

Every verb is one atomic step. A verb on a claim changes the record only while it carries the claim's token and is in
progress; otherwise it raises ClaimLost and changes nothing. A verb that repeats what the same claim already did succeeds:
its first answer was lost on the way. Every verb raises StoreUnavailable when it cannot know what happened.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, TypeVar

from idem.errors import IdemError, StoreUnavailable
from idem.record import Answer, Claim, Failure, Key, Record, Request, Status, StoredResult
from idem.text import message_of
from idem.writes import Write

T = TypeVar("T")

TOGETHER_MAX = 25  # claims or finishes that travel in one call: the most statements that DynamoDB takes in one request


@dataclass(frozen=True, slots=True)
class Complete:
    """in_progress -> succeeded; with `writes` in one transaction with them, None for none."""

    claim: Claim
    result: StoredResult
    expires_at: int | None
    writes: Sequence[Write] | None = None


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


Finish = Complete | Fail | Release
"""The ways out of `in_progress`."""


class Store(Protocol):
    def claim(self, wanted: Request) -> Answer:
        """Claim the key, or say why not."""
        ...

    def begin(self, claim: Claim) -> Claim:
        """Count the start of a claim's work: for requests with a limit on starts."""
        ...

    def complete(
        self, claim: Claim, result: StoredResult, expires_at: int | None, writes: Sequence[Write] | None = None
    ) -> None:
        """in_progress -> succeeded; with `writes` in one transaction with them.

        Raises WriteRefused if a condition of the caller's own writes fails.
        """
        ...

    def fail(self, claim: Claim, failure: Failure, expires_at: int | None) -> None:
        """in_progress -> failed, with the claim's count of starts."""
        ...

    def release(self, claim: Claim) -> None:
        """in_progress -> absent. A record that is already absent is fine."""
        ...

    def get(self, key: Key) -> Record | None:
        """The record as it is now, strongly consistent; None if there is none. Expired records are returned."""
        ...

    def guard(self, wanted: Request, result: StoredResult, writes: Sequence[Write]) -> Answer:
        """absent -> succeeded together with the caller's writes, without a claim before.

        Succeeded with my own token in its record means that it happened now; any other answer means that nothing was written.
        Raises WriteRefused if a condition of the caller's own writes fails.
        """
        ...

    def claim_many(self, wanted: Sequence[Request]) -> list[Answer | IdemError]:
        """Claim different keys, each for itself: one answer, or the error that kept it from being known, for each."""
        ...

    def finish_many(self, finishes: Sequence[Finish]) -> list[IdemError | None]:
        """Finish different claims, each for itself: None, or what `complete`, `fail`, `release` raise."""
        ...


def claim_each(store: Store, wanted: Sequence[Request]) -> list[Answer | IdemError]:
    """`claim_many`, one after the other."""
    return [tried(partial(store.claim, one)) for one in wanted]


def finish_each(store: Store, finishes: Sequence[Finish]) -> list[IdemError | None]:
    """`finish_many`, one after the other."""
    return [tried(partial(finish, store, one)) for one in finishes]


def finish(store: Store, one: Finish) -> None:
    """The single verb of a finish."""
    match one:
        case Complete(claim, result, expires_at, writes):
            store.complete(claim, result, expires_at, writes)
        case Fail(claim, failure, expires_at):
            store.fail(claim, failure, expires_at)
        case Release(claim):
            store.release(claim)


def tried(verb: Callable[[], T]) -> T | IdemError:
    """What `verb` returns, or the error that it raises; one that is not ours means that nobody knows what happened."""
    try:
        return verb()
    except IdemError as error:
        return error
    except Exception as error:  # noqa: BLE001 - a store of the user's own, or an answer that nobody could read
        return broken(error)


def broken(error: Exception) -> StoreUnavailable:
    """What an error that no store may raise is to its callers."""
    unknown = StoreUnavailable("answer", type(error).__name__, message_of(error))
    unknown.__cause__ = error
    return unknown


def succeeded(record: Record, result: StoredResult, expires_at: int | None, now_ms: int) -> Record:
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
        unstarted=False,
        finished_at=now_ms // 1000,
        lease_until=None,
        expires_at=expires_at,
    )
