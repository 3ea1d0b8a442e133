"""Where in a request an identity is found, and what two hashes tell apart."""

from __future__ import annotations

from dataclasses import replace

import pytest

from idem.testing import START_MS
from idem.webhooks.request_parts import Always, AnyOf, BodyHash, ContentHash, Field, Header, Joined, Part
from idem.webhooks.signed_requests import sign

PARTS: dict[str, tuple[Part, str | None]] = {
    "first header": (Header("b", "A"), "1"),
    "no header": (Header("c"), None),
    "field": (Field("x.y"), "2"),
    "first field": (Field("z", "x.y"), "2"),
    "number": (Field("n", numbers=True), "7"),
    "number as text only": (Field("n"), None),
    "truth is no number": (Field("t", numbers=True), None),
    "blank": (Field("blank"), None),
    "joined": (Joined((Field("slash"), Field("x.y"))), "a%2Fb%25/2"),
    "joined, one missing": (Joined((Field("slash"), Field("z"))), None),
    "any of": (AnyOf((Field("z"), Header("a"))), "1"),
    "always": (Always("event"), "event"),
}


@pytest.mark.parametrize("name", PARTS)
def test_a_part_finds_text_or_nothing(name: str) -> None:
    part, expected = PARTS[name]
    request = replace(sign("stripe", b"{}", ["s"], START_MS), headers={"a": "1", "c": " "})
    payload = {"x": {"y": "2"}, "n": 7, "t": True, "blank": " ", "slash": "a/b%"}
    assert part.find(request, payload) == expected


def test_hashes_are_of_the_bytes_or_of_the_content() -> None:
    one, two = (sign("stripe", body, ["s"], START_MS) for body in (b'{"a": 1}', b'{"a":1}'))
    assert BodyHash().find(one, None) != BodyHash().find(two, None)
    content = ContentHash(without=("attempt",))
    assert content.find(one, {"a": 1, "attempt": 1}) == content.find(two, {"attempt": 2, "a": 1.0})
    assert content.find(one, {"a": 2}) != content.find(one, {"a": 1})
