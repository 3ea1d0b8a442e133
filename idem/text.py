"""Text from outside: as a record, a log line or an answer can hold it, and as an identity, which no other text can meet."""

from __future__ import annotations

import re
from unicodedata import combining, is_normalized, normalize

from idem.errors import PROCESS_ENDS, MalformedDelivery

MARKS_MAX = 30  # in a row, as in Unicode's stream-safe text (UAX 15): sorting a row takes the square of its length
_ROW = re.compile(rf"[^\w\x00-\x7f]{{{MARKS_MAX + 1},}}")  # where such a row can be: no mark is a letter or a digit
_MARKS_WITHIN = "\u0f73\u0f75\u0f81"  # no marks by their class, but made of nothing else
MARKED = "%hex:"  # begins the text of an identity that is not given as it is

ERROR_CHARS_MAX = (
    500  # of an error's text, stored, logged or answered: enough to recognise it, small enough for a refused claim
)


def writable(text: str) -> str:
    """The text without lone surrogates, which UTF-8 cannot write; each becomes a question mark."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def bounded(text: str, chars_max: int) -> str:
    """The writable text, cut to `chars_max` characters; an ellipsis says that it was."""
    if len(text) <= chars_max and text.isascii():  # as nearly all are
        return text
    whole = writable(text[: chars_max + 1])
    return whole if len(whole) <= chars_max else whole[: chars_max - 1] + "…"


def one_line(text: str) -> str:
    """Text that can neither end a line nor steer what shows it: line ends become spaces, other controls a mark."""
    return text if text.isprintable() else "".join(map(_shown, text))


def _shown(letter: str) -> str:
    if letter.isprintable():
        return letter
    return " " if letter.isspace() else "\N{REPLACEMENT CHARACTER}"


def message_of(error: BaseException, chars_max: int = ERROR_CHARS_MAX) -> str:
    """What an error says, as writable text of bounded length. It may quote hostile input, and its own code may fail."""
    try:
        return bounded(str(error), chars_max)
    except PROCESS_ENDS:
        raise
    except BaseException as fault:  # noqa: BLE001 - an error type of the user's whose __str__ raises
        return f"(its message could not be read: {type(fault).__name__})"


def composed(text: str) -> str:
    """The text in Unicode's composed form (NFC). Raises MalformedDelivery for more than MARKS_MAX combining marks in a row."""
    if text.isascii():
        return text
    if _has_long_row(text):
        raise MalformedDelivery(
            f"a text has more than {MARKS_MAX} combining marks in a row, as no language does: it cannot be part of a key or a hash"
        )
    return normalize("NFC", text)


def is_composed(text: str) -> bool:
    """Whether `composed` would give the text as it is; False also for what it would refuse."""
    return text.isascii() or (not _has_long_row(text) and is_normalized("NFC", text))


def exact(text: str) -> str:
    """A text that stands for this one alone, also once it is composed: itself, or marked hex digits where another could meet it."""
    if is_composed(text) and not text.startswith(MARKED):
        return text
    return hidden(text)


def hidden(text: str) -> str:
    """Any text as marked hex digits, which everything takes. `unhidden` gives it back."""
    return MARKED + text.encode("utf-8", "surrogatepass").hex()


def unhidden(text: str) -> str:
    """The text behind marked hex digits; any other text as it is."""
    if not text.startswith(MARKED):
        return text
    try:
        return bytes.fromhex(text.removeprefix(MARKED)).decode("utf-8", "surrogatepass")
    except ValueError:
        return text


def _has_long_row(text: str) -> bool:
    for row in _ROW.finditer(text):
        length = 0
        for letter in row[0]:
            length = length + 1 if combining(letter) or letter in _MARKS_WITHIN else 0
            if length > MARKS_MAX:
                return True
    return False
