"""Orders from the queue: each order is fulfilled once, however often its message arrives or its producer repeats it.

The effect here stands for one that is outside of any transaction, such as a call to a warehouse. A crash after it and before
its record makes the next delivery run again: `payments.py` shows the mode that closes this gap.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from handlers.ledger import Effect, effect_row
from handlers.settings import OrdersSettings
from idem import Claim, Consumer, Delivery, Policy, Retention, SqsSource, Work, keys
from idem.on_lambda import dynamo_store, dynamodb, lambda_handler, observer_of, sqs

OPERATION = "orders.fulfil"

# The order's own id: a message id would change when the producer sends the order again, or a person redrives it.
KEY = keys.field("orderId")


class InvalidOrder(Exception):
    """The order can never be fulfilled as it is."""


def fulfil_order(client: Any, ledger_table: str) -> Work:
    """The work: check the order, make the effect, say what was done."""

    def work(delivery: Delivery, claim: Claim) -> dict[str, Any]:
        total = order_total(delivery.payload)
        order_id = str(delivery.payload["orderId"])
        effect = Effect(subject=f"ORDER#{order_id}", kind="fulfilment", amount=total, currency="EUR")
        row = effect_row(ledger_table, effect, claim)
        client.put_item(TableName=row.table, Item=row.item)
        return {"orderId": order_id, "total": total}

    return work


def order_total(order: Any) -> int:
    """The total in cents. Raises InvalidOrder for what nobody could fulfil."""
    lines = order.get("lines") if isinstance(order, Mapping) else None
    if not isinstance(lines, list) or not lines:
        raise InvalidOrder("the order has no lines")
    total = 0
    for number, line in enumerate(lines, start=1):
        if not isinstance(line, Mapping):
            raise InvalidOrder(f"line {number} is not an object")
        quantity, price = line.get("quantity"), line.get("unitPrice")
        if type(quantity) is not int or quantity < 1:
            raise InvalidOrder(f"line {number}: the quantity is {quantity!r}, not a whole number above zero")
        if type(price) is not int or price < 0:
            raise InvalidOrder(f"line {number}: the unit price is {price!r}, not cents")
        total += quantity * price
    return total


POLICY = Policy(retention=Retention.QUEUE, permanent=(InvalidOrder,))


def build() -> Consumer:
    """The consumer, with everything real."""
    settings = OrdersSettings.from_environment(os.environ)
    return Consumer(
        operation=OPERATION,
        source=SqsSource(client=sqs(), queue_url=settings.orders_queue_url),
        key=KEY,
        work=fulfil_order(dynamodb(), settings.ledger_table),
        policy=POLICY,
        store=dynamo_store(settings),
        observe=observer_of(OPERATION),
    )


handler = lambda_handler(build)
