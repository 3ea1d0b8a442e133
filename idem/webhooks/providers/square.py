"""Square: the address is part of what is signed. It waits 10 s for a reply."""

from __future__ import annotations

from idem.webhooks.header_scheme import HeaderScheme
from idem.webhooks.request_parts import Field
from idem.webhooks.signatures import BASE64_SHA256


def square(url: str) -> HeaderScheme:
    """Square; `url` exactly as it is registered there. A retry has the same signature."""
    return HeaderScheme(
        provider="square",
        header="x-square-hmacsha256-signature",
        proofs={"": BASE64_SHA256},
        signed="{url}{body}",
        url=url,
        event_id=Field("event_id"),
        event_type=Field("type"),
        scope=Field("merchant_id"),
        object_id=Field("data.id"),
    )
