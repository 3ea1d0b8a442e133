"""Zendesk: it waits 12 s for a reply."""

from __future__ import annotations

from idem.webhooks.header_scheme import HeaderScheme, Stamp
from idem.webhooks.request_parts import Always, AnyOf, Field, Header
from idem.webhooks.scheme import Unit
from idem.webhooks.signatures import BASE64_SHA256


def zendesk() -> HeaderScheme:
    """Zendesk."""
    return HeaderScheme(
        provider="zendesk",
        header="x-zendesk-webhook-signature",
        proofs={"": BASE64_SHA256},
        signed="{timestamp}{body}",
        stamp=Stamp(header=Header("x-zendesk-webhook-signature-timestamp"), unit=Unit.ISO),
        event_id=Header("x-zendesk-webhook-invocation-id"),
        event_type=AnyOf((Field("type"), Always("webhook"))),
        scope=AnyOf((Field("account_id", numbers=True), Header("x-zendesk-account-id", "account-id"))),
        object_id=Field("detail.id", numbers=True),
    )
