"""The rules around one piece of work: what is asked of the store, and what becomes of how the work ended.

The caller runs the work between `claim` and `record`, so that it can be called, awaited or scheduled: a consumer in `batch.py`,
a function in `decorator.py`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, ItemsView, Iterator, KeysView, Mapping, Sequence, ValuesView
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from itertools import islice
from typing import Any, NoReturn, TypeGuard

from idem import results
from idem.arguments import SHOWN_CHARS_MAX, check_function, check_object, told
from idem.clock import Clock, SystemClock, backoff_ms, milliseconds, new_token
from idem.delivery import Busy, Done, NotStarted, Outcome, Overtaken, Rejected, Retry, Unavailable, Unsettled
from idem.errors import (
    PROCESS_ENDS,
    ClaimLost,
    ConfigurationError,
    IdemError,
    InProgress,
    NotNow,
    RequestMismatch,
    StoredFailure,
    StoreUnavailable,
    TransactionRefused,
    UnsettledWork,
    WorkStopped,
)
from idem.log import log_fault
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
    Refusal,
    Request,
    Succeeded,
    TakeOver,
    decide,
    started,
)
from idem.results import Serializer
from idem.store import Complete, Fail, Finish, Release, Store, broken, finish, tried
from idem.text import bounded, message_of
from idem.writes import Check, Commit, Delete, Put, Update, Write

TYPE_CHARS_MAX = 200  # of the name of an error's class, which code may make up
ORIGIN_CHARS_MAX = 256  # of each value in a record's origin: ids are shorter, and a sender may send anything
ANSWER_MS = 200  # the store stops repeating a request so long before the invocation's end, to leave time for the answer
SCALARS = (str, int, float)  # results that are nothing but themselves, told at once
CONTAINERS = (dict, list, tuple, set, frozenset, ValuesView, ItemsView, KeysView)
LEVELS_SEEN = 3  # of a result: writes that were left over stand near its top
ITEMS_SEEN = 100  # of each container in it
WRITES = (Commit, Put, Update, Delete, Check)
STORE_VERBS = ("claim", "claim_many", "begin", "complete", "fail", "release", "finish_many", "guard", "get")
FUTURES = {
    "concurrent.futures._base.Future",
    "_asyncio.Future",
    "_asyncio.Task",
    "asyncio.futures.Future",
    "asyncio.tasks.Task",
}
LEFT_OVER = "writes that nobody would make: return Commit([...], result) itself, with the writes in it"
TOO_LATE = NotStarted("the invocation or its lease ends too soon to start it")
WAIT_BASE_MS = 50  # the first pause while waiting for an attempt in flight
WAIT_CAP_MS = 1_000


@dataclass(frozen=True, slots=True)
class Unrecorded:
    """An attempt that has ended and is not recorded yet: how its claim is finished, and the outcome once it is."""

    finish: Finish
    outcome: Done | Retry | Rejected | NotStarted


@dataclass(frozen=True, slots=True)
class Unready:
    """A claim whose work does not start: how its delivery ends, and how the claim is given back, None if it is lost."""

    outcome: NotStarted | Overtaken | Unavailable
    given_back: Unrecorded | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """The rules around one piece of work. Holds no state between calls, so that one flow serves many threads.

    reserve: what has to be left of an attempt's time when its work starts. serializer: of what the work returns, None for JSON.
    """

    operation: str
    store: Store
    policy: Policy
    clock: Clock = field(default_factory=SystemClock)
    token: Callable[[], str] = new_token
    reserve: timedelta = timedelta(0)
    serializer: Serializer[Any] | None = None

    counts_starts: bool = field(init=False, repr=False)
    reserve_ms: int = field(init=False, repr=False)
    wait_ms: int = field(init=False, repr=False)
    _lease_ms: int = field(init=False, repr=False)
    _lease_margin_ms: int = field(init=False, repr=False)
    _skew_margin_ms: int = field(init=False, repr=False)
    _retention_ms: int | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        policy = self.policy
        counts = policy.starts_max is not None or policy.lapsed is Lapsed.HOLD  # as `Request.counts_starts`
        object.__setattr__(self, "counts_starts", counts)
        for name, duration in {
            "reserve_ms": self.reserve,
            "wait_ms": policy.wait,  # how long an attempt in flight is waited for
            "_lease_ms": policy.lease,
            "_lease_margin_ms": policy.lease_margin,
            "_skew_margin_ms": policy.skew_margin,
            "_retention_ms": policy.retention,
        }.items():
            object.__setattr__(
                self, name, None if duration is None else milliseconds(duration)
            )  # once: every message asks

    def request(
        self,
        key: Key,
        *,
        ends_at: int | None,
        request_hash: str | None = None,
        origin: Mapping[str, str] | None = None,
        asked_at: int | None = None,
    ) -> Request:
        """A request for `key` by an attempt that ends at `ends_at` (epoch ms), or after the policy's lease if that is None.

        The record of work in progress lives for the retention behind its lease, so that it never expires before it.
        """
        now_ms = self.clock.now_ms()
        ends_at = ends_at if ends_at is not None else now_ms + self._lease_ms
        lease_until = ends_at + self._lease_margin_ms
        return Request(
            key=key,
            token=self.token(),
            lease_until=lease_until,
            deadline=max(now_ms, ends_at - ANSWER_MS),
            expires_at=self.expires_at(lease_until),
            request_hash=request_hash,
            origin={name: bounded(value, ORIGIN_CHARS_MAX) for name, value in (origin or {}).items()},
            starts_max=self.policy.starts_max,
            hold_lapsed=self.policy.lapsed is Lapsed.HOLD,
            skew_margin_ms=self._skew_margin_ms,
            asked_at=asked_at,
        )

    def is_late(self, claim: Claim) -> bool:
        """Whether too little of the claim's lease is left to start its work: it has lapsed, or less than the reserve remains."""
        return self.clock.now_ms() > self.latest_start(claim)

    def latest_start(self, claim: Claim) -> int:
        """The last moment (epoch ms) at which the claim's work may start: the reserve remains of its lease then."""
        return claim.lease_until - self._lease_margin_ms - self.reserve_ms

    def ready(self, claim: Claim) -> Claim | Unready:
        """The claim whose work may start now, its start counted where that matters; otherwise how it ends instead.

        Time is looked at behind the last call to the store.
        """
        if self.is_late(claim):
            return Unready(TOO_LATE, self.given_back(claim, TOO_LATE))
        if not self.counts_starts:
            return claim
        try:
            begun = self.store.begin(claim)
        except ClaimLost as error:
            return Unready(Overtaken(error), None)
        except Exception as error:  # noqa: BLE001 - of a store of the user's own
            unknown = error if isinstance(error, IdemError) else broken(error)
            # It may have been counted all the same: giving the claim back takes that back, too.
            return Unready(
                Unavailable(unknown, ran=False), self.given_back(claim, NotStarted("its start was not counted"))
            )
        return Unready(TOO_LATE, self.given_back(begun, TOO_LATE, begun=True)) if self.is_late(begun) else begun

    def claim(self, wanted: Request) -> Answer:
        """Claim a key; where the policy says so, wait for an attempt in flight. Raises StoreUnavailable, CorruptRecord."""
        waits = self.waits(wanted)
        while True:
            try:
                self.clock.sleep_ms(next(waits))
            except StopIteration as over:
                answer: Answer = over.value
                return answer

    def waits(self, wanted: Request) -> Generator[float, None, Answer]:
        """Claim a key; the pauses (ms) to be made while another attempt is in flight and the policy's patience lasts."""
        answer = self.store.claim(wanted)
        until = min(self.clock.now_ms() + self.wait_ms, wanted.deadline - self.reserve_ms)
        tries = 0
        while isinstance(answer, Held) and (left := until - self.clock.now_ms()) > 0:
            pause = backoff_ms(tries, base_ms=WAIT_BASE_MS, cap_ms=WAIT_CAP_MS, jitter=self.clock.jitter())
            yield min(pause, left)
            tries += 1
            answer = self.look_again(wanted)
        return answer

    def look_again(self, wanted: Request) -> Answer:
        """A read is cheaper than a refused claim, so claim only when there is something to win."""
        found = self.store.get(wanted.key)
        answer = decide(found, wanted, self.clock.now_ms()) if found else None
        return self.store.claim(wanted) if answer is None or isinstance(answer, TakeOver) else answer

    def returned(self, claim: Claim, value: Any) -> Unrecorded:
        """How an attempt ended whose work returned `value`.

        A value that shows that nothing ran, or that writes were meant and not handed over, is a failure: recording it as done
        would lose the work. Raises nothing, whatever the value's own code does.
        """
        if mistake := mistake_in(value):
            return self.raised(claim, ConfigurationError(f"the work of {self.operation} returned {mistake}"))
        commit = value if is_commit(value) else None
        writes = listed(commit) if commit else None
        if isinstance(writes, TransactionRefused):
            return self.raised(claim, writes)
        stored, shown = results.store(commit.result if commit else value, self.policy.result_bytes_max, self.serializer)
        done = Done(shown, replayed=False, attempt=claim.attempt)
        return Unrecorded(Complete(claim, stored, self.expires_at(), writes), done)

    def raised(self, claim: Claim, error: BaseException) -> Unrecorded:
        """How an attempt ended whose work raised `error`, whatever it is.

        NotNow is the answer of a claim inside of the work that is held: nothing was done, so no start is used up.
        """
        kind, error = self._judged(error)
        if issubclass(type(error), NotNow):  # of its class a strange error may not tell
            return replace(self.given_back(claim, NotStarted(message_of(error)), begun=True), outcome=Retry(error))
        if kind is Kind.FORGET:
            return Unrecorded(self._let_go(claim), Retry(error))
        limit = self.policy.starts_max
        final = kind is Kind.PERMANENT or (limit is not None and claim.starts >= limit)
        failure = failure_of(error, reclaimable=kind is Kind.TRANSIENT)
        outcome = Rejected(error, recorded=True) if final else Retry(error)
        return Unrecorded(Fail(claim, failure, self.expires_at()), outcome)

    def given_back(self, claim: Claim, reason: NotStarted, *, begun: bool = False) -> Unrecorded:
        """How an attempt ended whose work was not started; `begun`: its start had been counted by `begin`.

        A first claim is forgotten. The record of a later one stays, because the next attempt's number must be above its own.
        """
        if claim.attempt == 1:
            return Unrecorded(self._let_go(claim), reason)
        failure = Failure(type=type(reason).__name__, message=reason.reason, reclaimable=True)
        counted = begun or not self.counts_starts
        uncounted = replace(claim, starts=max(0, claim.starts - 1)) if counted else claim
        return Unrecorded(Fail(uncounted, failure, self.expires_at()), reason)

    def _let_go(self, claim: Claim) -> Finish:
        """How a claim is given up so that the next delivery is as if it were the first.

        What a person decided about the key stays for that delivery to carry on, in a record whose life is over.
        """
        if not claim.decided:
            return Release(claim)
        over = (self.clock.now_ms() - self._skew_margin_ms) // 1000
        return Fail(claim, Failure(type="Released", message="the key was given up", reclaimable=True), over)

    def record(self, ended: Unrecorded) -> Outcome:
        """Record how an attempt ended. Whatever goes wrong here, the work has run: nothing is raised."""
        return self.record_many([ended])[0]

    def record_many(self, ended: Sequence[Unrecorded]) -> list[Outcome]:
        """Record how several attempts ended, in as few requests as the store can."""
        if len(ended) == 1:
            errors = [tried(partial(finish, self.store, ended[0].finish))]
        else:
            try:
                errors = self.store.finish_many([one.finish for one in ended])
            except Exception as error:  # noqa: BLE001 - of a store of the user's own
                errors = [error if isinstance(error, IdemError) else broken(error)] * len(ended)
        return [self._outcome(one, error) for one, error in zip(ended, errors, strict=True)]

    def _outcome(self, ended: Unrecorded, error: IdemError | None) -> Outcome:
        if error is None:
            return ended.outcome
        if isinstance(error, TransactionRefused):
            return self.record(self.raised(ended.finish.claim, error))
        return unrecorded(ended, error)

    def guard(self, wanted: Request, commit: Commit) -> tuple[Outcome, str | None]:
        """Record and write in one transaction, without a claim before: the outcome, and why its result was not kept.

        The record's life counts from now.
        """
        if mistake := mistake_in(commit):
            return self.reject(wanted, ConfigurationError(f"the plan of {self.operation} returned {mistake}")), None
        writes = listed(commit)
        if isinstance(writes, TransactionRefused):
            return self.reject(wanted, writes), None
        stored, shown = results.store(commit.result, self.policy.result_bytes_max)
        # A rejection is claimed first, so that it lives for its lease: it keeps the request as it is.
        done_at_once = replace(wanted, expires_at=self.expires_at())
        answer = tried(lambda: self.store.guard(done_at_once, stored, writes))
        if isinstance(answer, TransactionRefused):
            return self.reject(wanted, answer), None
        if isinstance(answer, IdemError):
            return Unavailable(answer, ran=False), None
        if isinstance(answer, Succeeded) and answer.record.claim_token == wanted.token:
            done = Done(shown, replayed=False, attempt=answer.record.attempt)
            return done, stored.text if stored.kind == "omitted" else None
        if isinstance(answer, Claim):
            raise AssertionError("a guard leaves no claim behind")
        return refusal(answer), None

    def reject(self, wanted: Request, error: BaseException) -> Outcome:
        """The outcome of a plan that raised: a permanent error is stored, so that the key answers with it from now on."""
        kind, error = self._judged(error)
        if kind is not Kind.PERMANENT:
            return Retry(error)
        answer = tried(lambda: self.store.claim(wanted))
        if isinstance(answer, IdemError):
            return Unavailable(answer, ran=False)
        if not isinstance(answer, Claim):
            return refusal(answer)
        failure = failure_of(error, reclaimable=False)
        ended = Fail(started(answer, wanted), failure, self.expires_at())
        return self.record(Unrecorded(ended, Rejected(error, recorded=True)))

    def _judged(self, error: BaseException) -> tuple[Kind, Exception]:
        """What the policy makes of an error, and the error as an outcome holds it."""
        if not _is_exception(error):
            stopped = WorkStopped(error)
            stopped.__cause__ = error
            return self.policy.otherwise, stopped
        try:
            return self.policy.kind_of(error), error
        except ConfigurationError as fault:  # classify() gave something that is no Kind
            fault.__cause__ = error
            return self.policy.otherwise, fault
        except PROCESS_ENDS:
            raise
        except BaseException as fault:  # noqa: BLE001 - the user's own classify(); its error must not hide the work's
            note(error, f"classifying it failed: {type(fault).__name__}: {message_of(fault)}")
            return self.policy.otherwise, error

    def expires_at(self, from_ms: int | None = None) -> int | None:
        """The end of a record whose life counts from `from_ms`, by default now: in epoch seconds, rounded up."""
        if self._retention_ms is None:
            return None
        start = self.clock.now_ms() if from_ms is None else from_ms
        return -(-(start + self._retention_ms) // 1000)


def check_rules(named: str, key: Any, check: Any) -> None:
    """Whether key and check rules are functions of a delivery. Raises ConfigurationError."""
    rule = f"keys.field({key!r})" if isinstance(key, str) and len(key) < SHOWN_CHARS_MAX else 'keys.field("orderId")'
    check_function(f"{named}key", key, "the delivery", give=f"a rule, such as {rule}")
    if check is not None:
        check_function(
            f"{named}check",
            check,
            "the delivery",
            give='a function, such as lambda delivery: delivery.payload["amount"]',
        )


def check_memory(named: str, store: Any, policy: Any) -> None:
    """Whether there is a store, and a policy of how long it remembers. Raises ConfigurationError."""
    check_object(f"{named}store", store, STORE_VERBS, give="DynamoStore(client, table)")
    if not isinstance(policy, Policy):
        raise ConfigurationError(f"{named}policy is {told(policy)}: give Policy(retention=Retention.QUEUE) or the like")


def listed(commit: Commit) -> tuple[Write, ...] | TransactionRefused:
    """The writes of a Commit, or why they are none: they may come from the user's own iterator."""
    try:
        return tuple(commit.writes)
    except PROCESS_ENDS:
        raise
    except BaseException as error:  # noqa: BLE001 - as above
        wrong = TransactionRefused(f"the writes of a Commit must be a list: {message_of(error)}")
        wrong.__cause__ = error
        return wrong


def mistake_in(value: Any) -> str | None:
    """What is wrong with a value that work returned, if it shows that the work did not run, or that writes were left over.

    Looked for some levels deep: a result is looked through, not searched.
    """
    try:
        return _mistake_inside(value.result if is_commit(value) else value, LEVELS_SEEN)
    except PROCESS_ENDS:
        raise
    except BaseException:  # noqa: BLE001 - a value that cannot be looked at shows nothing; it is not kept, and its work is done
        return None


def _is_exception(error: BaseException) -> TypeGuard[Exception]:
    return issubclass(type(error), Exception)  # as `is_commit`


def is_commit(value: Any) -> TypeGuard[Commit]:
    """Whether work returned a Commit: told by its type alone, because a strange value may not tell its class."""
    return issubclass(type(value), Commit)


def _mistake_inside(value: Any, levels: int) -> str | None:
    if value is None or isinstance(value, SCALARS):
        return None
    if isinstance(value, WRITES):
        return LEFT_OVER
    if isinstance(value, CONTAINERS):
        inside = value.values() if isinstance(value, dict) else value
        for one in islice(inside, ITEMS_SEEN if levels else 0):
            if not isinstance(one, SCALARS) and (found := _mistake_inside(one, levels - 1)):
                return found
        return None
    if not (inspect.isasyncgen(value) or _is_lazy(value) or _is_awaited_for(value)):
        return None
    if inspect.iscoroutine(value) or inspect.isgenerator(value):
        with suppress(Exception):
            value.close()  # or Python complains, that nobody awaited it or of what it raises when it is collected
    return (
        f"a {type(value).__name__}, so it has not run: pass a coroutine function itself, and return no generator, iterator"
        " or future"
    )


def _is_lazy(value: Any) -> bool:
    """Whether this computes only when it is asked: a generator, `map` and the like. A cursor or a file has done its part."""
    return isinstance(value, Iterator) and (
        inspect.isgenerator(value) or type(value).__module__ in ("builtins", "itertools")
    )


def _is_awaited_for(value: Any) -> bool:
    """Whether this has still to run: whatever is awaitable, and a future of a thread pool, unless it is done and gave a result.

    Kinds of futures are looked up by name, because importing them takes long.
    """
    kinds = {f"{kind.__module__}.{kind.__name__}" for kind in type(value).__mro__}
    if kinds & FUTURES:
        return not (value.done() and not value.cancelled() and value.exception() is None)
    return inspect.isawaitable(value)


def note(error: BaseException, text: str) -> None:
    """Add a note to an error of the user's. Some errors take none, such as a frozen dataclass."""
    with suppress(Exception):
        error.add_note(text)


def unrecorded(ended: Unrecorded, error: IdemError) -> Outcome:
    """The outcome of an attempt that could not be recorded. The work's own error is never hidden: it gets a note."""
    match ended.outcome:
        case Done():
            return Overtaken(error) if isinstance(error, ClaimLost) else Unavailable(error, ran=True)
        case Retry(own) | Rejected(own, _):
            note(own, f"its record was not written: {message_of(error)}")
            return Retry(own)
        case NotStarted():
            log_fault(f"the claim of {ended.finish.claim.key} was not given back, so its lease has to end", error)
            return ended.outcome


def refusal(answer: Refusal, serializer: Serializer[Any] | None = None) -> Outcome:
    """The outcome of a delivery whose key was not won."""
    match answer:
        case Succeeded(record):
            return Done(results.replay(record.result, serializer), replayed=True, attempt=record.attempt)
        case Failed(record):
            return Rejected(StoredFailure(record), recorded=True)
        case Held(_, until):
            return Busy(until)
        case Mismatch(record):
            return Rejected(RequestMismatch(record), recorded=True)
        case Abandoned(record, reason):
            return Unsettled(UnsettledWork(record, reason))


def refused(answer: Refusal, serializer: Serializer[Any] | None = None) -> Any:
    """What a call returns or raises whose key was not won."""
    if isinstance(answer, Held):
        raise InProgress(answer.record, answer.until)
    return value_of(refusal(answer, serializer))


def not_run(flow: Flow, unready: Unready) -> NoReturn:
    """Give the claim of a call back whose work does not start, and raise why."""
    if unready.given_back is not None:
        flow.record(unready.given_back)
    if isinstance(unready.outcome, NotStarted):
        raise StoreUnavailable("claim", "Late", "its answer came when the lease was over: nothing was run")
    raise unready.outcome.error


def value_of(outcome: Outcome) -> Any:
    """What a call returns or raises for an outcome."""
    match outcome:
        case Done(result, _, _):
            return result
        case Retry(error) | Overtaken(error) | Unsettled(error) | Rejected(error, _) | Unavailable(error, _):
            raise error
        case Busy() | NotStarted():
            raise AssertionError(f"a call that has started cannot end as {outcome!r}")


def failure_of(error: Exception, *, reclaimable: bool) -> Failure:
    """What is stored of an error: its type's name and a bounded message."""
    name = bounded(type(error).__qualname__, TYPE_CHARS_MAX)
    return Failure(type=name, message=message_of(error), reclaimable=reclaimable)
