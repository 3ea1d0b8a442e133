"""What is logged of a delivery: one line of bounded text with its key and ids, never its payload, its headers or its result.

Whoever observes a consumer logs its endings; where nobody does, what failed is a warning of the standard logger `idem`. An error's
text may quote what it was given, so it is cut, in its traceback too; and it is one line, so that it cannot pass for another one.
A mask takes out of such a text what must not be logged: it sees more of it than is kept, so that nothing is cut before it is found.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Mapping
from typing import Self

from idem.delivery import Arrival, Delivery, Ending, Outcome, Rejected, Retry, Unavailable
from idem.errors import PROCESS_ENDS, ClaimLost, InProgress, InputRefused, NotAnEvent, NotRun, UnsettledWork
from idem.record import Claim, Decided, Request
from idem.text import ERROR_CHARS_MAX, bounded, message_of, one_line

LOGGER = "idem"
MASKED_CHARS_MAX = 10_000  # of a text that a mask sees: far more than is kept, and quick also for a slow expression
ID_CHARS_MAX = 256  # of each id in a line: as in a record's origin
FRAMES_MAX = 20  # of each error in a traceback, the innermost ones: where it was raised
ERRORS_MAX = 4  # in a traceback: an error, and what it came from
NOTES_MAX = 3  # of each error

Mask = Callable[[str], str]
"""Takes out of a text what must not be logged."""


def tell(observe: Callable[[Ending], None] | None, ending: Ending) -> None:
    """Tell an observer. Where there is none, or it raises, what failed is logged: whatever else was delivered must be answered."""
    if observe is None:
        log_failure(ending)
        return
    try:
        observe(ending)
    except PROCESS_ENDS:
        raise
    except BaseException as error:  # noqa: BLE001 - an observer of the user's own
        log_fault(f"the observer of {ending.operation} failed", error)
        log_failure(ending)


def log_failure(ending: Ending) -> None:
    """Log a delivery that failed, was rejected, overtaken or unsettled, or found no table; any other ending is no news."""
    error = failure_in(ending.outcome)
    if error is None or not _is_heard():
        return
    shown = traceback_text(error) if has_traceback(ending.outcome) else ""
    fields: dict[str, object] = {
        "key": ending.key or "-",
        "outcome": type(ending.outcome).__name__,
        "attempt": ending.attempt or "-",
        "receive_count": ending.arrival.receive_count,
    }
    _warn(f"delivery of {ending.operation}", {**fields, **ids_of(ending.arrival)}, error, shown)


def log_fault(what: str, error: BaseException) -> None:
    """Log an error that changed no answer."""
    if _is_heard():
        logging.getLogger(LOGGER).warning("%s: %s\n%s", one_line(what), error_text(error), traceback_text(error))


class CallLog:
    """Around a call: logs what it raises that ran or wanted to run a work; another attempt in flight is no news.

    claim: under which its work runs; outcome: how the work ended. A class, because contextlib's own way writes to the error, which
    a frozen one of the user's does not take.
    """

    def __init__(self, wanted: Request) -> None:
        self._wanted = wanted
        self.claim: Claim | None = None
        self.outcome: Outcome | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _type: object, error: BaseException | None, _traceback: object) -> None:
        if error is None or isinstance(error, (InProgress, *PROCESS_ENDS)) or not _is_heard():
            return
        # A call that was cancelled before its work is no failure.
        if isinstance(error, Exception) or self.claim is not None:
            self._log(error)

    def _log(self, error: BaseException) -> None:
        wanted = self._wanted
        attempt = self.claim.attempt if self.claim else error.record.attempt if isinstance(error, NotRun) else None
        name = type(self.outcome).__name__ if self.outcome else _refused_as(error)
        shown = "" if isinstance(error, NotRun) else traceback_text(error)
        fields = {"key": wanted.key, "outcome": name, "attempt": attempt or "-", **wanted.origin}
        _warn(f"call of {wanted.key.operation}", fields, error, shown)


def _is_heard() -> bool:
    """Whether a warning goes anywhere: a traceback is not made for nobody."""
    return logging.getLogger(LOGGER).isEnabledFor(logging.WARNING)


def failure_in(outcome: Outcome) -> Exception | None:
    """The error of an outcome that somebody should know of, None if it has none. A provider's check of the address is none."""
    error: Exception | None = getattr(outcome, "error", None)
    return None if isinstance(error, NotAnEvent) else error


def has_traceback(outcome: Outcome) -> bool:
    """Whether it helps to know where the error was raised: in the work, or on the way to the table."""
    match outcome:
        case Retry(error) | Rejected(error):
            return not isinstance(error, InputRefused | NotRun)
        case Unavailable():
            return True
        case _:
            return False


def ids_of(arrival: Arrival) -> dict[str, str]:
    """Where a delivery came from: ids of the message or event, queue or endpoint, request."""
    found = arrival.origin if isinstance(arrival, Delivery) else {"id": arrival.id}
    return {name: one_line(bounded(str(value), ID_CHARS_MAX)) for name, value in found.items()}


def error_text(error: BaseException, mask: Mask | None = None) -> str:
    """An error's type and message: masked, one line, at most `ERROR_CHARS_MAX` characters."""
    return _kept(f"{type(error).__name__}: {message_of(error, MASKED_CHARS_MAX)}", mask)


def traceback_text(error: BaseException, mask: Mask | None = None) -> str:
    """Where an error was raised, and what it came from: code and bounded messages, no values."""
    parts: list[str] = []
    current: BaseException | None = error
    while current is not None and len(parts) < ERRORS_MAX:
        frames = traceback.extract_tb(current.__traceback__, limit=-FRAMES_MAX)
        notes = [_kept(one, mask) for one in _notes(current)[:NOTES_MAX]]
        parts.append("\n".join(["".join(traceback.format_list(frames)) + error_text(current, mask), *notes]))
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)
    return "\nwhich led to\n".join(reversed(parts))


def decision_line(one: Decided, mask: Mask | None = None) -> str:
    """What a person decided about a key, in one line."""
    return _kept(f"{one.decision} by {one.by}, attempt {one.attempt}: {one.why}", mask)


def _notes(error: BaseException) -> list[str]:
    """The notes that were added to an error, which code may have replaced by anything."""
    found = getattr(error, "__notes__", None)
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []


def _kept(text: str, mask: Mask | None) -> str:
    return one_line(bounded(_masked(text[:MASKED_CHARS_MAX], mask), ERROR_CHARS_MAX))


def _masked(text: str, mask: Mask | None) -> str:
    if mask is None:
        return text
    try:
        return str(mask(text))
    except PROCESS_ENDS:
        raise
    except BaseException as fault:  # noqa: BLE001 - of the user's own: what could not be masked is not logged
        return f"(left out: the mask failed with {type(fault).__name__})"


def _refused_as(error: BaseException) -> str:
    """The name of the outcome that a call without a work of its own raised."""
    names = {ClaimLost: "Overtaken", UnsettledWork: "Unsettled", NotRun: "Rejected"}
    return next((name for kind, name in names.items() if isinstance(error, kind)), Unavailable.__name__)


def _warn(what: str, fields: Mapping[str, object], error: BaseException, shown: str) -> None:
    said = {**fields, "error": error_text(error)}
    line = f"{what}: " + " ".join(f"{name}={one_line(str(value))}" for name, value in said.items())
    logging.getLogger(LOGGER).warning("%s", f"{line}\n{shown}" if shown else line)
