"""Payments from Stripe's webhooks: each payment is credited once, in the same transaction as its record.

There is no moment at which the credit is made and not recorded, or recorded and not made: a crash anywhere leaves neither.
"""

from __future__ import annotations

import os
from typing import Any

from handlers.ledger import Effect, effect_row
from handlers.settings import PaymentsSettings
from idem import Claim, Commit, Consumer, Delivery, Policy, Retention, WebhookSource, Work, keys, schemes
from idem.on_lambda import dynamo_store, lambda_handler, observer_of, signing_secrets

OPERATION = "payments.credit"

# Stripe's event id, which stays the same over all of its deliveries, with the account it belongs to.
KEY = keys.event_id()

# A session that is paid later completes unpaid first, and then succeeds: it is credited for the second event.
PAYING = frozenset({"checkout.session.completed", "checkout.session.async_payment_succeeded"})


class InvalidPayment(Exception):
    """The event can never be credited as it is."""


def credit_payment(ledger_table: str) -> Work:
    """The work: write nothing, say what is to be written together with the record."""

    def work(delivery: Delivery, claim: Claim) -> Any:
        event = delivery.payload
        if event["type"] not in PAYING:
            return {"ignored": event["type"]}  # acknowledged, recorded and counted, so that Stripe stops sending it
        session = event["data"]["object"]
        if session["payment_status"] != "paid":
            return {"ignored": f"{event['type']}, {session['payment_status']}"}
        amount, currency = session.get("amount_total"), session.get("currency")
        if not isinstance(amount, int) or not isinstance(currency, str):
            raise InvalidPayment(f"session {session.get('id')} has no amount or no currency")
        effect = Effect(subject=f"PAYMENT#{session['id']}", kind="credit", amount=amount, currency=currency.upper())
        return Commit([effect_row(ledger_table, effect, claim)], {"credited": amount, "currency": effect.currency})

    return work


POLICY = Policy(retention=Retention.WEBHOOK, permanent=(InvalidPayment, KeyError))


def build() -> Consumer:
    """The consumer, with everything real."""
    settings = PaymentsSettings.from_environment(os.environ)
    return Consumer(
        operation=OPERATION,
        source=WebhookSource(schemes.stripe(), signing_secrets(settings.payments_secret_id)),
        key=KEY,
        work=credit_payment(settings.ledger_table),
        policy=POLICY,
        store=dynamo_store(settings),
        observe=observer_of(OPERATION),
    )


handler = lambda_handler(build)
