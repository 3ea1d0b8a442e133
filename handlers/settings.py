"""What each function reads from its environment. The stack sets it; a test feeds the one to the other."""

from __future__ import annotations

from dataclasses import dataclass

from idem.on_lambda import Environment, TableEnvironment


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(TableEnvironment):
    """What every consumer reads: where the records are, and the ledger of the example's effects."""

    ledger_table: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OrdersSettings(Settings):
    """The orders function, `orders.py`."""

    orders_queue_url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PaymentsSettings(Settings):
    """The payments function that credits inline, `payments.py`."""

    payments_secret_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PaymentsReceiverSettings(Environment):
    """The receiving function of enqueue mode, `payments_receiver.py`."""

    payments_secret_id: str
    payments_queue_url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PaymentsQueueSettings(Settings):
    """The crediting function of enqueue mode, `payments_enqueued.py`."""

    payments_queue_url: str
