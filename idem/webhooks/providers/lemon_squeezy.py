"""Lemon Squeezy: events without an id of their own."""

from __future__ import annotations

from idem.webhooks.header_scheme import HeaderScheme
from idem.webhooks.request_parts import AnyOf, BodyHash, Field, Joined
from idem.webhooks.signatures import HEX_SHA256


def lemon_squeezy() -> HeaderScheme:
    """Lemon Squeezy. Its events have no id: the event's name, its object and that object's last change stand for one."""
    changed = Joined(
        (Field("meta.event_name"), Field("data.type"), Field("data.id"), Field("data.attributes.updated_at"))
    )
    return HeaderScheme(
        provider="lemon_squeezy",
        header="x-signature",
        proofs={"": HEX_SHA256},
        event_id=AnyOf((changed, BodyHash())),
        event_type=Field("meta.event_name"),
        scope=Field("data.attributes.store_id", numbers=True),
        object_id=Field("data.id"),
    )
