"""Text from outside, as a record, a log line or an answer can hold it."""

from __future__ import annotations

from idem.errors import PROCESS_ENDS


def writable(text: str) -> str:
    """The text without lone surrogates, which UTF-8 cannot write; each becomes a question mark."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def bounded(text: str, chars_max: int) -> str:
    """The writable text, cut to `chars_max` characters; an ellipsis says that it was."""
    if len(text) <= chars_max and text.isascii():  # as nearly all are
        return text
    whole = writable(text[: chars_max + 1])
    return whole if len(whole) <= chars_max else whole[: chars_max - 1] + "…"


def message_of(error: BaseException) -> str:
    """What an error says, as writable text. It may quote hostile input, and its own code may fail."""
    try:
        return writable(str(error))
    except PROCESS_ENDS:
        raise
    except BaseException as fault:  # noqa: BLE001 - an error type of the user's whose __str__ raises
        return f"(its message could not be read: {type(fault).__name__})"
