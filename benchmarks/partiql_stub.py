"""The three PartiQL statements of `idem.dynamo.statements`, each compiled once to the single write that it stands for."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

Item = Mapping[str, Any]

INSERT = re.compile(r"INSERT INTO \"([^\"]+)\" VALUE \{(.*)\}")
UPDATE = re.compile(r"UPDATE \"([^\"]+)\" (.*) WHERE (.*)")
DELETE = re.compile(r"DELETE FROM \"([^\"]+)\" WHERE (.*)")


@dataclass(frozen=True, slots=True)
class Statement:
    """What a statement does: with its parameters `key_of` gives the key, `holds` tests an item, `change` makes the next one."""

    kind: str
    table: str
    key_of: Callable[[Sequence[Any]], Item]
    holds: Callable[[Item, Sequence[Any]], bool]
    change: Callable[[Item, Sequence[Any]], dict[str, Any] | None]


@cache
def parse(text: str, key_names: tuple[str, ...] = ("pk",)) -> Statement:
    """The statement of `text`, on a table with the key `key_names`."""
    if found := INSERT.fullmatch(text):
        names = re.findall(r"'(\w+)': \?", found[2])
        places = [names.index(name) for name in key_names]
        return Statement(
            "insert",
            found[1],
            lambda given: {name: given[place] for name, place in zip(key_names, places, strict=True)},
            lambda item, _given: not item,
            lambda _item, given: dict(zip(names, given, strict=True)),
        )
    if found := UPDATE.fullmatch(text):
        return _update(found[1], found[2], found[3], key_names)
    if found := DELETE.fullmatch(text):
        key_of, holds = _where(found[2], 0, key_names)
        return Statement("delete", found[1], key_of, holds, lambda _item, _given: None)
    raise ValueError(f"a statement that this stub does not know: {text}")


def _update(table: str, changes: str, where: str, key_names: tuple[str, ...]) -> Statement:
    sets = re.findall(r'SET "(\w+)" = \?', changes)
    removes = re.findall(r'REMOVE "(\w+)"', changes)
    key_of, holds = _where(where, len(sets), key_names)

    def change(item: Item, given: Sequence[Any]) -> dict[str, Any]:
        after = {**item, **dict(zip(sets, given, strict=False))}
        for name in removes:
            after.pop(name, None)
        return after

    return Statement("update", table, key_of, holds, change)


def _where(
    text: str, first: int, key_names: tuple[str, ...]
) -> tuple[Callable[[Sequence[Any]], Item], Callable[[Item, Sequence[Any]], bool]]:
    places = {name: first + index for index, name in enumerate(re.findall(r'"(\w+)" = \?', text))}
    keys = [(name, places.pop(name)) for name in key_names]
    tests = list(places.items())
    return (
        lambda given: {name: given[place] for name, place in keys},
        lambda item, given: all(item.get(name) == given[place] for name, place in tests),
    )
