"""The same payments in enqueue mode: `payments_receiver.py` puts Stripe's events on a queue, and this credits them.

Inline (`payments.py`) is simpler, and Stripe waits long enough for it. Enqueue mode is for work that takes longer than the
provider waits, and for providers that never try again. Both claim by the same key, so a deployment can change from one to the
other without crediting anything twice.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from handlers import wiring
from handlers.observing import observer
from handlers.payments import OPERATION, POLICY, credit_payment
from idem import Consumer, SqsSource
from idem.webhooks.forwarder import forwarded_event

# What `keys.event_id()` is inline, read from the message's attributes.
KEY = forwarded_event


@dataclass(frozen=True, slots=True, kw_only=True)
class PaymentsQueueSettings(wiring.Settings):
    """What the crediting function reads."""

    payments_queue_url: str


def build() -> Consumer:
    """The consumer, with everything real."""
    settings = PaymentsQueueSettings.from_environment(os.environ)
    return Consumer(
        operation=OPERATION,
        source=SqsSource(client=wiring.sqs(), queue_url=settings.payments_queue_url),
        key=KEY,
        work=credit_payment(settings.ledger_table),
        policy=POLICY,
        store=wiring.store(settings),
        observe=observer(OPERATION),
    )


handler = wiring.lambda_handler(build)
