"""Text from outside, as it can be kept."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idem.text import bounded, message_of, writable


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
