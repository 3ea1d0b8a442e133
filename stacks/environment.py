"""The environment variables that `handlers/` reads; a test feeds them to the handlers' own settings type."""

from __future__ import annotations

from dataclasses import dataclass

TABLE_VARIABLE = "IDEMPOTENCY_TABLE"
SORT_VALUE_VARIABLE = "IDEMPOTENCY_SORT_VALUE"
LEDGER_VARIABLE = "LEDGER_TABLE"
QUEUE_URL_VARIABLE = "ORDERS_QUEUE_URL"
CREDITS_URL_VARIABLE = "PAYMENTS_QUEUE_URL"
SECRET_VARIABLE = "PAYMENTS_SECRET_ID"  # noqa: S105 - the name of a variable
METRICS_NAMESPACE = "Idem"


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
