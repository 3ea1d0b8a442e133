"""The sandbox's functions: the real consumers, with a work that dies when the message tells it to.

Only the sandbox stage ships this file. A message that carries `{"die": "before-effect"}` under "sandbox" (for Stripe: in its
object's metadata, as `sandbox_die`) kills the first attempt's process, as a crash or an out-of-memory kill would:

- before-effect: after the claim, before the work has done anything;
- before-record: after the work has returned, before anything of it is recorded.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from handlers import orders as real_orders
from handlers import payments as real_payments
from handlers import wiring
from idem import Claim, Consumer, Delivery
from idem.consumer import Work
from idem.keys import look_up

MARKS = (("sandbox", "die"), ("data", "object", "metadata", "sandbox_die"))


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


orders = wiring.lambda_handler(lambda: mortal(real_orders.build()))
payments = wiring.lambda_handler(lambda: mortal(real_payments.build()))
