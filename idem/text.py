"""Text from outside, as a record, a log line or an answer can hold it."""

from __future__ import annotations

from idem.errors import PROCESS_ENDS


def writable(text: str) -> str:
    """The text without lone surrogates, which UTF-8 cannot write; each becomes a question mark."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def bounded(text: str, chars_max: int) -> str:
    """The writable text, cut to `chars_max` characters; an ellipsis says that it was."""
    whole = writable(text[: chars_max + 1])
    return whole if len(whole) <= chars_max else whole[: chars_max - 1] + "…"


def one_line(text: str) -> str:
    """Text that can neither end a line nor steer what shows it: control and format characters are replaced."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)


def message_of(error: BaseException) -> str:
    """What an error says, as writable text. It may quote hostile input, and its own code may fail."""
    try:
        return writable(str(error))
    except PROCESS_ENDS:
        raise
    except BaseException as fault:  # noqa: BLE001 - an error type of the user's whose __str__ raises
        return f"(its message could not be read: {type(fault).__name__})"
