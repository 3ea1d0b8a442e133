"""Transactions: the record's own action first, the caller's writes behind it, and what a cancelled one means.

The record comes first so that the reasons, which come back in request order, begin with the one that decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from idem.errors import TransactionRefused
from idem.writes import Check, Delete, Put, Update, Write

ACTIONS_MAX = 100  # DynamoDB's limit for one TransactWriteItems
BYTES_MAX = 4 * 1024 * 1024  # and for the items in it
RETRYABLE_REASONS = frozenset({"TransactionConflict", "ProvisionedThroughputExceeded", "ThrottlingError"})

Action = dict[str, Any]


@dataclass(frozen=True, slots=True)
class RecordRefused:
    """The record's own condition failed; `item` is what stands under the key, None if the engine sent nothing."""

    item: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class CallerRefused:
    """The condition of the caller's write number `index` failed."""

    index: int
    item: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class TryAgain:
    """Only conflicts and throttles: the same transaction may succeed in a moment."""


@dataclass(frozen=True, slots=True)
class Impossible:
    """Something that a repetition does not cure, such as an item above 400 KB."""

    why: str


Cancellation = RecordRefused | CallerRefused | TryAgain | Impossible


def read_reasons(reasons: Sequence[Mapping[str, Any]]) -> Cancellation:
    """What the reasons of a cancelled transaction mean; the first one is the record's.

    A failed condition decides, the record's before the caller's. While the record's own action met a conflict, nothing else
    decides: what the caller's condition refused may be this very work, done by the rival. Otherwise it is worth trying again
    only if every reason is a conflict or a throttle.
    """
    codes = [reason.get("Code", "None") for reason in reasons]
    final = [code for code in codes if code not in RETRYABLE_REASONS | {"None", "ConditionalCheckFailed"}]
    if codes and codes[0] in RETRYABLE_REASONS and not final:
        return TryAgain()
    for index, (code, reason) in enumerate(zip(codes, reasons, strict=True)):
        if code == "ConditionalCheckFailed":
            item = reason.get("Item") or None
            return RecordRefused(item) if index == 0 else CallerRefused(index - 1, item)
    real = [(index, code) for index, code in enumerate(codes) if code != "None"]
    if real and all(code in RETRYABLE_REASONS for _, code in real):
        return TryAgain()
    said = ", ".join(f"action {index}: {code} {reasons[index].get('Message') or ''}".strip() for index, code in real)
    return Impossible(said or "it was cancelled without a reason")


def transaction(record_action: Action, writes: Sequence[Write]) -> list[Action]:
    """The actions to send, the record's first. Raises TransactionRefused for what DynamoDB would refuse whole."""
    listed: object = writes
    if not isinstance(listed, list | tuple):
        raise TransactionRefused(f"the writes must be a list, not {type(listed).__name__}")
    actions = [record_action, *(_readable(index, write) for index, write in enumerate(writes))]
    if len(actions) > ACTIONS_MAX:
        raise TransactionRefused(
            f"{len(writes)} writes and the record are {len(actions)} actions; a transaction takes {ACTIONS_MAX}: split the work"
            " into several keys"
        )
    size = sum(_action_size(action) for action in actions)
    if size > BYTES_MAX:
        raise TransactionRefused(
            f"the transaction has {size} bytes; DynamoDB takes {BYTES_MAX}: split the work, or store less"
        )
    _one_action_per_item(actions)
    return actions


def _readable(index: int, write: Write) -> Action:
    """The write as an action whose item or key, table and values can be read. Raises TransactionRefused."""
    try:
        action = to_action(write)
        body = next(iter(action.values()))
        if not isinstance(body["TableName"], str) or not (body.get("Key") or body["Item"]):
            raise TransactionRefused(f"write {index} needs a table, and a key or an item")
        _action_size(action)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise TransactionRefused(f"write {index} is not in the low-level client's form: {error!r}") from error
    return action


def to_action(write: Write) -> Action:
    """A write as boto3 takes it. Raises TransactionRefused for something that is no action."""
    if isinstance(write, Mapping):
        if len(write) != 1 or not set(write) <= {"Put", "Update", "Delete", "ConditionCheck"}:
            raise TransactionRefused(f"a write must be one of Put, Update, Delete, ConditionCheck, not {sorted(write)}")
        return dict(write)
    conditional = {
        "ConditionExpression": write.condition,
        "ExpressionAttributeNames": dict(write.names) if write.names else None,
        "ExpressionAttributeValues": dict(write.values) if write.values else None,
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD" if write.condition else None,
    }
    parts: dict[str, Any] = {"TableName": write.table}
    match write:
        case Put():
            name, parts = "Put", parts | {"Item": dict(write.item)}
        case Update():
            name, parts = "Update", parts | {"Key": dict(write.key), "UpdateExpression": write.update}
        case Delete():
            name, parts = "Delete", parts | {"Key": dict(write.key)}
        case Check():
            name, parts = "ConditionCheck", parts | {"Key": dict(write.key)}
    return {name: parts | {key: value for key, value in conditional.items() if value is not None}}


def _one_action_per_item(actions: Sequence[Action]) -> None:
    """Refuse two actions on one item. A Put shows its whole item, so its key is known once a keyed action on its table is."""
    bodies = [next(iter(action.values())) for action in actions]
    key_names = {body["TableName"]: tuple(sorted(body["Key"])) for body in bodies if "Key" in body}
    seen: dict[tuple[str, str], int] = {}
    for index, body in enumerate(bodies):
        whole = body.get("Key") or body["Item"]
        names = key_names.get(body["TableName"], tuple(sorted(whole)))
        mark = (body["TableName"], repr([(name, whole.get(name)) for name in names]))
        if mark in seen:
            raise TransactionRefused(
                f"actions {seen[mark]} and {index} are on the same item of {body['TableName']} (0 is the record): a transaction"
                " takes one action per item, so put a condition and a write on one item into one action"
            )
        seen[mark] = index


def _action_size(action: Action) -> int:
    body = next(iter(action.values()))
    values = body.get("ExpressionAttributeValues", {})
    return _map_size(body.get("Item") or body.get("Key") or {}) + sum(_value_size(value) for value in values.values())


def _map_size(item: Mapping[str, Any]) -> int:
    return sum(len(name.encode()) + _value_size(value) for name, value in item.items())


def _value_size(value: Mapping[str, Any]) -> int:
    """Bytes of one attribute value by DynamoDB's published rule; a number is counted by its digits, a little too many."""
    ((kind, content),) = value.items()
    match kind:
        case "S":
            return len(content.encode("utf-8", "surrogatepass"))
        case "N":
            return len(content)
        case "B":
            return len(content)
        case "L":
            return 3 + sum(1 + _value_size(one) for one in content)
        case "M":
            return 3 + len(content) + _map_size(content)
        case "SS" | "NS" | "BS":
            return sum(len(one) for one in content)
        case _:  # BOOL, NULL
            return 1
