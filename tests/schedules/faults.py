"""What can happen at a point of a schedule: a call to the table, or the effect of the work."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from botocore.exceptions import ClientError, EndpointConnectionError, ReadTimeoutError

from tests.schedules.table_model import cancelled, refused


class Fault(StrEnum):
    CRASH_BEFORE = "crash before"  # the process dies, nothing was sent
    CRASH_AFTER = "crash after"  # the process dies, it was applied
    LOST = "answer lost"  # applied; the SDK gives up with a time-out
    RETRIED = "answer lost, SDK repeats"  # applied; the SDK repeats it and meets what it wrote
    LATE = "arrives late"  # the SDK gives up; the request is applied at any later time, or never
    UNSENT = "not sent"  # not applied; the SDK gives up on the connection
    THROTTLED = "throttled"
    CONFLICT = "transaction conflict"
    DENIED = "denied"  # refused for good, such as a permission that was taken away
    SLOW = "slow"  # time passes until just before the lease ends, and others go on
    STALL = "stall"  # the process freezes past its lease, others go on, and it wakes up again


DELAYS = (Fault.SLOW, Fault.STALL)
AT_WRITES: tuple[Fault, ...] = tuple(Fault)
AT_READS = (Fault.CRASH_BEFORE, Fault.UNSENT, Fault.THROTTLED, Fault.STALL)
AT_EFFECTS = (Fault.CRASH_BEFORE, Fault.CRASH_AFTER, Fault.LOST, Fault.STALL)
EFFECT, BATCH = "effect", "batch_execute_statement"

URL = "https://dynamodb.test"


def possible(operation: str, after_delay: bool) -> tuple[Fault, ...]:  # noqa: FBT001 - the scheduler's own question
    """The faults that make sense at a call. After a delay anything but another delay."""
    known = {"get_item": AT_READS, "batch_get_item": AT_READS, EFFECT: AT_EFFECTS}.get(operation, AT_WRITES)
    return tuple(one for one in known if one not in DELAYS) if after_delay else known


def error_of(fault: Fault, operation: str, actions: int) -> Exception:
    """What botocore raises. `actions`: how many a transaction has; the last of them is the one that conflicts."""
    match fault:
        case Fault.LOST | Fault.LATE:
            return ReadTimeoutError(endpoint_url=URL)
        case Fault.UNSENT:
            return EndpointConnectionError(endpoint_url=URL)
        case Fault.DENIED:
            return refused(operation, "AccessDeniedException", "not allowed")
        case Fault.THROTTLED if operation != "transact_write_items":
            return refused(operation, "ProvisionedThroughputExceededException", "slow down")
        case Fault.CONFLICT if operation != "transact_write_items":
            return refused(operation, "TransactionConflictException", "a transaction is at work on the item")
        case Fault.THROTTLED:
            return _cancelled("ThrottlingError", actions)
        case Fault.CONFLICT:
            return _cancelled("TransactionConflict", actions)
        case _:
            raise AssertionError(f"{fault} is not an error")


def partly_of(fault: Fault, applied: Mapping[str, Any]) -> Mapping[str, Any]:
    """The answer to a batch whose last statement was not applied: HTTP 200, and an error of its own."""
    code = "ThrottlingError" if fault is Fault.THROTTLED else "TransactionConflict"
    return {"Responses": [*applied["Responses"], {"Error": {"Code": code, "Message": "try again"}}]}


def _cancelled(code: str, actions: int) -> ClientError:
    return cancelled([{"Code": "None"}] * (actions - 1) + [{"Code": code, "Message": "try again"}])
