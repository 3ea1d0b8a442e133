"""The written table of canonical JSON, line by line; fixed vectors; hostile values."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from types import MappingProxyType
from typing import Any
from uuid import UUID

import pytest

from idem.canonical import canonical, combined, digest, request_hash
from idem.errors import MalformedDelivery


class Colour(Enum):
    RED = "red"
    PAIR = (1, 2)


class Word(StrEnum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


@dataclass
class Order:
    id: str
    lines: list[int]


PLUS_TWO = timezone(timedelta(hours=2))
NFC, NFD = "caf\u00e9", "cafe\u0301"

SAME: list[tuple[Any, ...]] = [
    (1, 1.0, 1e0, Decimal("1.00"), Decimal("1E0"), Decimal("0.1E1")),
    (0, 0.0, -0.0, Decimal("-0"), Decimal("0E+9")),
    (100, 1e2, Decimal("1E+2"), Decimal("100.00")),
    (0.1, Decimal("0.1"), Decimal("0.10")),
    (1e23, Decimal("1E+23"), 10**23),
    (1e-7, Decimal("0.0000001")),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}, {"b": 2.0, "a": Decimal(1)}, MappingProxyType({"b": 2, "a": 1})),
    ({1: "x", 10: "y", 2: "z"}, {"1": "x", "10": "y", "2": "z"}),
    ({True: 1}, {"true": 1}),
    ({None: 1}, {"null": 1}),
    ((1, 2), [1, 2]),
    ({1, 2, 3}, {3, 2, 1}, frozenset({2, 1, 3})),
    ({NFC, NFD}, {NFC}, {NFD}),
    (NFC, NFD),
    ({NFC: 1}, {NFD: 1}),
    (
        datetime(2026, 11, 30, 12, 0, tzinfo=UTC),
        datetime(2026, 11, 30, 14, 0, tzinfo=PLUS_TWO),
        "2026-11-30T12:00:00+00:00",
    ),
    (datetime(2026, 11, 30, 12, 0), "2026-11-30T12:00:00"),  # noqa: DTZ001 - a naive one is the subject
    (date(2026, 11, 30), "2026-11-30"),
    (time(12, 30), "12:30:00"),
    (UUID("12345678-1234-5678-1234-56781234567A"), "12345678-1234-5678-1234-56781234567a"),
    (Colour.RED, Word.RED, "red"),
    (Colour.PAIR, [1, 2]),
    (Level.HIGH, 3, 3.0),
    (Order("o-1", [1, 2]), {"id": "o-1", "lines": (1, 2)}),
    (b"ab", bytearray(b"ab"), memoryview(b"ab")),
]

DIFFERENT: list[tuple[Any, ...]] = [
    (1, "1", True, [1], {"1": None}),
    (0, False, None, "", [], {}, set()),
    ({}, {"a": None}),
    ([1, 2], [2, 1], {1, 2}),
    ([[1], 2], [1, [2]], [1, 2]),
    ("a", "A", " a", "a ", "a\n"),
    (datetime(2026, 11, 30, 12, 0), datetime(2026, 11, 30, 12, 0, tzinfo=UTC)),  # noqa: DTZ001
    (b"ab", "ab", "YWI=", 'bytes"YWI="'),
    ({1, 2}, "set[1,2]", ["set", 1, 2]),
    ("null", None),
    ("\ud800", "\ud801", "?"),
    (10**400, 10**400 + 1),
    (1.1, 1.1000000000000003, 11),
    ({"a": "b"}, {"a": ["b"]}, ["a", "b"], 'a":"b'),
]


@pytest.mark.parametrize("values", SAME, ids=lambda values: repr(values[0])[:40])
def test_values_that_are_the_same_have_one_text(values: tuple[Any, ...]) -> None:
    assert len({canonical(value) for value in values}) == 1
    assert len({canonical({"in": [value]}) for value in values}) == 1


@pytest.mark.parametrize("values", DIFFERENT, ids=lambda values: repr(values[0])[:40])
def test_values_that_differ_have_different_texts(values: tuple[Any, ...]) -> None:
    assert len({canonical(value) for value in values}) == len(values)
    assert len({canonical({"in": [value]}) for value in values}) == len(values)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": [1, 2.50, "x"], "a": None}, b'{"a":null,"b":[1,2.5,"x"]}'),
        ({"total": Decimal("19.90"), "id": 7}, b'{"id":7,"total":19.9}'),
        (1e22, b"10000000000000000000000"),
        (-1.5e-3, b"-0.0015"),
        ('q"\\\n\t\x00\x7f/', b'"q\\"\\\\\\n\\t\\u0000\\u007f/"'),
        ("\u20ac\U0001f600", b'"\\u20ac\\ud83d\\ude00"'),
        ({"z": {"\u00e9": 1}}, b'{"z":{"\\u00e9":1}}'),
        ({2, 10}, b"set[10,2]"),
        (b"\x00\xff", b'bytes"AP8="'),
    ],
)
def test_the_text_never_changes(value: Any, text: bytes) -> None:
    assert canonical(value) == text


def test_a_hash_names_its_version_and_is_sha256_of_the_text() -> None:
    value = {"orderId": "o-1", "total": 19.9}
    expected = hashlib.sha256(b'{"orderId":"o-1","total":19.9}').hexdigest()
    assert digest(value) == expected
    assert request_hash(value) == f"v1:{expected}"
    assert request_hash({}) == "v1:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"


def test_a_combination_of_values_is_not_their_concatenation() -> None:
    assert len({combined(["ab", "c"]), combined(["a", "bc"]), combined(["abc"]), combined([["ab", "c"]])}) == 4
    assert combined(["c", "ab"]) != combined(["ab", "c"])


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def circular() -> Any:
    value: list[Any] = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("inf"),
        -float("inf"),
        Decimal("NaN"),
        Decimal("sNaN"),
        Decimal("Infinity"),
        Decimal("1E+999999"),
        Decimal("1E-999999"),
        object(),
        {"a": object()},
        {(1, 2): 3},
        {b"a": 1},
        {NFC: 1, NFD: 2},
        {1: "a", "1": "b"},
        {None: "a", "null": "b"},
        nested(100_000),
        circular(),
        datetime.max.replace(tzinfo=timezone(-timedelta(hours=12))),
        datetime.min.replace(tzinfo=timezone(timedelta(hours=12))),
        lambda: None,
        Order,
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_has_no_canonical_text_is_refused_with_one_error(value: Any) -> None:
    for hostile in (value, [value], {"a": value}):
        with pytest.raises(MalformedDelivery):
            canonical(hostile)


def test_long_integers_are_exact() -> None:
    number = 10**5000 + 7
    assert canonical(number) == b"1" + b"0" * 4999 + b"7"
    assert canonical({"n": -number}) == b'{"n":-' + canonical(number) + b"}"


def test_the_text_is_ascii_whatever_the_value() -> None:
    text = canonical({"\ud83d": "\udfff", "\u00e9\u0301": ["\x00", "\U0010ffff"]})
    assert text.isascii()
    assert not re.search(rb"[\x00-\x1f]", text)
    json.loads(text)
