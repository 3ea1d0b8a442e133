"""The environment variables of this stack's own that `handlers/` reads; a test feeds them to the handlers' settings."""

LEDGER_VARIABLE = "LEDGER_TABLE"
QUEUE_URL_VARIABLE = "ORDERS_QUEUE_URL"
CREDITS_URL_VARIABLE = "PAYMENTS_QUEUE_URL"
SECRET_VARIABLE = "PAYMENTS_SECRET_ID"  # noqa: S105 - the name of a variable
