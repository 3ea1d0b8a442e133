"""What is counted, and under which names.

Each metric has the dimensions `service` and `operation`.

    Claims                keys won, whatever became of the work; Takeovers are those among them that were not the first
    FirstRuns             deliveries whose work was done now
    Replays               duplicates that were answered from the record
    Held                  duplicates that met an attempt in flight, and come again
    Mismatches            a key that came with another request than before
    StoredFailures        duplicates of work that had failed for good
    PermanentFailures     work that failed for good now; TransientFailures: work that will be tried again
    Ignored               first runs that had nothing to do: an event of another type, or an older one
    LostClaims            a worker that was overtaken while it worked
    Unrecorded            work that was done, and its outcome not recorded
    Unsettled             an attempt that never ended: a person decides
    ResultsNotKept        results that could not be stored: replays say so
    Handshakes            a provider's checks of the address, answered without any work
    StoreUnavailable, NotStarted, Malformed, EventsRefused    deliveries that did not get as far as their work
    ClaimTime, RecordTime, DeliveryTime                       milliseconds; a batch's claims travel together and share their time
"""

from __future__ import annotations

from idem import Busy, Done, NotStarted, Outcome, Overtaken, Rejected, Retry, Unavailable, Unsettled
from idem.errors import InputRefused, NotAnEvent, RequestMismatch, StoredFailure

NAMESPACE = "Idem"  # unless POWERTOOLS_METRICS_NAMESPACE says otherwise


def metric_of(outcome: Outcome) -> str:
    """The name under which an outcome is counted."""
    match outcome:
        case Done(replayed=replayed):
            return "Replays" if replayed else "FirstRuns"
        case Busy():
            return "Held"
        case Overtaken():
            return "LostClaims"
        case Unsettled():
            return "Unsettled"
        case Retry():
            return "TransientFailures"
        case Rejected(error=RequestMismatch()):
            return "Mismatches"
        case Rejected(error=StoredFailure()):
            return "StoredFailures"
        case Rejected(error=NotAnEvent()):
            return "Handshakes"
        case Rejected(error=InputRefused()):
            return "Malformed"
        case Rejected():
            return "PermanentFailures"
        case Unavailable(ran=ran):
            return "Unrecorded" if ran else "StoreUnavailable"
        case NotStarted():
            return "NotStarted"
