"""DynamoDB's condition and update expressions, as far as this product and its peers use them.

Each text is compiled once, as the service does with what it sees often. Anything unknown is refused loudly.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

Item = Mapping[str, Any]
Names = Mapping[str, str]
Values = Mapping[str, Any]
Test = Callable[[Item, Names, Values], bool]
Change = Callable[[Item, Names, Values], dict[str, Any]]

TOKEN = re.compile(r"\s*(attribute_(?:not_)?exists|AND\b|OR\b|[()=<>]|[#:]?\w+)")


@cache
def condition(text: str) -> Test:
    """The test that a condition expression stands for."""
    tokens = TOKEN.findall(text)
    if "".join(tokens) != re.sub(r"\s", "", text):
        raise ValueError(f"an expression that this stub does not know: {text}")
    test = _either(tokens)
    if tokens:
        raise ValueError(f"an expression that this stub does not know: {text}")
    return test


def _either(tokens: list[str]) -> Test:
    tests = [_both(tokens)]
    while tokens[:1] == ["OR"]:
        tokens.pop(0)
        tests.append(_both(tokens))
    return tests[0] if len(tests) == 1 else lambda item, names, values: any(t(item, names, values) for t in tests)


def _both(tokens: list[str]) -> Test:
    tests = [_one(tokens)]
    while tokens[:1] == ["AND"]:
        tokens.pop(0)
        tests.append(_one(tokens))
    return tests[0] if len(tests) == 1 else lambda item, names, values: all(t(item, names, values) for t in tests)


def _one(tokens: list[str]) -> Test:
    first = tokens.pop(0)
    if first == "(":
        inside = _either(tokens)
        tokens.pop(0)
        return inside
    if first.startswith("attribute_"):
        _, name, _ = tokens.pop(0), tokens.pop(0), tokens.pop(0)
        wanted = first == "attribute_exists"
        return lambda item, names, _values: (names.get(name, name) in item) is wanted
    sign, value = tokens.pop(0), tokens.pop(0)
    if sign == "=":
        return lambda item, names, values: item.get(names.get(first, first)) == values[value]
    if sign == "<":
        return lambda item, names, values: _less(item.get(names.get(first, first)), values[value])
    raise ValueError(f"a comparison that this stub does not know: {first} {sign} {value}")


def _less(stored: Any, given: Any) -> bool:
    return stored is not None and "N" in stored and float(stored["N"]) < float(given["N"])


@cache
def update(text: str) -> Change:
    """The change that an update expression stands for."""
    found = re.fullmatch(r"SET (.*?)(?: REMOVE (.*))?", text)
    if not found:
        raise ValueError(f"an expression that this stub does not know: {text}")
    sets = [tuple(pair.strip().split(" = ")) for pair in found[1].split(",")]
    removes = [name.strip() for name in (found[2] or "").split(",") if name]

    def change(item: Item, names: Names, values: Values) -> dict[str, Any]:
        after = dict(item)
        for name, value in sets:
            after[names.get(name, name)] = values[value]
        for name in removes:
            after.pop(names.get(name, name), None)
        return after

    return change
