"""Logs and metrics: one line and one count for each delivery. Keys, attempts, outcomes and origins; never a payload.

An error's text may quote what it was given: it is one line, cut to `ERROR_CHARS_MAX`, in its traceback too, and a mask can take
out of it what must not be logged. Metrics carry the service and the operation alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit

from idem import Done, Ending
from idem.log import Mask, decision_line, error_text, failure_in, has_traceback, ids_of, traceback_text
from idem.on_lambda.metrics import NAMESPACE, metric_of


class Observer:
    """Powertools Logger and Metrics for one operation; consumers may call from threads.

    mask: from a text to the text that is logged, for all free text: messages of errors, their tracebacks, reasons of decisions. It
    gets at most `MASKED_CHARS_MAX` characters; where it raises, the text is left out.
    """

    def __init__(self, operation: str, mask: Mask | None = None) -> None:
        self._logger = Logger()
        self._mask = mask
        # Ephemeral: Powertools' plain Metrics shares its dimensions between all operations of a process.
        self._metrics = EphemeralMetrics(namespace=os.environ.get("POWERTOOLS_METRICS_NAMESPACE", NAMESPACE))
        self._metrics.set_default_dimensions(operation=operation)
        self._lock = Lock()

    @contextmanager
    def invocation(self, context: Any) -> Iterator[None]:
        """Around one invocation: its request id is on every line, and its metrics are written when it ends."""
        self._logger.append_keys(request_id=getattr(context, "aws_request_id", None))
        counted = False
        try:
            yield
            counted = True
        except Exception as error:
            said = {"error": error_text(error, self._mask), "traceback": traceback_text(error, self._mask)}
            self._logger.error("the event was not answered", extra=said)
            self._count("EventsRefused")
            raise
        finally:
            if counted or self._metrics.metric_set:
                self._metrics.flush_metrics()

    def __call__(self, ending: Ending) -> None:
        """Count and log how one delivery ended."""
        self._count_ending(ending)
        error = failure_in(ending.outcome)
        said: dict[str, object] = {
            "operation": ending.operation,
            "key": str(ending.key) if ending.key else None,
            "outcome": metric_of(ending.outcome),
            "attempt": ending.attempt,
            "receive_count": ending.arrival.receive_count,
            "error": error_text(error, self._mask) if error is not None else None,
            "origin": ids_of(ending.arrival),
        }
        if error is not None and has_traceback(ending.outcome):
            said["traceback"] = traceback_text(error, self._mask)
        if ending.decided is not None:
            said["decided"] = decision_line(ending.decided, self._mask)
        log = self._logger.info if error is None else self._logger.warning
        log("delivery", extra=said)

    def _count_ending(self, ending: Ending) -> None:
        outcome = ending.outcome
        is_first_run = isinstance(outcome, Done) and not outcome.replayed
        self._count(metric_of(outcome))
        if ending.starts is not None or is_first_run:  # a plan's record is claimed and written in one request
            self._count("Claims")
            if ending.attempt is not None and ending.attempt > 1:
                self._count("Takeovers")
        if is_first_run:
            self._time("DeliveryTime", ending.ended - ending.started)
        if (
            isinstance(outcome, Done)
            and is_first_run
            and isinstance(outcome.result, Mapping)
            and "ignored" in outcome.result
        ):
            self._count("Ignored")
        if ending.not_kept is not None:
            self._count("ResultsNotKept")
        if ending.claim_ms is not None:
            self._time("ClaimTime", ending.claim_ms)
        if ending.record_ms is not None:
            self._time("RecordTime", ending.record_ms)

    def _count(self, name: str) -> None:
        self._add(name, MetricUnit.Count, 1)

    def _time(self, name: str, milliseconds: int) -> None:
        self._add(name, MetricUnit.Milliseconds, milliseconds)

    def _add(self, name: str, unit: MetricUnit, value: float) -> None:
        with self._lock:
            self._metrics.add_metric(name, unit, value)


@cache
def observer_of(operation: str, mask: Mask | None = None) -> Observer:
    """The observer of an operation, one for each execution environment and mask."""
    return Observer(operation, mask)
