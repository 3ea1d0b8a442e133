"""Stripe: snapshot events and thin ones. It waits 30 s for a reply."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from idem.webhooks.header_forms import Pairs
from idem.webhooks.header_scheme import HeaderScheme
from idem.webhooks.request_parts import Field
from idem.webhooks.scheme import TOLERANCE
from idem.webhooks.signatures import HEX_SHA256


def stripe(*, tolerance: timedelta = TOLERANCE) -> HeaderScheme:
    """Stripe; the secret is the whole text, `whsec_` included, and not base64. Thin (v2) events are events too.

    Ids are unique in an account: on a platform, Connect's `account` or, for thin events, `context` is part of the identity.
    """
    return HeaderScheme(
        provider="stripe",
        header="stripe-signature",
        form=Pairs(separator=",", stamp="t", labels=("v1",)),
        proofs={"v1": HEX_SHA256},
        signed="{timestamp}.{body}",
        tolerance=tolerance,
        event_id=Field("id"),
        event_type=Field("type"),
        scope=Field("account", "context"),
        object_id=Field("data.object.id", "related_object.id"),
        check=_stripe_complaint,
        varying=("pending_webhooks",),
    )


def is_thin(payload: Any) -> bool:
    """Whether a Stripe event only names what changed: the object has to be fetched, and may have changed again."""
    return isinstance(payload, Mapping) and payload.get("object") == "v2.core.event"


def _stripe_complaint(payload: Any) -> str | None:
    kind = payload.get("object") if isinstance(payload, Mapping) else None
    return None if kind in ("event", "v2.core.event") else "its `object` is not 'event'"
