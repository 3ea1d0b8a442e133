"""The forms of a signature header: where in it are the signatures, and is there a time stamp?

| form | example | used by |
|---|---|---|
| `Plain("sha256=")` | `sha256=5257a8...` | GitHub, Slack, Shopify, Square and most others |
| `Pairs(separator=",", stamp="t", labels=("v1",))` | `t=1492774577,v1=5257a8...,v1=6ffbb5...` | Stripe, Paddle |
| `Labelled()` | `v1,K5oZf... v1a,hnO3f...` | Standard Webhooks, Svix |

Parsing raises SignatureInvalid and nothing else. What has an unknown label is passed over, so that a provider can add schemes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from idem.errors import SignatureInvalid
from idem.webhooks.scheme import HEADER_CHARS_MAX, SIGNATURES_MAX

Signature = tuple[str, str]
"""A label and a signature; the label is empty where the form has none."""

Given = dict[str, list[str]]
"""The signatures of a header, by label."""


class Form(Protocol):
    def parse(self, header: str) -> tuple[str | None, Given]:
        """The time stamp, where the form has one, and the signatures, at most SIGNATURES_MAX."""
        ...

    def write(self, stamp: str, signatures: Sequence[Signature]) -> str:
        """The header with this stamp and these signatures."""
        ...


@dataclass(frozen=True, slots=True)
class Plain:
    """One signature behind a fixed prefix."""

    prefix: str = ""

    def parse(self, header: str) -> tuple[None, Given]:
        check_length(header)
        if not header.startswith(self.prefix) or len(header) == len(self.prefix):
            raise SignatureInvalid(f"the signature header does not begin with {self.prefix!r}, or has no signature")
        return None, {"": [header[len(self.prefix) :]]}

    def write(self, stamp: str, signatures: Sequence[Signature]) -> str:  # noqa: ARG002 - this form carries no stamp
        return self.prefix + signatures[-1][1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """`name=value` pairs: exactly one stamp, and at least one signature under one of the labels."""

    separator: str
    stamp: str
    labels: tuple[str, ...]

    def parse(self, header: str) -> tuple[str, Given]:
        check_length(header)
        stamp, stamps, count = "", 0, 0
        given: Given = {}
        for pair in header.split(self.separator):
            name, _, value = pair.strip().partition("=")
            if name == self.stamp:
                stamp, stamps = value, stamps + 1
            elif value and name in self.labels:
                given.setdefault(name, []).append(value)
                count += 1
        if stamps != 1 or not 1 <= count <= SIGNATURES_MAX:
            raise SignatureInvalid(
                f"the signature header needs one {self.stamp}= and from 1 to {SIGNATURES_MAX} of {', '.join(self.labels)}="
            )
        return stamp, given

    def write(self, stamp: str, signatures: Sequence[Signature]) -> str:
        return self.separator.join(f"{name}={value}" for name, value in [(self.stamp, stamp), *signatures])


@dataclass(frozen=True, slots=True)
class Labelled:
    """`label,signature` words between spaces."""

    def parse(self, header: str) -> tuple[None, Given]:
        check_length(header)
        given: Given = {}
        count = 0
        for word in header.split(" "):
            label, _, value = word.partition(",")
            if value:
                given.setdefault(label, []).append(value)
                count += 1
        if not 1 <= count <= SIGNATURES_MAX:
            raise SignatureInvalid(f"the signature header needs from 1 to {SIGNATURES_MAX} words such as 'v1,...'")
        return None, given

    def write(self, stamp: str, signatures: Sequence[Signature]) -> str:  # noqa: ARG002 - this form carries no stamp
        return " ".join(f"{label},{value}" for label, value in signatures)


def check_length(header: str) -> None:
    """Refuse a header that no provider would send, before any work is put into it."""
    if len(header) > HEADER_CHARS_MAX:
        raise SignatureInvalid(f"the signature header has {len(header)} characters; {HEADER_CHARS_MAX} are enough")
