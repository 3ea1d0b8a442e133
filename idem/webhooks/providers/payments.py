"""The schemes of providers that move or count money.

Facts are from the libraries and pages in the table of `schemes.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from idem.webhooks.header_forms import Pairs
from idem.webhooks.header_scheme import HeaderScheme
from idem.webhooks.providers.adyen import MANNERS as ADYEN_MANNERS
from idem.webhooks.providers.adyen import Adyen
from idem.webhooks.request_parts import Always, AnyOf, BodyHash, Field, Header, Joined
from idem.webhooks.scheme import TOLERANCE, Manners
from idem.webhooks.signatures import Hmac, hex_key

HEX, BASE64 = Hmac(encoding="hex"), Hmac(encoding="base64")


def stripe(*, tolerance: timedelta = TOLERANCE) -> HeaderScheme:
    """Stripe; the secret is the whole text, `whsec_` included, and not base64. Thin (v2) events are events too.

    Ids are unique in an account: on a platform, Connect's `account` or, for thin events, `context` is part of the identity.
    """
    return HeaderScheme(
        provider="stripe",
        header="stripe-signature",
        form=Pairs(separator=",", stamp="t", labels=("v1",)),
        proofs={"v1": HEX},
        signed="{timestamp}.{body}",
        tolerance=tolerance,
        event_id=Field("id"),
        event_type=Field("type"),
        scope=Field("account", "context"),
        object_id=Field("data.object.id", "related_object.id"),
        check=_stripe_complaint,
        varying=("pending_webhooks",),
        manners=Manners(patience=timedelta(seconds=30)),
    )


def is_thin(payload: Any) -> bool:
    """Whether a Stripe event only names what changed: the object has to be fetched, and may have changed again."""
    return isinstance(payload, Mapping) and payload.get("object") == "v2.core.event"


def _stripe_complaint(payload: Any) -> str | None:
    kind = payload.get("object") if isinstance(payload, Mapping) else None
    return None if kind in ("event", "v2.core.event") else "its `object` is not 'event'"


def shopify(*, by_event: bool = False) -> HeaderScheme:
    """Shopify, also with the header names of its newer events.

    The webhook id is one subscription's delivery of an event, the same over its retries. by_event: know an event by its
    event id instead, which all subscriptions that it reaches share; it may be absent, and then the webhook id is taken.
    """
    webhook_id = ("x-shopify-webhook-id", "shopify-webhook-id")
    return HeaderScheme(
        provider="shopify",
        header=Header("x-shopify-hmac-sha256", "shopify-hmac-sha256"),
        proofs={"": BASE64},
        event_id=Header("x-shopify-event-id", *webhook_id) if by_event else Header(*webhook_id),
        event_type=Header("x-shopify-topic", "shopify-topic"),
        scope=Header("x-shopify-shop-domain", "shopify-shop-domain"),
        object_id=Field("id", "admin_graphql_api_id", numbers=True),
        manners=Manners(patience=timedelta(seconds=5)),  # and it takes only 200 for success
    )


def square(url: str) -> HeaderScheme:
    """Square; `url` exactly as it is registered there. A retry has the same signature."""
    return HeaderScheme(
        provider="square",
        header="x-square-hmacsha256-signature",
        proofs={"": BASE64},
        signed="{url}{body}",
        url=url,
        event_id=Field("event_id"),
        event_type=Field("type"),
        scope=Field("merchant_id"),
        object_id=Field("data.id"),
        manners=Manners(patience=timedelta(seconds=10)),
    )


def paddle() -> HeaderScheme:
    """Paddle. Its library allows 5 s; a cold start may take that long, and the key refuses a replay, so a minute is allowed."""
    return HeaderScheme(
        provider="paddle",
        header="paddle-signature",
        form=Pairs(separator=";", stamp="ts", labels=("h1",)),
        proofs={"h1": HEX},
        signed="{timestamp}:{body}",
        tolerance=timedelta(minutes=1),
        event_id=Field("event_id"),
        event_type=Field("event_type"),
        object_id=Field("data.id"),
        varying=("notification_id",),
        manners=Manners(patience=timedelta(seconds=5)),
    )


def adyen() -> Adyen:
    """Adyen's standard webhooks, whose signatures are in the body."""
    return Adyen()


def adyen_platform() -> HeaderScheme:
    """Adyen's other webhooks (platforms, management, terminals), whose signature is in a header."""
    return HeaderScheme(
        provider="adyen",
        header="hmacsignature",
        proofs={"": Hmac(encoding="base64", key=hex_key)},
        event_id=AnyOf((Joined((Field("type"), Field("data.id"), Field("timestamp"))), BodyHash())),
        event_type=AnyOf((Field("type"), Always("event"))),
        scope=Field("data.balancePlatform", "data.merchantId"),
        object_id=Field("data.id"),
        manners=ADYEN_MANNERS,
    )


def lemon_squeezy() -> HeaderScheme:
    """Lemon Squeezy. Its events have no id: the event's name, its object and that object's last change stand for one."""
    changed = Joined(
        (Field("meta.event_name"), Field("data.type"), Field("data.id"), Field("data.attributes.updated_at"))
    )
    return HeaderScheme(
        provider="lemon_squeezy",
        header="x-signature",
        proofs={"": HEX},
        event_id=AnyOf((changed, BodyHash())),
        event_type=Field("meta.event_name"),
        scope=Field("data.attributes.store_id", numbers=True),
        object_id=Field("data.id"),
    )
