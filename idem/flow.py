"""One piece of work, from its key to its outcome: claim, then the work, then record. Used by consumers and by functions.

The caller runs the work between `claim` and `record`, so that it can be called, awaited or scheduled.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from idem import results
from idem.clock import Clock, SystemClock, backoff_ms, new_token
from idem.delivery import Busy, Done, NotStarted, Outcome, Rejected, Retry, Unavailable
from idem.errors import (
    ClaimLost,
    ConfigurationError,
    IdemError,
    RequestMismatch,
    StoredFailure,
    TransactionRefused,
    UnsettledWork,
)
from idem.policy import Kind, Lapsed, Policy
from idem.record import (
    Abandoned,
    Answer,
    Claim,
    Failed,
    Failure,
    Held,
    Key,
    Mismatch,
    Request,
    Succeeded,
    TakeOver,
    decide,
)
from idem.store import Complete, Fail, Recording, Release, Store, record_one
from idem.writes import Commit, Write

MESSAGE_CHARS_MAX = 500  # of a stored error: enough to recognise it, small enough for a refused claim
ORIGIN_CHARS_MAX = 256  # of each value in a record's origin: ids are shorter, and a sender may send anything
ANSWER_MS = 200  # the store stops repeating a request so long before the invocation's end, to leave time for the answer
PLAIN = (dict, list, str, int, float, bool, type(None))  # results that are no work that has not run, told at once
WAIT_BASE_MS = 50  # the first pause while waiting for an attempt in flight
WAIT_CAP_MS = 1_000


@dataclass(frozen=True, slots=True)
class Ended:
    """An attempt whose work has run: what is to be recorded, and the outcome once it is.

    writes: the caller's own, to be committed in the same transaction; None for no transaction.
    """

    recording: Recording
    outcome: Done | Retry | Rejected | NotStarted
    writes: tuple[Write, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """The steps around one piece of work. Holds no state between calls, so that one flow serves many threads.

    reserve: what has to be left of an attempt's time after it waited for another one.
    """

    operation: str
    store: Store
    policy: Policy
    clock: Clock = field(default_factory=SystemClock)
    token: Callable[[], str] = new_token
    reserve: timedelta = timedelta(0)

    def request(
        self,
        key: Key,
        *,
        ends_at: int | None,
        request_hash: str | None = None,
        origin: Mapping[str, str] | None = None,
        starts_now: bool = True,
    ) -> Request:
        """A request for `key` by an attempt that ends at `ends_at` (epoch ms), or after the policy's lease if that is None.

        starts_now: whether the work follows the claim at once; otherwise its start is counted by `Store.begin`.
        """
        now_ms = self.clock.now_ms()
        ends_at = ends_at if ends_at is not None else now_ms + _ms(self.policy.lease)
        deadline = max(now_ms, ends_at - ANSWER_MS)
        lease_until = ends_at + _ms(self.policy.lease_margin)
        expires_at = self.expires_at()
        return Request(
            key=key,
            token=self.token(),
            lease_until=lease_until if expires_at is None else min(lease_until, expires_at * 1000),
            deadline=deadline,
            expires_at=expires_at,
            request_hash=request_hash,
            origin={name: _bounded(value, ORIGIN_CHARS_MAX) for name, value in (origin or {}).items()},
            starts_max=self.policy.starts_max,
            hold_lapsed=self.policy.lapsed is Lapsed.HOLD,
            skew_margin_ms=_ms(self.policy.skew_margin),
            starts_now=starts_now,
        )

    def claim(self, wanted: Request) -> Answer:
        """Claim a key; where the policy says so, wait for an attempt in flight. Raises StoreUnavailable, CorruptRecord."""
        return self.wait(wanted, self.store.claim(wanted))

    def wait(self, wanted: Request, answer: Answer) -> Answer:
        """`answer`, or what becomes of it while another attempt is in flight and the policy's patience lasts."""
        until = min(self.clock.now_ms() + _ms(self.policy.wait), wanted.deadline - _ms(self.reserve))
        tries = 0
        while isinstance(answer, Held) and (left := until - self.clock.now_ms()) > 0:
            pause = backoff_ms(tries, base_ms=WAIT_BASE_MS, cap_ms=WAIT_CAP_MS, jitter=self.clock.jitter())
            self.clock.sleep_ms(min(pause, left))
            tries += 1
            answer = self._look_again(wanted)
        return answer

    def _look_again(self, wanted: Request) -> Answer:
        """A read is cheaper than a refused claim, so claim only when there is something to win."""
        found = self.store.get(wanted.key)
        answer = decide(found, wanted, self.clock.now_ms()) if found else None
        return self.store.claim(wanted) if answer is None or isinstance(answer, TakeOver) else answer

    def returned(self, claim: Claim, value: Any) -> Ended:
        """How an attempt ended whose work returned `value`.

        A coroutine or generator is work that has not run: recording it as done would lose it, so it is a failure.
        """
        if not isinstance(value, PLAIN) and (inspect.isawaitable(value) or inspect.isgenerator(value)):
            return self.raised(claim, _never_run(self.operation, value))
        commit = value if isinstance(value, Commit) else None
        try:
            writes = tuple(commit.writes) if commit else None
        except TypeError as error:
            return self.raised(claim, TransactionRefused(f"the writes of a Commit must be a list: {error}"))
        stored, shown = results.store(commit.result if commit else value, self.policy.result_bytes_max)
        done = Done(shown, replayed=False, attempt=claim.attempt)
        return Ended(Complete(claim, stored, self.expires_at()), done, writes)

    def raised(self, claim: Claim, error: Exception) -> Ended:
        """How an attempt ended whose work raised `error`."""
        kind = self._kind_of(error)
        if kind is Kind.FORGET:
            return Ended(Release(claim), Retry(error))
        limit = self.policy.starts_max
        final = kind is Kind.PERMANENT or (limit is not None and claim.starts >= limit)
        failure = failure_of(error, reclaimable=kind is Kind.TRANSIENT)
        outcome = Rejected(error, recorded=True) if final else Retry(error)
        return Ended(Fail(claim, failure, self.expires_at()), outcome)

    def given_back(self, claim: Claim, reason: NotStarted, *, counted: bool) -> Ended:
        """How an attempt ended whose work was not started; `counted`: its claim had counted a start.

        A first claim is forgotten. The record of a later one stays, because the next attempt's number must be above its own.
        """
        if claim.attempt == 1:
            return Ended(Release(claim), reason)
        failure = Failure(type=type(reason).__name__, message=reason.reason, reclaimable=True)
        uncounted = replace(claim, starts=claim.starts - 1) if counted else claim
        return Ended(Fail(uncounted, failure, self.expires_at()), reason)

    def record(self, ended: Ended) -> Outcome:
        """Record how an attempt ended. Whatever goes wrong here, the work has run: nothing is raised."""
        try:
            if isinstance(ended.recording, Complete) and ended.writes is not None:
                complete = ended.recording
                self.store.commit(complete.claim, complete.result, complete.expires_at, ended.writes)
            else:
                record_one(self.store, ended.recording)
        except TransactionRefused as error:
            return self.record(self.raised(ended.recording.claim, error))
        except IdemError as error:
            return unrecorded(ended, error)
        return ended.outcome

    def record_many(self, ended: Sequence[Ended]) -> list[Outcome]:
        """Record how several attempts ended, in as few requests as the store can; transactions one after the other."""
        together = [one for one in ended if one.writes is None]
        if len(together) < 2:
            return [self.record(one) for one in ended]
        errors = dict(zip(map(id, together), self.store.record_many([one.recording for one in together]), strict=True))
        return [self.record(one) if one.writes is not None else _outcome_of(one, errors[id(one)]) for one in ended]

    def guard(self, wanted: Request, commit: Commit) -> Outcome:
        """Record and write in one transaction, without a claim before."""
        stored, shown = results.store(commit.result, self.policy.result_bytes_max)
        try:
            answer = self.store.guard(wanted, stored, commit.writes)
        except TransactionRefused as error:
            return self.reject(wanted, error)
        except IdemError as unknown:
            return Unavailable(unknown, ran=False)
        if isinstance(answer, Succeeded) and answer.record.claim_token == wanted.token:
            return Done(shown, replayed=False, attempt=answer.record.attempt)
        if isinstance(answer, Claim):
            raise AssertionError("a guard leaves no claim behind")
        return refusal(answer)

    def reject(self, wanted: Request, error: Exception) -> Outcome:
        """The outcome of a plan that raised: a permanent error is stored, so that the key answers with it from now on."""
        if self._kind_of(error) is not Kind.PERMANENT:
            return Retry(error)
        try:
            answer = self.store.claim(wanted)
        except IdemError as unknown:
            return Unavailable(unknown, ran=False)
        return self.record(self.raised(answer, error)) if isinstance(answer, Claim) else refusal(answer)

    def _kind_of(self, error: Exception) -> Kind:
        try:
            return self.policy.kind_of(error)
        except Exception as fault:  # noqa: BLE001 - the user's own classify(); its error must not hide the work's
            error.add_note(f"classifying it failed: {fault!r}")
            return self.policy.otherwise

    def expires_at(self) -> int | None:
        """The end of a record written now, in epoch seconds, rounded up."""
        if self.policy.retention is None:
            return None
        return -(-(self.clock.now_ms() + _ms(self.policy.retention)) // 1000)


def _never_run(operation: str, value: Any) -> ConfigurationError:
    kind = type(value).__name__
    if inspect.iscoroutine(value) or inspect.isgenerator(value):
        value.close()
    return ConfigurationError(
        f"the work of {operation} returned a {kind} and has not run: pass a coroutine function itself, and no generator"
    )


def _outcome_of(ended: Ended, error: IdemError | None) -> Outcome:
    return ended.outcome if error is None else unrecorded(ended, error)


def unrecorded(ended: Ended, error: IdemError) -> Outcome:
    """The outcome of an attempt that could not be recorded. The work's own error is never hidden: it gets a note."""
    match ended.outcome:
        case Done():
            return Retry(error) if isinstance(error, ClaimLost) else Unavailable(error, ran=True)
        case Retry(own) | Rejected(own, _):
            own.add_note(f"its record was not written: {error}")
            return Retry(own)
        case NotStarted():
            return ended.outcome  # its claim was not given back: the lease ends it


def refusal(answer: Succeeded | Failed | Held | Mismatch | Abandoned) -> Outcome:
    """The outcome of a delivery whose key was not won."""
    match answer:
        case Succeeded(record):
            return Done(results.replay(record.result), replayed=True, attempt=record.attempt)
        case Failed(record):
            return Rejected(StoredFailure(record), recorded=True)
        case Held(_, until):
            return Busy(until)
        case Mismatch(record):
            return Rejected(RequestMismatch(record), recorded=True)
        case Abandoned(record, reason):
            return Retry(UnsettledWork(record, reason))


def failure_of(error: Exception, *, reclaimable: bool) -> Failure:
    """What is stored of an error: its type's name and a bounded message."""
    try:
        message = str(error)
    except Exception as fault:  # noqa: BLE001 - an error type of the user's whose __str__ raises
        message = f"(its message could not be read: {type(fault).__name__})"
    return Failure(type=type(error).__qualname__, message=_bounded(message, MESSAGE_CHARS_MAX), reclaimable=reclaimable)


def _bounded(text: str, chars_max: int) -> str:
    """`text` as it can be stored: without lone surrogates, and not longer than it may be."""
    writable = text.encode("utf-8", "replace").decode("utf-8")
    return writable if len(writable) <= chars_max else writable[: chars_max - 1] + "…"


def _ms(duration: Any) -> int:
    return int(duration.total_seconds() * 1000)
