"""Asynchronous invocations: EventBridge, SNS, S3, or a plain event. Lambda tries again when the function raises.

Lambda makes two more tries, and asks for idempotent code because it may deliver an event twice even without an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from idem.arguments import check_function
from idem.delivery import (
    Arrival,
    Busy,
    Delivery,
    Done,
    Ending,
    NotStarted,
    Overtaken,
    Rejected,
    Retry,
    Unavailable,
    Unreadable,
    Unsettled,
)
from idem.errors import IdemError, RequestMismatch, WrongEvent
from idem.sources.content import understood
from idem.sources.envelopes import Envelope, Unwrapped, bare, s3_record, sns
from idem.sources.http import BODY_BYTES_MAX, shown
from idem.text import message_of


class Undone(IdemError):
    """Something of the event was not done, so Lambda must deliver it again; what was done will replay."""


class InvokeSource:
    """Reads one asynchronous event, of whatever service.

    envelope: how to read an event that is neither SNS's nor S3's, which are told by their records: `envelopes.eventbridge`, or
    nothing for a plain event, which has no id: choose a key in its content. A recorded rejection is the end of it. Anything else
    that was not done raises Undone, also another content under a known key, so that a failure destination gets it.
    """

    def __init__(self, *, envelope: Envelope = bare) -> None:
        check_function("envelope", envelope, "the event", give="a function such as sources.envelopes.sns")
        self._envelope = envelope

    def read(self, event: Any, now_ms: int) -> list[Arrival]:  # noqa: ARG002 - an event does not age by our clock
        """The deliveries of an event: one for each SNS or S3 record, otherwise one."""
        if event is None:
            raise WrongEvent("the event is empty: there is nothing to work on")
        records = event.get("Records") if isinstance(event, Mapping) else None
        if isinstance(records, list) and records and all(_service(record) for record in records):
            return [self._record(record, index) for index, record in enumerate(records)]
        return [self._arrival(lambda: self._envelope(event), "event", "invoke")]

    def _record(self, record: Mapping[str, Any], index: int) -> Arrival:
        if _service(record) == "sns":
            return self._arrival(lambda: sns(record["Sns"]), f"record {index}", "sns")
        return self._arrival(lambda: s3_record(record), f"record {index}", "s3")

    @staticmethod
    def _arrival(unwrap: Any, name: str, service: str) -> Arrival:
        try:
            found: Unwrapped = understood("the envelope", unwrap)
        except IdemError as error:
            return Unreadable(id=name, error=error)
        origin = {"source": service} | ({"eventId": found.event_id} if found.event_id else {})
        return Delivery(
            id=found.event_id or "", payload=found.payload, event_id=found.event_id, scope=found.scope, origin=origin
        )

    def reply(self, endings: Sequence[Ending], now_ms: int) -> list[Any]:  # noqa: ARG002 - no times in it
        """The results in their stored form, in order; of a rejected delivery its message.

        Raises Undone if Lambda must deliver the event again.
        """
        undone = [reason for ending in endings if (reason := _undone(ending))]
        if undone:
            raise Undone(f"{len(undone)} of {len(endings)} deliveries were not done: {undone[0]}")
        share = BODY_BYTES_MAX // max(1, len(endings))
        return [_shown(ending, share) for ending in endings]


def _undone(ending: Ending) -> str | None:
    """Why a delivery must come again, None if it need not."""
    match ending.outcome:
        case Done():
            return None
        case Rejected(error=error, recorded=True) if not isinstance(error, RequestMismatch):
            return None
        case (
            Rejected(error=error)
            | Retry(error=error)
            | Overtaken(error=error)
            | Unsettled(error=error)
            | Unavailable(error=error)
        ):
            return f"{type(error).__name__}: {message_of(error)}"
        case Busy():
            return "another attempt is at work on it"
        case NotStarted(reason=reason):
            return reason


def _shown(ending: Ending, bytes_max: int) -> Any:
    if isinstance(ending.outcome, Done):
        return shown(ending.outcome.result, bytes_max)
    error = getattr(ending.outcome, "error", None)
    return {"rejected": message_of(error) if error else ""}


def _service(record: Any) -> str | None:
    """Which service a record is from."""
    if not isinstance(record, Mapping):
        return None
    if record.get("EventSource") == "aws:sns" and "Sns" in record:
        return "sns"
    return "s3" if record.get("eventSource") == "aws:s3" else None
