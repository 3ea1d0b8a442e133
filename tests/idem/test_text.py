"""Text from outside, as it can be kept."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idem.errors import MalformedDelivery
from idem.text import MARKS_MAX, bounded, composed, exact, message_of, unhidden, writable


@given(st.text(), st.integers(1, 20))
def test_any_text_can_be_written_and_is_bounded(text: str, chars_max: int) -> None:
    assert len(writable(text).encode("utf-8")) >= len(text)
    found = bounded(text, chars_max)
    assert len(found.encode("utf-8")) >= len(found)
    assert len(found) <= chars_max
    assert (found == writable(text)) == (len(text) <= chars_max)


@pytest.mark.parametrize(("text", "found"), [("abc", "abc"), ("abcd", "ab…"), ("\ud800", "?")])
def test_what_is_cut_says_so(text: str, found: str) -> None:
    assert bounded(text, 3) == found


def test_an_error_whose_message_cannot_be_read_still_has_one() -> None:
    class Hostile(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert message_of(ValueError("a\ud800")) == "a?"
    assert "RuntimeError" in message_of(Hostile())


ACUTE = "\u0301"


@pytest.mark.parametrize("mark", [ACUTE, "\u0f73", "\u0345"])
def test_rows_of_combining_marks_are_refused_before_they_cost_anything(mark: str) -> None:
    with pytest.raises(MalformedDelivery, match="combining marks in a row"):
        composed("a" + mark * 128_000)


@pytest.mark.parametrize(
    ("text", "found"), [("e" + ACUTE, "\u00e9"), ("a" * 250_000, "a" * 250_000), ("\u1112\u1161\u11ab", "\ud55c")]
)
def test_text_of_any_language_and_length_is_composed(text: str, found: str) -> None:
    assert composed(text) == found
    assert composed("x" + ACUTE * MARKS_MAX)


@given(st.text(), st.text())
def test_texts_that_are_different_stand_for_different_identities(one: str, other: str) -> None:
    assert (exact(one) == exact(other)) == (one == other)
    assert composed(exact(one)) == exact(one)
    assert unhidden(exact(one)) == one
