"""Shopify: the event is known by a header that nothing signs. It waits 5 s for a reply, and takes only 200 for success."""

from __future__ import annotations

from idem.sources.http import LAMBDA_BYTES_MAX
from idem.webhooks.header_scheme import HeaderScheme
from idem.webhooks.request_parts import Field, Header
from idem.webhooks.signatures import BASE64_SHA256


def shopify(*, by_event: bool = False) -> HeaderScheme:
    """Shopify, also with the header names of its newer events.

    The webhook id is one subscription's delivery of an event, the same over its retries. by_event: know an event by its
    event id instead, which all subscriptions that it reaches share; it may be absent, and then the webhook id is taken.
    """
    webhook_id = ("x-shopify-webhook-id", "shopify-webhook-id")
    return HeaderScheme(
        provider="shopify",
        header=Header("x-shopify-hmac-sha256", "shopify-hmac-sha256"),
        proofs={"": BASE64_SHA256},
        event_id=Header("x-shopify-event-id", *webhook_id) if by_event else Header(*webhook_id),
        event_type=Header("x-shopify-topic", "shopify-topic"),
        scope=Header("x-shopify-shop-domain", "shopify-shop-domain"),
        object_id=Field("id", "admin_graphql_api_id", numbers=True),
        body_bytes_max=LAMBDA_BYTES_MAX,  # no limit of Shopify's is known to us; it sends orders and products with all their lines
    )
