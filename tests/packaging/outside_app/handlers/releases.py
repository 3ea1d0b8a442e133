"""GitHub's releases: verified and put on a queue at once by one function, told to customers by the other behind it."""

from __future__ import annotations

import os
from typing import Any

from handlers.settings import QueueSettings, ReceiverSettings
from idem import Claim, Consumer, Delivery, Policy, Retention, SqsSource, WebhookSource, schemes
from idem.on_lambda import dynamo_store, lambda_handler, observer_of, signing_secrets, sqs
from idem.webhooks.forwarder import Forwarder, forwarded_event

OPERATION = "releases.announce"
KEY = forwarded_event  # the event's own identity, which the receiver put on its message


def tell_customers(delivery: Delivery, claim: Claim) -> dict[str, Any]:
    """Tell the customers of a release."""
    return {"announced": delivery.payload.get("action"), "attempt": claim.attempt}


POLICY = Policy(retention=Retention.WEBHOOK)


def receiving() -> Forwarder:
    """Checks the signature, enqueues and answers."""
    settings = ReceiverSettings.from_environment(os.environ)
    source = WebhookSource(schemes.github(), signing_secrets(settings.webhook_secret_id))
    return Forwarder(source=source, client=sqs(), queue_url=settings.queue_url)


def announcing() -> Consumer:
    """The consumer behind the queue, with everything real."""
    settings = QueueSettings.from_environment(os.environ)
    return Consumer(
        operation=OPERATION,
        source=SqsSource(client=sqs(), queue_url=settings.queue_url),
        key=KEY,
        work=tell_customers,
        policy=POLICY,
        store=dynamo_store(settings),
        observe=observer_of(OPERATION),
    )


receive = lambda_handler(receiving)
announce = lambda_handler(announcing)
