"""The sandbox's functions: the real consumers, with a work that dies when the message tells it to.

Only the sandbox stage ships this file. A message that carries `{"die": "before-effect"}` under "sandbox" (for Stripe: in its
object's metadata, as `sandbox_die`) kills the first attempt's process, as a crash or an out-of-memory kill would:

- before-effect: after the claim, before the work has done anything;
- before-record: after the work has returned, before anything of it is recorded.

Orders know two more: `{"hang": true}` keeps the first attempt until Lambda's time-out kills it, `{"fail": 2}` raises on the
first two attempts. `{"commit": true}` commits the order's effect together with its record.
"""

from __future__ import annotations

import os
import time
from dataclasses import replace
from typing import Any

from handlers import orders as real_orders
from handlers import payments as real_payments
from handlers.ledger import Effect, effect_row
from handlers.settings import OrdersSettings
from idem import Claim, Commit, Consumer, Delivery
from idem.delivery import Work
from idem.keys import look_up
from idem.on_lambda import lambda_handler

MARKS = (("sandbox", "die"), ("data", "object", "metadata", "sandbox_die"))
HANG_SECONDS = 60  # far above the sandbox's function time-outs


def mortal(consumer: Consumer) -> Consumer:
    """The same consumer, with a work that can be told to die."""
    if consumer.work is None:
        raise TypeError("a plan has no effect to die after")
    return replace(consumer, work=_dying(consumer.work))


def _dying(work: Work) -> Work:
    def run(delivery: Delivery, claim: Claim) -> Any:
        told = [look_up(delivery.payload, mark) for mark in MARKS] if claim.attempt == 1 else []
        if "before-effect" in told:
            os._exit(1)
        value = work(delivery, claim)
        if "before-record" in told:
            os._exit(1)
        return value

    return run


def _troubled(consumer: Consumer, ledger_table: str) -> Consumer:
    """The orders consumer, with a work that can also hang, fail and commit."""
    plain = consumer.work
    if plain is None:
        raise TypeError("a plan cannot be troubled")

    def run(delivery: Delivery, claim: Claim) -> Any:
        told = look_up(delivery.payload, "sandbox")
        trouble = told if isinstance(told, dict) else {}
        if trouble.get("hang") and claim.attempt == 1:
            time.sleep(HANG_SECONDS)
        if claim.attempt <= trouble.get("fail", 0):
            raise ConnectionError("the warehouse does not answer")
        if not trouble.get("commit"):
            return plain(delivery, claim)
        total = real_orders.order_total(delivery.payload)
        effect = Effect(subject=f"ORDER#{delivery.payload['orderId']}", kind="fulfilment", amount=total, currency="EUR")
        return Commit([effect_row(ledger_table, effect, claim)], {"total": total})

    return replace(consumer, work=run)


def _orders() -> Consumer:
    ledger_table = OrdersSettings.from_environment(os.environ).ledger_table
    return mortal(_troubled(real_orders.build(), ledger_table))


orders = lambda_handler(_orders)
payments = lambda_handler(lambda: mortal(real_payments.build()))
