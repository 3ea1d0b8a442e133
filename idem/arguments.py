"""Arguments of the user's, looked at when something is built: a mistake that is told there costs no message.

Each check raises ConfigurationError, which names the argument, what it is, and what to give instead.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from idem.errors import PROCESS_ENDS, ConfigurationError
from idem.text import bounded, writable

SHOWN_CHARS_MAX = 60


def told(value: object) -> str:
    """A value as an error names it: bounded, because it may be anything."""
    if value is None:
        return "None"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if isinstance(value, str):
        return f"the text {bounded(value, SHOWN_CHARS_MAX)!r}"
    if isinstance(value, bool | int | float | timedelta):
        return str(value)
    return f"a {type(value).__name__}"


def check_function(what: str, value: Any, *passed: str, give: str) -> None:
    """Whether `value` can be called with `passed`, which are the names of what it gets."""
    if not callable(value):
        raise ConfigurationError(f"{what} is {told(value)}: give {give}")
    if isinstance(value, type):
        return
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):  # some functions in C tell nothing
        return
    try:
        signature.bind(*passed)
    except TypeError:
        raise ConfigurationError(
            f"{what} takes {_parameters(signature)}, and is called with {' and '.join(passed) or 'nothing'}: give {give}"
        ) from None


def check_object(what: str, value: Any, methods: Iterable[str], *, give: str) -> None:
    """Whether `value` is an object with these methods; a class of such objects is not."""
    missing = [name for name in methods if not callable(_attribute(value, name))]
    if isinstance(value, type):
        raise ConfigurationError(f"{what} is {told(value)} itself: give an object, such as {give}")
    if missing:
        raise ConfigurationError(f"{what} is {told(value)}, which has no {missing[0]}(): give {give}")


def check_duration(what: str, value: Any, *, optional: str | None = None) -> None:
    """Whether `value` is a timedelta; or None, if `optional` says what that means."""
    if value is None and optional is not None:
        return
    if not isinstance(value, timedelta):
        or_none = f", or None {optional}" if optional else ""
        raise ConfigurationError(f"{what} is {told(value)}: give a timedelta, such as timedelta(minutes=15){or_none}")


def check_errors(what: str, value: Any) -> None:
    """Whether `value` is a tuple of classes of errors."""
    give = "give a tuple of classes of errors, such as (InvalidOrder,)"
    if not isinstance(value, tuple):
        raise ConfigurationError(f"{what} is {told(value)}: {give}")
    for one in value:
        if not (isinstance(one, type) and issubclass(one, Exception)):
            raise ConfigurationError(f"{what} has {told(one)} in it, which is no class of errors: {give}")


def check_text(what: str, value: Any, *, give: str) -> None:
    """Whether `value` is text with something in it."""
    if not isinstance(value, str) or not value.strip():
        raise ConfigurationError(f"{what} is {told(value)}: give {give}")


def check_count(what: str, value: Any) -> None:
    """Whether `value` is a whole number from 1."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ConfigurationError(f"{what} is {told(value)}: it must be a whole number, at least 1")


def _attribute(value: Any, name: str) -> Any:
    try:
        return getattr(value, name, None)
    except PROCESS_ENDS:
        raise
    except BaseException:  # noqa: BLE001 - a client or proxy whose attributes fail has none
        return None


def _parameters(signature: inspect.Signature) -> str:
    return writable(", ".join(signature.parameters)) or "no parameter"
