"""Logs and metrics: one line and one count for each delivery. Keys, outcomes and origins; never a payload."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit

from idem import Busy, Delivery, Done, Ending, NotStarted, Outcome, Rejected, Retry, Unavailable
from idem.errors import ClaimLost, InputRefused, RequestMismatch, StoredFailure, UnsettledWork

NAMESPACE = "Idem"  # unless POWERTOOLS_METRICS_NAMESPACE says otherwise


class Observer:
    """Powertools Logger and Metrics for one operation."""

    def __init__(self, operation: str) -> None:
        self._logger = Logger()
        # Ephemeral: Powertools' plain Metrics shares its dimensions between all operations of a process.
        self._metrics = EphemeralMetrics(namespace=os.environ.get("POWERTOOLS_METRICS_NAMESPACE", NAMESPACE))
        self._metrics.set_default_dimensions(operation=operation)

    @contextmanager
    def invocation(self, context: Any) -> Iterator[None]:
        """Around one invocation: its request id is on every line, and its metrics are written when it ends."""
        self._logger.append_keys(request_id=getattr(context, "aws_request_id", None))
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

    def __call__(self, ending: Ending) -> None:
        """Count and log how one delivery ended."""
        self._count(metric_of(ending.outcome))
        if isinstance(ending.outcome, Done) and not ending.outcome.replayed:
            self._metrics.add_metric("DeliveryTime", MetricUnit.Milliseconds, ending.ended - ending.started)
            if ending.outcome.attempt > 1:
                self._count("Takeovers")
        error = getattr(ending.outcome, "error", None)
        origin = dict(ending.arrival.origin) if isinstance(ending.arrival, Delivery) else {"id": ending.arrival.id}
        log = self._logger.info if error is None else self._logger.warning
        log(
            "delivery",
            extra={
                "operation": ending.operation,
                "key": str(ending.key) if ending.key else None,
                "outcome": metric_of(ending.outcome),
                "attempt": getattr(ending.outcome, "attempt", None),
                "receive_count": ending.arrival.receive_count,
                "error": f"{type(error).__name__}: {error}" if error is not None else None,
                "origin": origin,
            },
        )

    def _count(self, name: str) -> None:
        self._metrics.add_metric(name, MetricUnit.Count, 1)


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
            return "ReplayedFailures"
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
