"""Results: what a first run returns, what is stored of it, and what a replay returns.

A first run returns what a replay will: the value after one trip through its stored form. So a tuple comes back as a list and
an integer member name as text, from the first run on. A function under `once` that is annotated with another type gets that type
both times (`serializers.py`).

| the work returns | stored and returned |
|---|---|
| null, booleans, numbers, text, lists, objects (also None, 0, False, "", [] and {}) | the same |
| a tuple | a list |
| Decimal | its text, "1.50" |
| datetime, date, time | ISO 8601 text |
| UUID | its text |
| Enum | its value |
| dataclass, Pydantic model | the object of its fields |
| ResultId("ord-7") | the identifier alone, as ResultId |
| HttpResult(201, {...}) | the same, as HttpResult; only the work can make one, no data of a client's looks like it |
| anything else, NaN, one name twice, too many levels or bytes | the first run gets the value itself, a replay gets NotKept |

One name twice is {1: "a", "1": "b"}: JSON would lose one of them. Levels are counted against NESTING_MAX, bytes against the
policy. The last row never makes the work run twice: that it was done is recorded whatever it returned.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from typing import Any, Generic, TypeVar, cast
from uuid import UUID

from idem.errors import PROCESS_ENDS
from idem.record import StoredResult
from idem.text import writable

REASON_CHARS_MAX = 200  # of a NotKept that the work returns: a sentence
NESTING_MAX = 100  # deeper JSON could be written at one depth of the stack and not be read again at another
HTTP, PLAIN = (
    "idem:http",
    "idem:plain",
)  # the one member of a stored HttpResult, and of a result that would look like one

T = TypeVar("T")

HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # a token of RFC 9110
HEADER_VALUE = re.compile(r"[\t -~\xa0-\xff]*")  # neither line ends nor other control characters


@dataclasses.dataclass(frozen=True, slots=True)
class ResultId:
    """Keep only this identifier of the result: where the effect can be looked up."""

    value: str


@dataclasses.dataclass(frozen=True, slots=True)
class NotKept:
    """What a replay gets when the work was done but its result was not kept."""

    reason: str


@dataclasses.dataclass(frozen=True, slots=True)
class HttpResult:
    """What the work of an API returns to choose the status and headers of its answer; stored and replayed with it."""

    http_status: int
    http_body: Any = None
    http_headers: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def fault(self) -> str | None:
        """Why it cannot be an answer, None if it can: the work is done, so nothing may be raised."""
        status, headers = (
            cast("Any", self.http_status),
            cast("Any", self.http_headers),
        )  # the work may have put anything there
        if type(status) is not int or not 200 <= status <= 599:
            return "its status is not a whole number from 200 to 599"
        if not isinstance(headers, Mapping):
            return "its headers are not names with values"
        for name, value in headers.items():
            if not isinstance(name, str) or not HEADER_NAME.fullmatch(name):
                return "the name of a header is not usable"
            if not isinstance(value, str) or not HEADER_VALUE.fullmatch(value):
                return "the value of a header is not one line of text"
        return None


@dataclasses.dataclass(frozen=True)  # slots stand in the way of Serializer[T](...) in Python 3.11
class Serializer(Generic[T]):
    """How a result of a type that JSON has not is kept: `write` gives the JSON value to store, `read` makes the result of it.

    What either raises is no failure of the work, which has run: the result is not kept, and a replay says so.
    """

    write: Callable[[T], Any]
    read: Callable[[Any], T]


def store(value: object, bytes_max: int, serializer: Serializer[Any] | None = None) -> tuple[StoredResult, Any]:
    """The stored form of what the work returned, and what the first run returns. Never raises for a value."""
    try:
        if isinstance(value, ResultId):
            return _store_id(value, bytes_max)
        if isinstance(value, NotKept):
            return StoredResult("omitted", writable(str(value.reason))[:REASON_CHARS_MAX]), value
        if isinstance(value, HttpResult) and (fault := value.fault()):
            return StoredResult("omitted", fault), value
        written = value if serializer is None or isinstance(value, HttpResult) else serializer.write(value)
        text = _marked(written)
        size = len(text.encode("utf-8"))
        if size > bytes_max:
            return StoredResult("omitted", f"it has {size} bytes, the limit is {bytes_max}"), value
        again = _DECODE(text)
        if (fault := _lost(written, text, again)) is not None:
            return StoredResult("omitted", fault), value
        return StoredResult("json", text), _typed(again, serializer)
    except PROCESS_ENDS:
        raise
    except BaseException as error:  # noqa: BLE001 - a value's own code may raise anything; the work is done all the same
        return StoredResult("omitted", f"it cannot be written as JSON and read again ({type(error).__name__})"), value


def replay(stored: StoredResult | None, serializer: Serializer[Any] | None = None) -> Any:
    """What a replay returns."""
    if stored is None:
        return NotKept("the record has no result")
    match stored.kind:
        case "json":
            return _read(stored.text, serializer)
        case "id":
            return ResultId(stored.text)
        case "omitted":
            return NotKept(stored.text)


def _read(text: str, serializer: Serializer[Any] | None) -> Any:
    try:
        value = _DECODE(text)
    except RecursionError:  # an older record may hold more levels than are stored now
        return NotKept(f"it is nested more deeply than {NESTING_MAX} levels")
    except ValueError:  # somebody wrote it by hand
        return NotKept("the stored result is not JSON")
    try:
        return _typed(value, serializer)
    except PROCESS_ENDS:
        raise
    except BaseException as error:  # noqa: BLE001 - a record of older code: the work is done, and must not run again
        return NotKept(f"the record holds what the type of the result does not read ({type(error).__name__})")


def _typed(value: Any, serializer: Serializer[Any] | None) -> Any:
    """What is returned for a stored JSON value."""
    unmarked = _unmarked(value)
    return unmarked if serializer is None or isinstance(unmarked, HttpResult) else serializer.read(unmarked)


def _marked(value: object) -> str:
    """What is written: an HttpResult under its mark, and a plain object that begins like a marked one under the other."""
    if isinstance(value, HttpResult):
        found = {"status": value.http_status, "headers": dict(value.http_headers), "body": value.http_body}
        return _ENCODER.encode({HTTP: found})
    text = _ENCODER.encode(value)
    return f'{{"{PLAIN}":{text}}}' if text.startswith('{"idem:') else text


def _unmarked(value: Any) -> Any:
    if not isinstance(value, dict) or len(value) != 1:
        return value
    match value:
        case {"idem:plain": inner}:
            return inner
        case {"idem:http": {"status": status, "headers": headers, "body": body}}:
            return HttpResult(status, body, headers)
        case _:
            return value


def _lost(value: object, text: str, again: object) -> str | None:
    """What would be lost or unreadable in a stored result, None if it is what the work returned."""
    if not isinstance(again, dict | list):
        return None
    if value != again and len(_ENCODER.encode(again)) != len(text):  # what is equal has lost nothing
        return "two members of an object have the same name once it is written as JSON"
    deep = text.count("[") + text.count("{") > NESTING_MAX and _is_deep(again)
    return f"it is nested more deeply than {NESTING_MAX} levels" if deep else None


def _is_deep(value: object) -> bool:
    """Whether there are more than NESTING_MAX containers inside each other, looked at level by level."""
    level = [value]
    for _ in range(NESTING_MAX):
        containers = [one for one in level if isinstance(one, dict | list)]
        level = [inner for one in containers for inner in (one.values() if isinstance(one, dict) else one)]
        if not level:
            return False
    return any(isinstance(one, dict | list) for one in level)


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
        case _ if callable(dump := getattr(type(value), "model_dump", None)):
            return dump(value, mode="json")
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        case _:
            raise TypeError(type(value).__name__)


_DECODE = json.JSONDecoder().decode
_ENCODER = json.JSONEncoder(allow_nan=False, ensure_ascii=False, separators=(",", ":"), default=_plain)
