"""Paddle: a time stamp, and a signature for each active secret. It waits 5 s for a reply."""

from __future__ import annotations

from datetime import timedelta

from idem.webhooks.header_forms import Pairs
from idem.webhooks.header_scheme import HeaderScheme
from idem.webhooks.request_parts import Field
from idem.webhooks.signatures import HEX_SHA256


def paddle() -> HeaderScheme:
    """Paddle. Its library allows 5 s; a cold start may take that long, and the key refuses a replay, so a minute is allowed."""
    return HeaderScheme(
        provider="paddle",
        header="paddle-signature",
        form=Pairs(separator=";", stamp="ts", labels=("h1",)),
        proofs={"h1": HEX_SHA256},
        signed="{timestamp}:{body}",
        tolerance=timedelta(minutes=1),
        event_id=Field("event_id"),
        event_type=Field("event_type"),
        object_id=Field("data.id"),
        varying=("notification_id",),
    )
