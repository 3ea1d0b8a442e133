"""Choices with names: each value is a hash of (seed, run, name), so a new choice changes no old world.

A kind of choice is a list of labels, the dullest first, each with a weight. A world in which everything is at its dullest is run
0; a name can be fixed to a label, and that is all a replay needs. A label of a kind is a *feature* of the world: it can be
switched off, and it is counted how often it was met.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from hashlib import blake2b
from itertools import accumulate
from typing import ClassVar

DULL = 0  # the run in which every choice that is not fixed is the dullest


class Kind:
    """One kind of choice: labels with weights, the dullest first."""

    all: ClassVar[list[Kind]] = []

    def __init__(self, name: str, weights: Mapping[str, int]) -> None:
        Kind.all.append(self)
        self.name = name
        self.labels = tuple(weights)
        self.index = {label: index for index, label in enumerate(self.labels)}
        self._bounds = tuple(accumulate(weights.values()))

    def drawn(self, number: int) -> str:
        """The label that a random number stands for."""
        rest = number % self._bounds[-1]
        for bound, label in zip(self._bounds, self.labels, strict=True):
            if rest < bound:
                return label
        raise AssertionError("a remainder is below the sum of the weights")


class Choices:
    """The choices of one world. `taken` is what was chosen, in the order in which it was asked for."""

    def __init__(
        self, seed: int, run: int, fixed: Mapping[str, str] | None = None, without: Collection[str] = ()
    ) -> None:
        self.seed, self.run = seed, run
        self.fixed = fixed or {}
        self.taken: dict[str, tuple[Kind, str]] = {}
        self._without = without
        self._root = blake2b(f"{seed}:{run}:".encode(), digest_size=8)

    def pick(self, name: str, kind: Kind) -> str:
        """The label of the choice `name`; asked again, it is the same."""
        known = self.taken.get(name)
        if known is not None:
            return known[1]
        label = self._label(name, kind)
        self.taken[name] = (kind, label)
        return label

    def _label(self, name: str, kind: Kind) -> str:
        label = self.fixed.get(name)
        if label is None:
            if self.run == DULL:
                return kind.labels[0]
            label = kind.drawn(self.number(name))
        elif label not in kind.index:
            return kind.labels[0]
        return kind.labels[0] if self._without and f"{kind.name}={label}" in self._without else label

    def number(self, name: str) -> int:
        root = self._root.copy()
        root.update(name.encode())
        return int.from_bytes(root.digest(), "big")

    def odd(self) -> dict[str, str]:
        """What is not at its dullest: with it, run 0 is the same world."""
        return {name: label for name, (kind, label) in self.taken.items() if label != kind.labels[0]}


def switched_off(patterns: Sequence[str]) -> set[str]:
    """The features that patterns such as `ending=System*` name. Raises LookupError for one that names none."""
    found: set[str] = set()
    for pattern in patterns:
        named = {
            f"{kind.name}={label}"
            for kind in Kind.all
            for label in kind.labels
            if fnmatchcase(f"{kind.name}={label}", pattern)
        }
        if not named:
            raise LookupError(f"{pattern!r} is no feature")
        found |= named
    return found
