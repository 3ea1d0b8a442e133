"""What an operator may do to a record: one conditional write on exactly the version that was shown.

| decision | becomes | the next delivery |
|---|---|---|
| release | failed, reclaimable, no starts counted | runs the work, as the next attempt |
| settle | succeeded, with the result id that the operator gives | gets that result; the work does not run |
| forget | expired now; TTL deletes it | runs the work as if it were new |
| erase | deleted at once, without a trace | the same |

Every decision draws a new claim token, so that an attempt that wakes up late is fenced off, and a second operator who saw the
same version is refused. Who decided, what, when and why is a log line of the logger `idem`, and goes into the record's `decided`,
which every later attempt carries on, also one that claims a forgotten key anew. The record keeps the last `DECISIONS_MAX` of
them; each takes at most `WHO_CHARS_MAX` and `WHY_CHARS_MAX` characters and about 80 bytes, so all of them are below 2 KB in ASCII.
TTL deletes a forgotten record within days; what was decided is then in the log alone, as it is at once after `erase`.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from idem.clock import Clock, SystemClock, new_token
from idem.dynamo.actions import Actions
from idem.dynamo.schema import from_item
from idem.dynamo.sender import Sender
from idem.log import LOGGER, decision_line
from idem.operators.connection import Connection
from idem.operators.operator_errors import Exit, OperatorError
from idem.operators.record_text import State, iso, state_of
from idem.policy import SKEW_MARGIN
from idem.record import Decided, Failure, Record, StoredResult
from idem.store import failed, succeeded
from idem.text import bounded, one_line

WHY_CHARS_MIN = 3  # "x" says nothing to whoever reads the record later
WHY_CHARS_MAX = 300  # enough for a sentence and a ticket; a refused claim is billed by the item's size
WHO_CHARS_MAX = 200  # the ARN of an assumed role with a mail address as its session
DECISIONS_MAX = 3  # that a record keeps: the last one, and what it came after
RESULT_ID_CHARS_MAX = 300
SEND_FOR_MS = 10_000  # how long a write that meets conflicts or throttles is repeated


class Decision(StrEnum):
    RELEASE = "release"
    SETTLE = "settle"
    FORGET = "forget"
    ERASE = "erase"


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """What is to be done, by whom and why. result_id: of a settled record. force: also while its attempt may be running.

    Raises OperatorError for a reason that says nothing, and for a settled record without a result id.
    """

    decision: Decision
    who: str
    why: str
    result_id: str | None = None
    force: bool = False

    def __post_init__(self) -> None:
        check_why(self.why)
        if self.decision is Decision.SETTLE and not 0 < len(self.result_id or "") <= RESULT_ID_CHARS_MAX:
            raise OperatorError("A settled record needs the id of its result.", "Pass --result-id.", Exit.USAGE)


def check_why(why: str) -> None:
    """Raises OperatorError unless a reason says something and is short enough to be kept."""
    length = len(why.strip())
    if WHY_CHARS_MIN <= length <= WHY_CHARS_MAX:
        return
    fault = "says too little" if length < WHY_CHARS_MIN else "is too long"
    raise OperatorError(
        f"The reason {fault}: nothing was changed.",
        f"--why takes {WHY_CHARS_MIN} to {WHY_CHARS_MAX} characters, such as 'ticket 7, the carrier was down'.",
        Exit.USAGE,
    )


def check(found: Record, instruction: Instruction, now_ms: int) -> None:
    """Raises OperatorError where the decision does not fit what was found."""
    state = state_of(found, now_ms)
    if state is State.RUNNING and not instruction.force:
        raise OperatorError(
            f"{found.key} is being worked on until {iso((found.lease_until or 0) / 1000)}: nothing was changed.",
            "Wait for the lease's end; or, if you know that its process is dead, add --force.",
        )
    if state is State.EXPIRED and instruction.decision is not Decision.ERASE:
        raise OperatorError(f"{found.key} has expired: the next delivery runs it anyway.", "Nothing was changed.")
    if state is State.SUCCEEDED and instruction.decision is Decision.RELEASE:
        raise OperatorError(
            f"{found.key} succeeded: releasing it would run its work a second time.",
            "Nothing was changed. If that is what you want, `idem forget` it.",
        )
    if state is State.SUCCEEDED and instruction.decision is Decision.SETTLE:
        raise OperatorError(f"{found.key} has succeeded already.", "Nothing was changed.")


def decided(found: Record, instruction: Instruction, now_ms: int) -> Record:
    """The record as the decision leaves it."""
    said = Decided(
        decision=instruction.decision.value,
        by=bounded(instruction.who, WHO_CHARS_MAX),
        at=now_ms // 1000,
        why=instruction.why.strip(),
        attempt=found.attempt,
    )
    base = replace(found, claim_token=new_token(), decided=(*found.decided, said)[-DECISIONS_MAX:])
    match instruction.decision:
        case Decision.RELEASE:
            failure = Failure(type="Released", message=f"by {said.by}: {said.why}", reclaimable=True)
            return failed(replace(base, starts=0, result=None), failure, _end(found, now_ms), now_ms)
        case Decision.SETTLE:
            result = StoredResult("id", instruction.result_id or "")
            return succeeded(replace(base, failure=None), result, _end(found, now_ms), now_ms)
        case Decision.FORGET | Decision.ERASE:
            over = now_ms // 1000 - int(SKEW_MARGIN.total_seconds())
            lease = None if found.lease_until is None else over * 1000  # a lease that lives would keep its record alive
            return replace(base, expires_at=over, lease_until=lease)


def change(connection: Connection, shown: Record, instruction: Instruction, clock: Clock | None = None) -> Record:
    """Write the decision over exactly `shown`. Raises OperatorError, with status CHANGED when it is no longer what is there."""
    clock = clock or SystemClock()
    now_ms = clock.now_ms()
    check(shown, instruction, now_ms)
    after = decided(shown, instruction, now_ms)
    client, sender = connection.dynamodb, Sender(connection.dynamodb, clock)
    request: dict[str, Any] = Actions(connection.table, connection.sort_value).put(after, over=shown)
    call = client.put_item
    if instruction.decision is Decision.ERASE:
        key = {name: request["Item"][name] for name in ("pk", "sk") if name in request["Item"]}
        request = {name: value for name, value in request.items() if name != "Item"} | {"Key": key}
        call = client.delete_item
    refused = sender.send(instruction.decision.value, call, request, now_ms + SEND_FOR_MS)
    there = from_item(refused.item, shown.key) if refused and refused.item else None
    if refused is None or (there is not None and there.claim_token == after.claim_token):
        _log(after)  # the second: the first answer was lost, and the SDK asked again
        return after
    now = f"it is now {state_of(there, now_ms).value}, attempt {there.attempt}" if there else "it is gone"
    raise OperatorError(
        f"{shown.key} changed after it was shown: {now}. Nothing was written.", "Look again: `idem show`.", Exit.CHANGED
    )


def _log(after: Record) -> None:
    """Say who decided what and why, where whoever runs this keeps logs: without any set-up, on standard error."""
    logging.getLogger(LOGGER).warning("decision on %s: %s", one_line(str(after.key)), decision_line(after.decided[-1]))


def _end(found: Record, now_ms: int) -> int | None:
    """The record's new end: its own retention again, counted from now."""
    if found.expires_at is None:
        return None
    return now_ms // 1000 + max(0, found.expires_at - (found.finished_at or found.claimed_at))
