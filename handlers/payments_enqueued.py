"""The same payments in enqueue mode: `payments_receiver.py` puts Stripe's events on a queue, and this credits them.

Inline (`payments.py`) is simpler, and Stripe waits long enough for it. Enqueue mode is for work that takes longer than the
provider waits, and for providers that never try again. Both claim by the same key, so a deployment can change from one to the
other without crediting anything twice.
"""

from __future__ import annotations

import os

from handlers.payments import OPERATION, POLICY, credit_payment
from handlers.settings import PaymentsQueueSettings
from idem import Consumer, SqsSource
from idem.on_lambda import dynamo_store, lambda_handler, observer_of, sqs
from idem.webhooks.forwarder import forwarded_event

# What `keys.event_id()` is inline, read from the message's attributes.
KEY = forwarded_event

# The work and the policy are those of `payments.py`.


def build() -> Consumer:
    """The consumer, with everything real."""
    settings = PaymentsQueueSettings.from_environment(os.environ)
    return Consumer(
        operation=OPERATION,
        source=SqsSource(client=sqs(), queue_url=settings.payments_queue_url),
        key=KEY,
        work=credit_payment(settings.ledger_table),
        policy=POLICY,
        store=dynamo_store(settings),
        observe=observer_of(OPERATION),
    )


handler = lambda_handler(build)
