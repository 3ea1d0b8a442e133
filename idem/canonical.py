"""Canonical JSON: one text for every way to write the same value, and its SHA-256.

| these are the same | these are not |
|---|---|
| 1, 1.0, 1e0, Decimal("1.00"), -0.0 and 0 | 1 and "1"; 1 and true |
| members of an object in any order; integer and text member names (1 and "1") | an absent member and a null one |
| a tuple and a list; a set in any order | a set and a list; two lists in another order |
| composed and decomposed text (NFC) | letters in another case; text with other white space |
| a datetime, date or time and its ISO 8601 text; one instant in two time zones | a naive datetime and an aware one |
| a UUID and its lower-case text; an Enum member and its value; a dataclass and the object of its fields | bytes and any text |

Not a number, infinity, and member names that meet after normalisation have no canonical text: they are refused. The rules
have a version, and every hash names it, so that hashes of different rules are never compared.
"""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal
from enum import Enum
from uuid import UUID

from idem.errors import MalformedDelivery
from idem.text import bounded, composed, is_composed

HASH_VERSION = "v1"
DIGITS_MAX = 400  # a double has at most 309 digits before its point; longer decimals are mistakes or attacks
BITS_MAX = 65_536  # of a whole number: JSON's parser reads 4,300 digits (14,300 bits), and writing more takes the square of them
NAME_CHARS_MAX = 100  # of a member's name in an error: enough to find it

# What the encoder's text may hold that is not canonical. A match inside a string only costs time: what is undecided is walked.
_ESCAPES = re.compile(r"\\.")
_ODD_NAME = re.compile(r'"(?:[-0-9][^"]*|true|false|null)":')  # if it was no text, it was sorted by its value
_ODD_NUMBER = re.compile(r"\.0(?!\d)|e[+-]")  # 12.0 is 12, 1e+16 is written out; 12.5 and 12.05 stand as they are


def request_hash(value: object) -> str:
    """The hash of a canonical value, as `v1:<64 hex digits>`."""
    return f"{HASH_VERSION}:{digest(value)}"


def digest(value: object) -> str:
    """SHA-256 over the canonical text of `value`: 64 hex digits. Raises MalformedDelivery for what has no such text."""
    return hashlib.sha256(canonical(value)).hexdigest()


def canonical(value: object) -> bytes:
    """The canonical text of `value`, as bytes.

    Most payloads hold only text in NFC and plain numbers: for them the C encoder's sorted output is already canonical.
    Anything else is walked.
    """
    try:
        quick = _QUICK.encode(value)
        if _is_canonical(quick, value):
            return quick.encode("ascii")
    except (_NotPlainJson, TypeError, ValueError, RecursionError):
        pass  # not a swallowed fault: the walk below accepts it or says what is wrong with it
    try:
        return _walk(value).encode("ascii")
    except RecursionError:
        raise MalformedDelivery(
            "the value is nested too deeply to be hashed: hash chosen fields of it instead"
        ) from None


def _is_canonical(quick: str, value: object) -> bool:
    """Whether the encoder's text of `value` is what the walk would write."""
    if "\\" in quick:
        if "\\u" in quick and not is_composed(_UNESCAPED.encode(value)):
            return False
        quick = _ESCAPES.sub("", quick)  # now every quotation mark begins or ends a string
    if _ODD_NAME.search(quick):
        return False
    if "." in quick or "e+" in quick or "e-" in quick:
        return not _ODD_NUMBER.search(" ".join(quick.split('"')[::2]))  # what stands outside of strings
    return True


class _NotPlainJson(Exception):
    """The C encoder met a value that is not JSON's own."""


def _refuse(_value: object) -> object:
    raise _NotPlainJson


_QUICK = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False, default=_refuse)
_UNESCAPED = json.JSONEncoder(ensure_ascii=False)  # all of a value's text; what is in NFC as a whole is so in each part
_text = json.JSONEncoder().encode


def _walk(value: object) -> str:
    """The canonical text of one value and all below it, in ASCII."""
    match value:
        case None:
            return "null"
        case Enum():
            return _walk(value.value)
        case bool():
            return "true" if value else "false"
        case str():
            return _string(value)
        case int() | float() | Decimal():
            return _number(value)
        case Mapping():
            return _members(value)
        case list() | tuple():
            return f"[{','.join(_walk(one) for one in value)}]"
        case set() | frozenset():
            return f"set[{','.join(sorted({_walk(one) for one in value}))}]"
        case bytes() | bytearray() | memoryview():
            return f'bytes"{base64.b64encode(value).decode("ascii")}"'
        case datetime():
            return _string(_instant(value).isoformat())
        case date() | time():
            return _string(value.isoformat())
        case UUID():
            return _string(str(value))
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return _members({field.name: getattr(value, field.name) for field in dataclasses.fields(value)})
        case _:
            raise MalformedDelivery(
                f"a {type(value).__name__} has no canonical form: pass JSON values, or choose fields to hash"
            )


def _instant(value: datetime) -> datetime:
    try:
        return value.astimezone(UTC) if value.tzinfo else value
    except OverflowError:
        raise MalformedDelivery(f"{value.isoformat()} is before year 1 or after year 9999 in UTC") from None


def _string(value: str) -> str:
    return _text(composed(str.__str__(value)))  # a subclass may spell itself in another way


def _members(value: Mapping[object, object]) -> str:
    names: dict[str, object] = {}
    for name, member in value.items():
        shown = composed(_member_name(name))
        if shown in names:
            said = bounded(shown, NAME_CHARS_MAX)
            raise MalformedDelivery(f"two members of an object have the same name {said!r}: which one is meant?")
        names[shown] = member
    return f"{{{','.join(f'{_text(name)}:{_walk(names[name])}' for name in sorted(names))}}}"


def _member_name(name: object) -> str:
    if isinstance(name, Enum):
        return _member_name(name.value)
    if isinstance(name, str):
        return str.__str__(name)
    if name is None or isinstance(name, bool | int | float):
        return _walk(name) if not isinstance(name, float) else json.dumps(name)
    raise MalformedDelivery(f"a member name must be text or a number, not {type(name).__name__}")


def _number(value: int | float | Decimal) -> str:
    """Plain decimal digits, without exponent, trailing zeros or a minus before zero."""
    if isinstance(value, int) and value.bit_length() > BITS_MAX:
        raise MalformedDelivery(f"a whole number of {value.bit_length()} bits is too long to be hashed")
    exact = (
        value if isinstance(value, Decimal) else Decimal(int(value) if isinstance(value, int) else repr(float(value)))
    )
    if not exact.is_finite():
        raise MalformedDelivery(f"{bounded(str(value), DIGITS_MAX)} is not a number that JSON can hold")
    if exact.is_zero():
        return "0"
    sign, digits, power = exact.as_tuple()
    exponent = int(power)  # not one of the letters for special values: it is finite
    written = "".join(map(str, digits)).lstrip("0")
    stripped = written.rstrip("0")
    exponent += len(written) - len(stripped)
    if len(stripped) + abs(exponent) > DIGITS_MAX and not isinstance(value, int):
        raise MalformedDelivery(f"a number with an exponent of {exponent} is too long to be hashed")
    minus = "-" if sign else ""
    if exponent >= 0:
        return minus + stripped + "0" * exponent
    padded = stripped.rjust(1 - exponent, "0")
    return f"{minus}{padded[:exponent]}.{padded[exponent:]}"


def combined(values: Iterable[object]) -> str:
    """The digest of several values, in order: never equal to that of their concatenation."""
    return digest(list(values))
