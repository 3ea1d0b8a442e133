"""One label for each parcel, however often its message arrives."""

from __future__ import annotations

import os
from typing import Any

from handlers.settings import QueueSettings
from idem import Claim, Consumer, Delivery, Policy, Retention, SqsSource, keys
from idem.on_lambda import dynamo_store, lambda_handler, observer_of, sqs

OPERATION = "parcels.ship"
KEY = keys.field("parcelId")


def ask_for_label(delivery: Delivery, claim: Claim) -> dict[str, Any]:
    """Ask the carrier for a label. The key goes with it, for a carrier that knows idempotency keys."""
    return {"parcelId": delivery.payload["parcelId"], "asked": str(claim.key)}


POLICY = Policy(retention=Retention.QUEUE)


def build() -> Consumer:
    """The consumer, with everything real."""
    settings = QueueSettings.from_environment(os.environ)
    return Consumer(
        operation=OPERATION,
        source=SqsSource(client=sqs(), queue_url=settings.queue_url),
        key=KEY,
        work=ask_for_label,
        policy=POLICY,
        store=dynamo_store(settings),
        observe=observer_of(OPERATION),
    )


handler = lambda_handler(build)
