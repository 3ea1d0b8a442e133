"""The environment variables that the constructs set, under the names that `idem.on_lambda` reads."""

from __future__ import annotations

from dataclasses import dataclass

TABLE_VARIABLE = "IDEMPOTENCY_TABLE"
SORT_VALUE_VARIABLE = "IDEMPOTENCY_SORT_VALUE"
METRICS_NAMESPACE = "Idem"
"""Where the observer puts its metrics unless it is told otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reporting:
    """How a function's logs and metrics are told apart from others': Powertools' own variables."""

    service: str
    log_level: str = "INFO"
    namespace: str = METRICS_NAMESPACE

    def variables(self) -> dict[str, str]:
        """Name -> value, as Lambda wants it."""
        return {
            "POWERTOOLS_SERVICE_NAME": self.service,
            "POWERTOOLS_METRICS_NAMESPACE": self.namespace,
            "POWERTOOLS_LOG_LEVEL": self.log_level,
        }
