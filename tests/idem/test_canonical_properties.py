"""Canonical JSON over arbitrary values: equal texts if and only if equal values, and both paths give one text."""

from __future__ import annotations

import json
import random
from decimal import Decimal
from typing import Any
from unicodedata import normalize

from hypothesis import example, given
from hypothesis import strategies as st

from idem import canonical as module
from idem.canonical import canonical
from idem.errors import MalformedDelivery

walk = module._walk  # noqa: SLF001 - the slow path by itself: the two must always agree

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6) | st.sampled_from(
    ["", "1", "1.0", "-1", "1e5", "null", "true", "NaN", "é", "e\u0301", "a\x00", '"', "\\u", ',"1":', "[1.0"]
)
NUMBERS = (
    st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.decimals(allow_nan=False, allow_infinity=False, places=3)
    | st.sampled_from([0, 0.0, -0.0, 1, 1.0, 10, 1e1, 10**20, 1e20, 1e16, 0.1, 1e-9])
)
SCALARS = st.none() | st.booleans() | NUMBERS | TEXTS
NAMES = TEXTS | st.integers(-20, 20)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.lists(inner, max_size=3).map(tuple) | st.dictionaries(NAMES, inner, max_size=4)
    ),
    max_leaves=12,
)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


def meaning(value: Any) -> Any:
    """The value as the rule means it, built without the code under test; None where the rule refuses it."""
    match value:
        case None | True | False:
            return ("constant", repr(value))
        case str():
            return ("text", normalize("NFC", value))
        case int() | float() | Decimal():
            return ("number", Decimal(repr(value)) if isinstance(value, float) else Decimal(value))
        case list() | tuple():
            return ("list", *[meaning(one) for one in value])
        case _:
            members = {normalize("NFC", str(name)): meaning(member) for name, member in value.items()}
            return ("object", frozenset(members.items())) if len(members) == len(value) else None


def refused(meant: Any) -> bool:
    if isinstance(meant, tuple):
        return any(refused(one) for one in meant)
    if isinstance(meant, frozenset):
        return any(refused(one) for one in meant)
    return meant is None


def text_of(value: Any) -> bytes | None:
    try:
        return canonical(value)
    except MalformedDelivery:
        return None


@given(VALUES, VALUES)
@example({"1": "a", "10": "b", "2": "c"}, {1: "a", 10: "b", 2: "c"})
@example([1.0], [1])
@example({"a": 1e16}, {"a": 10**16})
@example(one=True, other=1)
def test_texts_are_equal_if_and_only_if_the_values_are(one: Any, other: Any) -> None:
    first, second = meaning(one), meaning(other)
    assert (text_of(one) is None) == refused(first)
    if not refused(first) and not refused(second):
        assert (text_of(one) == text_of(other)) == (first == second)


@given(VALUES)
@example({2: 1, 10: 1})
@example({-1: 1, -10: 1})
@example({None: 1})
@example({True: 1, False: 2})
@example({"1": 1, "10": 1, "2": 1})
@example({"-1": 1, "!": 1})
@example({"a": 1.0})
@example("1.0")
@example(['x",1.0'])
@example({"a": [-0.0, 0]})
def test_the_fast_and_the_slow_path_give_one_text(value: Any) -> None:
    try:
        slow: str | None = walk(value)
    except MalformedDelivery:
        slow = None
    fast = text_of(value)
    assert (fast.decode("ascii") if fast is not None else None) == slow


@given(JSON_VALUES, st.randoms(use_true_random=False))
def test_another_way_to_write_the_same_json_has_the_same_text(value: Any, rng: random.Random) -> None:
    written = json.dumps(shuffled(value, rng), ensure_ascii=rng.random() < 0.5, indent=rng.choice([None, 1, 4]))
    assert text_of(json.loads(written)) == text_of(value)


def shuffled(value: Any, rng: random.Random) -> Any:
    if isinstance(value, dict):
        names = list(value)
        rng.shuffle(names)
        return {name: shuffled(value[name], rng) for name in names}
    return [shuffled(one, rng) for one in value] if isinstance(value, list) else value


@given(st.text(max_size=4), st.text(max_size=4))
def test_text_with_lone_surrogates_is_never_refused_and_never_merged(one: str, other: str) -> None:
    first, second = one + "\ud800x", other + "\ud801x"
    assert canonical(first) != canonical(second)
    assert canonical([first]) == f"[{walk(first)}]".encode()
