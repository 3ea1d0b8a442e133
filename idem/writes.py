"""The caller's own writes, committed together with a record.

Items, keys and values are in the low-level client's form: {"orderId": {"S": "o-1"}}.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Put:
    """A PutItem of the caller's own."""

    table: str
    item: Mapping[str, Any]
    condition: str | None = None
    names: Mapping[str, str] | None = None
    values: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Update:
    """An UpdateItem of the caller's own."""

    table: str
    key: Mapping[str, Any]
    update: str
    condition: str | None = None
    names: Mapping[str, str] | None = None
    values: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Delete:
    """A DeleteItem of the caller's own."""

    table: str
    key: Mapping[str, Any]
    condition: str | None = None
    names: Mapping[str, str] | None = None
    values: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """A ConditionCheck: no write, but the transaction happens only while the condition holds."""

    table: str
    key: Mapping[str, Any]
    condition: str
    names: Mapping[str, str] | None = None
    values: Mapping[str, Any] | None = None


Write = Put | Update | Delete | Check | Mapping[str, Any]
"""One action of a transaction; a mapping is an action as boto3 takes it: {"Put": {...}}."""


@dataclass(frozen=True, slots=True)
class Commit:
    """What work returns to have its writes committed together with its record: all of it, or nothing."""

    writes: Sequence[Write]
    result: Any = None
