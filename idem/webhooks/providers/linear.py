"""Linear: the time is in the signed body. It waits 5 s for a reply."""

from __future__ import annotations

from datetime import timedelta

from idem.webhooks.header_scheme import HeaderScheme
from idem.webhooks.request_parts import AnyOf, Field, Header
from idem.webhooks.signatures import HEX_SHA256


def linear() -> HeaderScheme:
    """Linear. The time is a field of the signed body; the header of the same name is not signed, and is not looked at."""
    return HeaderScheme(
        provider="linear",
        header="linear-signature",
        proofs={"": HEX_SHA256},
        tolerance=timedelta(minutes=1),
        signed_stamp="webhookTimestamp",
        event_id=Header("linear-delivery"),
        event_type=AnyOf((Field("type"), Header("linear-event"))),
        scope=Field("organizationId"),
        object_id=Field("data.id"),
        varying=("webhookTimestamp",),
    )
