"""Results: what a first run returns, what is stored of it, and what a replay returns.

A first run returns what a replay will: the value after one trip through its stored form. So a tuple comes back as a list and
an integer member name as text, from the first run on.

| the work returns | stored and returned |
|---|---|
| null, booleans, numbers, text, lists, objects (also None, 0, False, "", [] and {}) | the same |
| a tuple | a list |
| Decimal | its text, "1.50" |
| datetime, date, time | ISO 8601 text |
| UUID | its text |
| Enum | its value |
| dataclass | the object of its fields |
| ResultId("ord-7") | the identifier alone, as ResultId |
| anything else, NaN, or more than the policy's limit | the first run gets the value itself, a replay gets NotKept |

The last row never makes the work run twice: that it was done is recorded whatever it returned.
"""

from __future__ import annotations

import dataclasses
import json
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

from idem.record import StoredResult
from idem.text import writable

REASON_CHARS_MAX = 200  # of a NotKept that the work returns: a sentence


@dataclasses.dataclass(frozen=True, slots=True)
class ResultId:
    """Keep only this identifier of the result: where the effect can be looked up."""

    value: str


@dataclasses.dataclass(frozen=True, slots=True)
class NotKept:
    """What a replay gets when the work was done but its result was not kept."""

    reason: str


def store(value: object, bytes_max: int) -> tuple[StoredResult, Any]:
    """The stored form of what the work returned, and what the first run returns. Never raises for a value."""
    if isinstance(value, ResultId):
        return _store_id(value, bytes_max)
    if isinstance(value, NotKept):
        return StoredResult("omitted", writable(str(value.reason))[:REASON_CHARS_MAX]), value
    try:
        text = _ENCODER.encode(value)
        size = len(text.encode("utf-8"))
    except Exception as error:  # noqa: BLE001 - a value's own code may raise anything; the work is done all the same
        return StoredResult("omitted", f"it cannot be written as JSON ({type(error).__name__})"), value
    if size > bytes_max:
        return StoredResult("omitted", f"it has {size} bytes, the limit is {bytes_max}"), value
    return StoredResult("json", text), json.loads(text)


def replay(stored: StoredResult | None) -> Any:
    """What a replay returns."""
    if stored is None:
        return NotKept("the record has no result")
    match stored.kind:
        case "json":
            return json.loads(stored.text)
        case "id":
            return ResultId(stored.text)
        case "omitted":
            return NotKept(stored.text)


def _store_id(value: ResultId, bytes_max: int) -> tuple[StoredResult, Any]:
    try:
        size = len(value.value.encode("utf-8"))
    except (AttributeError, UnicodeEncodeError):
        return StoredResult("omitted", "its identifier is not text that UTF-8 can write"), value
    if not 0 < size <= bytes_max:
        return StoredResult("omitted", f"its identifier has {size} bytes, the limit is {bytes_max}"), value
    return StoredResult("id", value.value), value


def _plain(value: object) -> object:
    """The JSON value that stands for one of another type."""
    match value:
        case Decimal() | UUID():
            return str(value)
        case datetime() | date() | time():
            return value.isoformat()
        case Enum():
            return value.value
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        case _:
            raise TypeError(type(value).__name__)


_ENCODER = json.JSONEncoder(allow_nan=False, ensure_ascii=False, separators=(",", ":"), default=_plain)
