"""What the team's three functions do.

`ship` works on parcels from the FIFO queue. `receive` takes GitHub's webhooks and puts them on a queue; `announce`
works on them behind it.
"""

from __future__ import annotations

import os
from typing import Any

from handlers.observing import observer

from handlers import wiring
from idem import Claim, Consumer, Delivery, DynamoStore, Policy, Retention, SqsSource, WebhookSource, keys, schemes
from idem.consumer import Work
from idem.keys import KeyRule
from idem.webhooks.forwarder import Forwarder, forwarded_event


def ask_for_label(delivery: Delivery, claim: Claim) -> dict[str, Any]:
    """Ask the carrier for a label. The key goes with it, for a carrier that knows idempotency keys."""
    return {"parcelId": delivery.payload["parcelId"], "asked": str(claim.key)}


def tell_customers(delivery: Delivery, claim: Claim) -> dict[str, Any]:
    """Tell the customers of a release."""
    return {"announced": delivery.payload.get("action"), "attempt": claim.attempt}


def consumer(operation: str, key: KeyRule, work: Work, policy: Policy) -> Consumer:
    """A consumer of a queue, with records in the team's single table."""
    table, sort_value = os.environ["IDEMPOTENCY_TABLE"], os.environ["IDEMPOTENCY_SORT_VALUE"]
    return Consumer(
        operation=operation,
        source=SqsSource(client=wiring.sqs(), queue_url=os.environ["QUEUE_URL"]),
        key=key,
        work=work,
        policy=policy,
        store=DynamoStore(wiring.dynamodb(), table, sort_value=sort_value),
        observe=observer(operation),
    )


def shipping() -> Consumer:
    """One label for each parcel, however often its message arrives."""
    return consumer("parcels.ship", keys.field("parcelId"), ask_for_label, Policy(retention=Retention.QUEUE))


def receiving() -> Forwarder:
    """Checks the signature, enqueues and answers."""
    source = WebhookSource(schemes.github(), wiring.signing_secrets(os.environ["WEBHOOK_SECRET_ID"]))
    return Forwarder(source=source, client=wiring.sqs(), queue_url=os.environ["QUEUE_URL"])


def announcing() -> Consumer:
    """Claims by the event's own identity, which the receiver put on its message."""
    return consumer("releases.announce", forwarded_event, tell_customers, Policy(retention=Retention.WEBHOOK))


ship = wiring.lambda_handler(shipping)
receive = wiring.lambda_handler(receiving)
announce = wiring.lambda_handler(announcing)
