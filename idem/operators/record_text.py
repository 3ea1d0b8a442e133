"""What a record says to a person: its state in a sentence, and what the next delivery will do, asked of `record.decide`."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from itertools import accumulate
from typing import Any

from idem.clock import SystemClock
from idem.dynamo.schema import KEY_PREFIX
from idem.errors import ConfigurationError, InputRefused
from idem.flow import Flow
from idem.keys import HASHED, IDENTITY_BYTES_MAX, check_operation, make_key
from idem.memory import MemoryStore
from idem.operators.operator_errors import Exit, OperatorError
from idem.policy import Policy, Retention
from idem.record import (
    Abandoned,
    Claim,
    Decided,
    Failed,
    Held,
    Key,
    Mismatch,
    Record,
    Request,
    Status,
    Succeeded,
    TakeOver,
    decide,
    is_expired,
)
from idem.results import NESTING_MAX
from idem.text import message_of

DEFAULT_POLICY = Policy(retention=Retention.QUEUE)
JSON_TEXT = re.compile(r'"(?:[^"\\]|\\.)*+"', re.DOTALL)
STORED = re.compile(r"(?:[^%]|%2[35])+")  # an identity as it is stored: escaped, so "%" comes only before 25 and 23


class State(StrEnum):
    """Where a record is in its life, as an operator sees it."""

    RUNNING = "running"  # in progress, and its lease lives
    STUCK = "stuck"  # in progress, and its lease has lapsed: whoever held it is gone
    SUCCEEDED = "succeeded"
    RECLAIMABLE = "reclaimable"  # failed, and the next delivery tries again
    FAILED = "failed"  # failed for good
    EXPIRED = "expired"  # its life is over, and TTL has not deleted it yet


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A record explained. `says`: its state. `next`: what the next delivery of the same work does."""

    state: State
    says: str
    next: str


def parse_key(text: str) -> Key:
    """The key that a person typed: `operation#identity`, with or without the table's prefix, escaped or not."""
    operation, _, identity = text.removeprefix(KEY_PREFIX).partition("#")
    try:
        check_operation(operation)
        if not identity:
            raise ConfigurationError("the identity is missing")
        short = len(identity.encode("utf-8", "surrogatepass")) <= IDENTITY_BYTES_MAX and identity.isprintable()
        if short and (identity.startswith(HASHED) or STORED.fullmatch(identity)):
            return Key(operation, identity)
        return make_key(operation, identity.split("#"))
    except (ConfigurationError, InputRefused):
        raise OperatorError(
            f"{text!r} is not a key.", "Keys look like orders.fulfil#1001; `idem list` shows them.", Exit.USAGE
        ) from None


def request_for(key: Key, policy: Policy = DEFAULT_POLICY, request_hash: str | None = None) -> Request:
    """What a delivery of this key would ask of the store under `policy`, now."""
    flow = Flow(operation=key.operation, store=MemoryStore(), policy=policy)
    return flow.request(key, ends_at=None, request_hash=request_hash)


def state_of(record: Record, now_ms: int, policy: Policy = DEFAULT_POLICY) -> State:
    """The state, from what a delivery without a request hash would be told."""
    wanted = request_for(record.key, policy)
    match decide(record, wanted, now_ms):
        case TakeOver() if is_expired(record, now_ms, wanted.skew_margin_ms):
            return State.EXPIRED
        case TakeOver() if record.status is Status.FAILED:
            return State.RECLAIMABLE
        case TakeOver() | Abandoned():
            return State.STUCK
        case Held() | Claim():
            return State.RUNNING
        case Succeeded():
            return State.SUCCEEDED
        case Failed() | Mismatch():
            return State.FAILED


def reading_of(
    record: Record, now_ms: int, policy: Policy = DEFAULT_POLICY, request_hash: str | None = None
) -> Reading:
    """The record as a person needs it. `request_hash`: of a sample whose content is to be compared."""
    return Reading(
        state=state_of(record, now_ms, policy),
        says=_says(record, now_ms, policy),
        next=next_delivery(record, now_ms, policy, request_hash),
    )


def next_delivery(record: Record, now_ms: int, policy: Policy, request_hash: str | None = None) -> str:
    """What `decide` will answer to the next delivery, in words."""
    wanted = request_for(record.key, policy, request_hash)
    match decide(record, wanted, now_ms):
        case TakeOver(found, _) if is_expired(found, now_ms, wanted.skew_margin_ms):
            return "The next delivery runs the work as attempt 1: an expired record counts as none."
        case TakeOver(found, successor) if found.status is Status.FAILED:
            return f"The next delivery runs the work again, as attempt {successor.attempt}."
        case TakeOver(_, successor):
            return f"The next delivery takes over and runs the work again, as attempt {successor.attempt}."
        case Succeeded():
            return "The next delivery does not run the work; it gets this result."
        case Failed(found) if found.failure and found.failure.reclaimable:
            return (
                f"The next delivery does not run the work: it was started {times(found.starts)}, the limit of its policy."
                " `idem release` gives it another try."
            )
        case Failed():
            return "The next delivery does not run the work; it gets this failure. `idem release` lets it run again."
        case Mismatch():
            return "A delivery with this content is refused: the key was used before with other content."
        case Held(found, until):
            after = next_delivery(found, until, policy, request_hash)
            return (
                f"A delivery before {clock_time(until // 1000)} ({apart(until - now_ms)} from now) is told to come again."
                f" If nothing is recorded until then: {after}"
            )
        case Abandoned(_, reason):
            return (
                f"No delivery runs the work: {reason}. Look whether its effect was made, then `idem settle` (it was) or"
                " `idem release` (it was not)."
            )
        case Claim():
            return "The next delivery holds this claim already."


def _says(record: Record, now_ms: int, policy: Policy) -> str:
    state = state_of(record, now_ms, policy)
    if state is not State.EXPIRED and (last := last_word(record)):
        return f"{decision_text(last).capitalize()}."
    by = f"attempt {record.attempt}"
    finished = f"{clock_time(record.finished_at)} ({ago(record.finished_at, now_ms)})" if record.finished_at else "?"
    match state:
        case State.RUNNING:
            left = apart((record.lease_until or 0) - now_ms)
            return (
                f"Running: {by} claimed it at {clock_time(record.claimed_at)} ({ago(record.claimed_at, now_ms)});"
                f" its lease lives for another {left}."
            )
        case State.STUCK:
            lapsed = apart(now_ms - (record.lease_until or 0))
            return (
                f"Stuck: {by} claimed it at {clock_time(record.claimed_at)} and recorded no outcome; its lease lapsed"
                f" {lapsed} ago, so it crashed or was stopped."
            )
        case State.SUCCEEDED:
            return f"Done: {by} succeeded at {finished}."
        case State.RECLAIMABLE | State.FAILED:
            what = f"{record.failure.type}: {record.failure.message}" if record.failure else "no error was stored"
            ended = "Failed for good" if state is State.FAILED else "To be tried again"
            return f"{ended}: {by} failed at {finished}: {what}."
        case State.EXPIRED:
            return (
                f"Expired at {clock_time(record.expires_at or 0)} ({ago(record.expires_at or 0, now_ms)}), when it was"
                f" {record.status.value.replace('_', ' ')}; TTL deletes it within days."
            )


def as_json(record: Record, now_ms: int, policy: Policy = DEFAULT_POLICY) -> dict[str, Any]:
    """The record for scripts, under the names of its attributes; times are ISO 8601 in UTC. The claim's token is left out."""
    result = record.result
    found: dict[str, Any] = {
        "key": str(record.key),
        "operation": record.key.operation,
        "identity": record.key.identity,
        "state": state_of(record, now_ms, policy).value,
        "status": record.status.value,
        "attempt": record.attempt,
        "starts": record.starts,
        "claimedAt": iso(record.claimed_at),
        "finishedAt": iso(record.finished_at),
        "leaseUntil": iso(record.lease_until / 1000) if record.lease_until is not None else None,
        "expiresAt": iso(record.expires_at),
        "requestHash": record.request_hash,
        "result": None,
        "resultId": result.text if result and result.kind == "id" else None,
        "resultOmitted": result.text if result and result.kind == "omitted" else None,
        "error": None,
        "origin": dict(record.origin),
        "decided": [
            {"decision": one.decision, "by": one.by, "at": iso(one.at), "why": one.why, "attempt": one.attempt}
            for one in record.decided
        ],
    }
    if result and result.kind == "json":
        try:
            found["result"] = parsed(result.text)
        except ValueError as error:
            found["resultUnreadable"] = f"its result cannot be read as JSON: {message_of(error)}"
    if record.failure:
        failure = record.failure
        found["error"] = {"type": failure.type, "message": failure.message, "reclaimable": failure.reclaimable}
    return found


def parsed(text: str) -> Any:
    """The value of a stored result, which JSON can hold again. Raises ValueError: somebody may have written it by hand."""
    if levels_of(text) > NESTING_MAX:
        raise ValueError(f"it is nested more deeply than {NESTING_MAX} levels")
    value = json.loads(text)
    json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8")
    return value


def levels_of(text: str) -> int:
    """How many containers of a JSON text stand inside each other at most; told without reading them."""
    bare = JSON_TEXT.sub("", text)
    return max(accumulate((letter in "[{") - (letter in "]}") for letter in bare if letter in "[{]}"), default=0)


def outcome_of(record: Record) -> str:
    """The result or the error, in one line."""
    if record.failure and record.status is Status.FAILED:
        return f"{record.failure.type}: {record.failure.message}"
    if record.result is None or record.status is not Status.SUCCEEDED:
        return ""
    return {"json": "", "id": "id ", "omitted": "not kept: "}[record.result.kind] + record.result.text


def iso(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return f"{seconds:.0f} s"  # no date that a calendar knows
    return moment.isoformat(timespec="milliseconds" if seconds % 1 else "seconds").replace("+00:00", "Z")


def clock_time(seconds: float) -> str:
    """A moment for people."""
    return (iso(int(seconds)) or "").replace("T", " ").replace("Z", " UTC")


def ago(seconds: float, now_ms: int) -> str:
    """How long before now, or after."""
    distance = now_ms - int(seconds * 1000)
    return f"{apart(distance)} ago" if distance >= 0 else f"in {apart(-distance)}"


def apart(milliseconds: float) -> str:
    """A span in the two units that matter: 850 ms, 12 s, 3 min 5 s, 2 h 10 min, 4 d 3 h."""
    left = max(0, int(milliseconds))
    if left < 1000:
        return f"{left} ms"
    seconds = left // 1000
    for size, unit, small, below in ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if seconds >= size:
            rest = seconds % size // small
            return f"{seconds // size} {unit}" + (f" {rest} {below}" if rest else "")
    return f"{seconds} s"


def parse_span(text: str) -> timedelta:
    """A span as a person types it: 90s, 15m, 2h, 7d. Raises OperatorError."""
    found = re.fullmatch(r"(\d{1,6})\s*(s|m|min|h|d)", text.strip())
    if not found:
        raise OperatorError(f"{text!r} is not a span of time.", "Write 90s, 15m, 2h or 7d.", Exit.USAGE)
    unit = {"s": "seconds", "m": "minutes", "min": "minutes", "h": "hours", "d": "days"}[found[2]]
    return timedelta(**{unit: int(found[1])})


def now() -> int:
    """Now, in epoch milliseconds."""
    return SystemClock().now_ms()


def decided_as(decision: str) -> str:
    """An operator's decision, as what was done."""
    return {"release": "released", "settle": "settled", "forget": "forgotten", "erase": "erased"}.get(
        decision, decision
    )


def decision_text(one: Decided) -> str:
    """A decision in words: what was done, by whom, when and why."""
    return f"{decided_as(one.decision)} by {one.by} at {iso(one.at)}: {one.why}"


def last_word(record: Record) -> Decided | None:
    """The decision that no attempt has followed yet, so that the record is what it made of it; None otherwise."""
    last = record.decided[-1] if record.decided else None
    if last is None:
        return None
    if last.decision == "forget":
        return last if record.expires_at is not None and record.expires_at < last.at else None
    made = record.status is not Status.IN_PROGRESS and (last.at, last.attempt) == (record.finished_at, record.attempt)
    return last if made else None


def times(count: int) -> str:
    """Once, twice, 3 times."""
    return {0: "never", 1: "once", 2: "twice"}.get(count, f"{count} times")
