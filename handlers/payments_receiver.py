"""Stripe's webhooks in enqueue mode: verified, put on a queue, and answered at once. `payments_enqueued.py` credits them.

It claims nothing, so it needs no table: only the secret and the queue.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from handlers import wiring
from handlers.observing import observer
from idem import WebhookSource, schemes
from idem.webhooks.forwarder import Forwarder

OPERATION = "payments.receive"


@dataclass(frozen=True, slots=True, kw_only=True)
class PaymentsReceiverSettings(wiring.Environment):
    """What the receiving function reads."""

    payments_secret_id: str
    payments_queue_url: str


def build() -> Forwarder:
    """The forwarder, with everything real."""
    settings = PaymentsReceiverSettings.from_environment(os.environ)
    return Forwarder(
        operation=OPERATION,
        source=WebhookSource(schemes.stripe(), wiring.signing_secrets(settings.payments_secret_id)),
        client=wiring.sqs(),
        queue_url=settings.payments_queue_url,
        observe=observer(OPERATION),
    )


handler = wiring.lambda_handler(build)
