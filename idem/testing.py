"""What your own tests need: redelivered events, a clock that stands still, crashes and lost answers at chosen points.

No AWS, no sleeping, no patching: the clock and the store are arguments.

A queue delivers a message three times, and the charge is made once:

    >>> from dataclasses import replace
    >>> from idem import Consumer, MemoryStore, Policy, Retention, SqsSource, keys
    >>> clock = ManualClock()
    >>> charges = []
    >>> charge = Consumer(
    ...     operation="orders.charge", source=SqsSource(), key=keys.field("orderId"), clock=clock,
    ...     work=lambda delivery, claim: charges.append(delivery.payload["orderId"]),
    ...     policy=Policy(retention=Retention.QUEUE), store=MemoryStore(clock),
    ... )
    >>> with one_effect(lambda: len(charges)):
    ...     redeliver(charge, sqs_event({"orderId": "o-1"}), times=3, clock=clock)
    [{'batchItemFailures': []}, {'batchItemFailures': []}, {'batchItemFailures': []}]

The process dies after the charge and before it is recorded. This is the hole that only a `Commit` closes, and the test shows
it; `Crash` in the list stands for the answer that Lambda never got:

    >>> dies = FaultyStore(MemoryStore(clock), crash_before("complete"))
    >>> redeliver(replace(charge, store=dies), sqs_event({"orderId": "o-2"}), times=3, clock=clock)
    [Crash('before complete'), {'batchItemFailures': []}, {'batchItemFailures': []}]
    >>> charges.count("o-2")
    2

The answer to the recording is lost on the network: nothing unrecorded is acknowledged, and the redelivery is a replay:

    >>> deaf = FaultyStore(MemoryStore(clock), lose_answer("complete"))
    >>> with one_effect(lambda: len(charges)):
    ...     answers = redeliver(replace(charge, store=deaf), sqs_event({"orderId": "o-3"}), times=2, clock=clock)
    >>> [len(answer["batchItemFailures"]) for answer in answers]
    [1, 0]
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import Enum
from typing import Any, TypeVar

from idem import errors
from idem.clock import Clock
from idem.errors import ConfigurationError, IdemError, StoreUnavailable
from idem.record import Answer, Claim, Failure, Key, Record, Request, StoredResult
from idem.store import Finish, Store, claim_each, finish_each
from idem.webhooks.signed_requests import as_event, sign
from idem.writes import Write

T = TypeVar("T")

START_MS = 1_800_000_000_000  # 2027-01-15 08:00 UTC: a fixed start makes every run the same
BETWEEN = timedelta(minutes=30)  # between two deliveries: longer than the default lease, so that a crash is over


class ManualClock:
    """A clock that moves only when it is told to, or when somebody sleeps on it."""

    def __init__(self, now_ms: int = START_MS, *, jitter: float = 0.5) -> None:
        self._now_ms = float(now_ms)
        self._jitter = jitter
        self._later: list[tuple[float, Callable[[], None]]] = []

    def now_ms(self) -> int:
        return int(self._now_ms)

    def sleep_ms(self, milliseconds: float) -> None:
        until = self._now_ms + milliseconds
        while due := [one for one in self._later if one[0] <= until]:
            first = min(due, key=lambda one: one[0])
            self._later.remove(first)
            self._now_ms = max(self._now_ms, first[0])
            first[1]()
        self._now_ms = until

    async def pause_ms(self, milliseconds: float) -> None:
        self.sleep_ms(milliseconds)

    def jitter(self) -> float:
        return self._jitter

    def later(self, milliseconds: float, action: Callable[[], None]) -> Callable[[], None]:
        planned = (self._now_ms + milliseconds, action)
        self._later.append(planned)
        return lambda: self._later.remove(planned) if planned in self._later else None

    def advance(self, by: timedelta) -> None:
        """Let time pass."""
        self.sleep_ms(by.total_seconds() * 1000)


class LambdaContext:
    """Stands in for Lambda's context object: an invocation that began when this was made and may last `seconds`."""

    def __init__(self, clock: Clock, *, seconds: float = 30, aws_request_id: str = "request-1") -> None:
        self.aws_request_id = aws_request_id
        self.function_name = "function"
        self.invoked_function_arn = "arn:aws:lambda:us-east-1:000000000000:function:function"
        self.memory_limit_in_mb = 128
        self._clock = clock
        self._ends_at = clock.now_ms() + int(seconds * 1000)

    def get_remaining_time_in_millis(self) -> int:
        return max(0, self._ends_at - self._clock.now_ms())


Crash = errors.Crash
"""The process died here. No handler can catch it and carry on, just as with SIGKILL."""


def redeliver(
    handler: Callable[[Any, Any], Any],
    event: Any,
    *,
    times: int = 2,
    context: Callable[[], Any] | None = None,
    clock: ManualClock | None = None,
    between: timedelta = BETWEEN,
) -> list[Any]:
    """Hand `event` to `handler` `times` times, as a queue or a provider would, and return the answers.

    A crash stands in the list as its `Crash`; every other error of the handler is raised. `context` makes the context of each
    invocation. With `clock`, the time `between` passes from one to the next, so that an abandoned lease has lapsed.
    """
    answers: list[Any] = []
    for number in range(times):
        if number and clock:
            clock.advance(between)
        try:
            answers.append(handler(event, context() if context else None))
        except Crash as crash:
            answers.append(crash)
    return answers


@contextmanager
def one_effect(count: Callable[[], int]) -> Iterator[None]:
    """Assert that what `count` counts grows by exactly one inside the `with`."""
    before = count()
    yield
    if (made := count() - before) != 1:
        raise AssertionError(f"expected exactly one effect, found {made}")


class Fault(Enum):
    """What can go wrong at a verb of the store."""

    CRASH_BEFORE = "before"  # the process dies; the table saw nothing
    CRASH_AFTER = "after"  # the process dies; the table has it
    LOSE_ANSWER = "lost"  # the table has it, the caller is told StoreUnavailable
    REFUSE = "refused"  # the table saw nothing, the caller is told StoreUnavailable


@dataclass(frozen=True, slots=True)
class FaultAt:
    """One fault, at the nth call of a verb (from 1)."""

    fault: Fault
    verb: str
    nth: int = 1

    def __post_init__(self) -> None:
        if self.verb not in VERBS or self.nth < 1:
            raise ConfigurationError(
                f"call {self.nth} of {self.verb!r}: a store's verbs are {', '.join(sorted(VERBS))}"
            )


def crash_before(verb: str, nth: int = 1) -> FaultAt:
    return FaultAt(Fault.CRASH_BEFORE, verb, nth)


def crash_after(verb: str, nth: int = 1) -> FaultAt:
    return FaultAt(Fault.CRASH_AFTER, verb, nth)


def lose_answer(verb: str, nth: int = 1) -> FaultAt:
    return FaultAt(Fault.LOSE_ANSWER, verb, nth)


def refuse(verb: str, nth: int = 1) -> FaultAt:
    return FaultAt(Fault.REFUSE, verb, nth)


class FaultyStore:
    """A store in front of another one, at which the planned faults happen. `calls` counts the calls of each verb.

    After a crash its process is dead: no write of its reaches the table any more, until somebody claims again in a new one.
    """

    def __init__(self, store: Store, *plan: FaultAt) -> None:
        self.store = store
        self.plan = plan
        self.calls: dict[str, int] = {}
        self._is_dead = False

    def claim(self, wanted: Request) -> Answer:
        self._is_dead = False
        return self._at("claim", lambda: self.store.claim(wanted))

    def begin(self, claim: Claim) -> Claim:
        return self._at("begin", lambda: self.store.begin(claim))

    def complete(
        self, claim: Claim, result: StoredResult, expires_at: int | None, writes: Sequence[Write] | None = None
    ) -> None:
        self._at("complete", lambda: self.store.complete(claim, result, expires_at, writes))

    def fail(self, claim: Claim, failure: Failure, expires_at: int | None) -> None:
        self._at("fail", lambda: self.store.fail(claim, failure, expires_at))

    def release(self, claim: Claim) -> None:
        self._at("release", lambda: self.store.release(claim))

    def get(self, key: Key) -> Record | None:
        return self._at("get", lambda: self.store.get(key))

    def guard(self, wanted: Request, result: StoredResult, writes: Sequence[Write]) -> Answer:
        self._is_dead = False
        return self._at("guard", lambda: self.store.guard(wanted, result, writes))

    def claim_many(self, wanted: Sequence[Request]) -> list[Answer | IdemError]:
        """One claim after the other, so that each can meet its fault."""
        return claim_each(self, wanted)

    def finish_many(self, finishes: Sequence[Finish]) -> list[IdemError | None]:
        """One verb after the other, so that each can meet its fault."""
        return finish_each(self, finishes)

    def _at(self, verb: str, call: Callable[[], T]) -> T:
        if self._is_dead and verb != "get":
            raise Crash(f"{verb}, by a dead process")
        nth = self.calls[verb] = self.calls.get(verb, 0) + 1
        fault = next((at.fault for at in self.plan if (at.verb, at.nth) == (verb, nth)), None)
        if fault is Fault.CRASH_BEFORE:
            self._is_dead = True
            raise Crash(f"before {verb}")
        if fault is Fault.REFUSE:
            raise StoreUnavailable(verb, "Fault", "planned by the test: not applied")
        answer = call()
        if fault is Fault.CRASH_AFTER:
            self._is_dead = True
            raise Crash(f"after {verb}")
        if fault is Fault.LOSE_ANSWER:
            raise StoreUnavailable(verb, "Fault", "planned by the test: applied, and the answer was lost")
        return answer


VERBS = frozenset({"claim", "begin", "complete", "fail", "release", "get", "guard"})


def sqs_event(*bodies: Any, queue: str = "queue", group: str | None = None, receive_count: int = 1) -> dict[str, Any]:
    """An SQS event with one message for each body: text as it is, anything else as JSON.

    Ids are message-1, message-2 and so on. With `group` the queue is a FIFO queue.
    """
    name = f"{queue}.fifo" if group is not None else queue
    attributes = {"ApproximateReceiveCount": str(receive_count)} | ({"MessageGroupId": group} if group else {})
    return {
        "Records": [
            {
                "messageId": f"message-{number}",
                "receiptHandle": f"handle-{number}-{receive_count}",
                "body": body if isinstance(body, str) else json.dumps(body),
                "attributes": attributes,
                "messageAttributes": {},
                "eventSource": "aws:sqs",
                "eventSourceARN": f"arn:aws:sqs:us-east-1:000000000000:{name}",
                "awsRegion": "us-east-1",
            }
            for number, body in enumerate(bodies, start=1)
        ]
    }


def sign_stripe(body: bytes, secret: str, timestamp: int) -> str:
    """The `Stripe-Signature` header for `body`, signed at `timestamp` (epoch seconds)."""
    return sign("stripe", body, [secret], timestamp * 1000).headers["stripe-signature"]


def stripe_request(event: Any, secret: str, timestamp: int, *, request_id: str = "request-1") -> dict[str, Any]:
    """A signed Stripe webhook as a function URL hands it over. `event` is the raw body, or what is written as JSON."""
    return webhook_request("stripe", event, [secret], timestamp, request_id=request_id)


def webhook_request(
    scheme: str,
    event: Any,
    secrets: Sequence[str],
    timestamp: int,
    *,
    url: str | None = None,
    headers: Mapping[str, str] | None = None,
    request_id: str = "request-1",
) -> dict[str, Any]:
    """A webhook of any provider of `idem.schemes`, by the scheme's name, signed at `timestamp` (epoch seconds).

    event: the raw body, or what is written as JSON. url: the registered address, for schemes that sign it. headers: of the
    provider's others, or instead of the usual ones. For Ed25519 the secrets are private keys. As a function URL does it, the
    body is base64-encoded: a receiver has to decode before it verifies.
    """
    body = event if isinstance(event, bytes) else json.dumps(event).encode()
    sent = sign(scheme, body, secrets, timestamp * 1000, url=url, headers=headers)
    return as_event(replace(sent, request_id=request_id))
