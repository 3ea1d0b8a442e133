"""Text from outside, as a record, a log line or an answer can hold it."""

from __future__ import annotations

from idem.errors import PROCESS_ENDS

ERROR_CHARS_MAX = (
    500  # of an error's text, stored, logged or answered: enough to recognise it, small enough for a refused claim
)


def writable(text: str) -> str:
    """The text without lone surrogates, which UTF-8 cannot write; each becomes a question mark."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def bounded(text: str, chars_max: int) -> str:
    """The writable text, cut to `chars_max` characters; an ellipsis says that it was."""
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
