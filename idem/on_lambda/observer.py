"""Logs and metrics: one line and one count for each delivery. Keys, attempts, outcomes and origins; never a payload."""

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

from idem import Claim, Delivery, Done, Ending, Key
from idem.on_lambda.metrics import NAMESPACE, metric_of
from idem.record import Answer, StoredResult


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


@cache
def observer_of(operation: str) -> Observer:
    """The observer of an operation, one for each execution environment."""
    return Observer(operation)
