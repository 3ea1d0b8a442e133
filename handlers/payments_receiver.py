"""Stripe's webhooks in enqueue mode: verified, put on a queue, and answered at once. `payments_enqueued.py` credits them.

It claims nothing, so it needs no table: only the secret and the queue.
"""

from __future__ import annotations

import os

from handlers.settings import PaymentsReceiverSettings
from idem import Forwarder, WebhookSource, schemes
from idem.on_lambda import lambda_handler, observer_of, signing_secrets, sqs

OPERATION = "payments.receive"


def build() -> Forwarder:
    """The forwarder, with everything real."""
    settings = PaymentsReceiverSettings.from_environment(os.environ)
    return Forwarder(
        operation=OPERATION,
        source=WebhookSource(schemes.stripe(), signing_secrets(settings.payments_secret_id)),
        client=sqs(),
        queue_url=settings.payments_queue_url,
        observe=observer_of(OPERATION),
    )


handler = lambda_handler(build)
