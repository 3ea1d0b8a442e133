"""Logs and metrics: one line and one count for each delivery. Keys, attempts, outcomes and origins; never a payload.

The metrics, each with the dimensions `service` and `operation`:

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
    Unsettled             an attempt that never ended, held for a person
    ResultsNotKept        results that could not be stored: replays say so
    Handshakes            a provider's checks of the address, answered without any work
    StoreUnavailable, NotStarted, Malformed, EventsRefused    deliveries that did not get as far as their work
    ClaimTime, RecordTime, DeliveryTime                       milliseconds
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit

from idem import Busy, Claim, Delivery, Done, Ending, Key, NotStarted, Outcome, Rejected, Retry, Unavailable
from idem.errors import ClaimLost, InputRefused, NotAnEvent, RequestMismatch, StoredFailure, UnsettledWork
from idem.record import Answer, StoredResult

NAMESPACE = "Idem"  # unless POWERTOOLS_METRICS_NAMESPACE says otherwise


class Observer:
    """Powertools Logger and Metrics for one operation. `timer` gives seconds; consumers may call from threads."""

    def __init__(self, operation: str, timer: Callable[[], float] = time.perf_counter) -> None:
        self._logger = Logger()
        # Ephemeral: Powertools' plain Metrics shares its dimensions between all operations of a process.
        self._metrics = EphemeralMetrics(namespace=os.environ.get("POWERTOOLS_METRICS_NAMESPACE", NAMESPACE))
        self._metrics.set_default_dimensions(operation=operation)
        self._timer = timer
        self._attempts: dict[Key, int] = {}
        self._lock = Lock()

    @contextmanager
    def invocation(self, context: Any) -> Iterator[None]:
        """Around one invocation: its request id is on every line, and its metrics are written when it ends."""
        self._logger.append_keys(request_id=getattr(context, "aws_request_id", None))
        self._attempts.clear()
        counted = False
        try:
            yield
            counted = True
        except Exception:
            self._logger.exception("the event was not answered")
            self._count("EventsRefused")
            raise
        finally:
            if counted or self._metrics.metric_set:
                self._metrics.flush_metrics()

    @contextmanager
    def timed(self, metric: str) -> Iterator[None]:
        """Around one request to the table: how long it took, answered or not."""
        started = self._timer()
        try:
            yield
        finally:
            self._add(metric, MetricUnit.Milliseconds, (self._timer() - started) * 1000)

    def claimed(self, key: Key, attempt: int) -> None:
        """Count a key that was won."""
        self._attempts[key] = attempt
        self._count("Claims")
        if attempt > 1:
            self._count("Takeovers")

    def answered(self, answer: Answer) -> None:
        """Count a claim that was won, or note whose attempt it met."""
        if isinstance(answer, Claim):
            self.claimed(answer.key, answer.attempt)
        else:
            self._attempts[answer.record.key] = answer.record.attempt

    def recording(self, result: StoredResult) -> None:
        """Count a result that goes into its record as a note that it was not kept."""
        if result.kind == "omitted":
            self._count("ResultsNotKept")

    def __call__(self, ending: Ending) -> None:
        """Count and log how one delivery ended."""
        outcome = ending.outcome
        self._count(metric_of(outcome))
        if isinstance(outcome, Done) and not outcome.replayed:
            self._add("DeliveryTime", MetricUnit.Milliseconds, ending.ended - ending.started)
            if isinstance(outcome.result, Mapping) and "ignored" in outcome.result:
                self._count("Ignored")
        error = getattr(outcome, "error", None)
        origin = dict(ending.arrival.origin) if isinstance(ending.arrival, Delivery) else {"id": ending.arrival.id}
        log = self._logger.info if error is None else self._logger.warning
        log(
            "delivery",
            extra={
                "operation": ending.operation,
                "key": str(ending.key) if ending.key else None,
                "outcome": metric_of(outcome),
                "attempt": self._attempt(ending),
                "receive_count": ending.arrival.receive_count,
                "error": f"{type(error).__name__}: {error}" if error is not None else None,
                "origin": origin,
            },
        )

    def _attempt(self, ending: Ending) -> int | None:
        """Which attempt made the outcome, or refused it; None when the table was not asked or gave no answer."""
        if isinstance(ending.outcome, Done):
            return ending.outcome.attempt
        return self._attempts.get(ending.key) if ending.key else None

    def _count(self, name: str) -> None:
        self._add(name, MetricUnit.Count, 1)

    def _add(self, name: str, unit: MetricUnit, value: float) -> None:
        with self._lock:
            self._metrics.add_metric(name, unit, value)


def metric_of(outcome: Outcome) -> str:
    """The name under which an outcome is counted."""
    match outcome:
        case Done(replayed=replayed):
            return "Replays" if replayed else "FirstRuns"
        case Busy():
            return "Held"
        case Retry(error=ClaimLost()):
            return "LostClaims"
        case Retry(error=UnsettledWork()):
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


@cache
def observer(operation: str) -> Observer:
    """The observer of an operation, one for each execution environment."""
    return Observer(operation)
