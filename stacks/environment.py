"""The environment variables that `handlers/` reads; a test feeds them to the handlers' own settings type."""

from __future__ import annotations

from dataclasses import dataclass

QUEUE_URL_VARIABLE = "ORDERS_QUEUE_URL"
SECRET_VARIABLE = "PAYMENTS_SECRET_ID"  # noqa: S105 - the name of a variable
METRICS_NAMESPACE = "Idem"


@dataclass(frozen=True, slots=True, kw_only=True)
class HandlerEnvironment:
    """What every handler is told. Queue URL and secret are added by the construct that owns them."""

    idempotency_table: str
    ledger_table: str
    service: str
    log_level: str

    def variables(self) -> dict[str, str]:
        """Name -> value, as Lambda wants it."""
        return {
            "IDEMPOTENCY_TABLE": self.idempotency_table,
            "LEDGER_TABLE": self.ledger_table,
            "POWERTOOLS_SERVICE_NAME": self.service,
            "POWERTOOLS_METRICS_NAMESPACE": METRICS_NAMESPACE,
            "POWERTOOLS_LOG_LEVEL": self.log_level,
        }
