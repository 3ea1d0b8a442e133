"""HubSpot: up to 100 events in one request. It waits 5 s for a reply."""

from __future__ import annotations

from idem.sources.http import HttpRequest
from idem.webhooks.header_scheme import HeaderScheme, Stamp, full_url, raw
from idem.webhooks.request_parts import AnyOf, ContentHash, Field, Header, Joined
from idem.webhooks.scheme import Unit
from idem.webhooks.signatures import BASE64_SHA256


def hubspot(url: str) -> HeaderScheme:
    """HubSpot's v3 signature; `url` as it is registered there. A request brings up to 100 events, each known by itself.

    HubSpot does not promise that its eventId is unique, so portal, subscription, object and time are part of the id.
    """
    of_subscription = (Field("portalId", numbers=True), Field("subscriptionId", "subscriptionType", numbers=True))
    of_moment = (Field("occurredAt", numbers=True), Field("eventId", numbers=True))
    one = (Field("objectId", numbers=True),)
    pair = (Field("fromObjectId", numbers=True), Field("toObjectId", numbers=True))
    return HeaderScheme(
        provider="hubspot",
        header="x-hubspot-signature-v3",
        proofs={"": BASE64_SHA256},
        signed=_hubspot_contents,
        url=url,
        stamp=Stamp(header=Header("x-hubspot-request-timestamp"), unit=Unit.MILLISECONDS),
        batched=True,
        event_id=AnyOf(
            (
                Joined((*of_subscription, *one, *of_moment)),
                Joined((*of_subscription, *pair, *of_moment)),
                ContentHash(without=("attemptNumber",)),
            )
        ),
        event_type=Field("subscriptionType", "eventType"),
        scope=Field("portalId", numbers=True),
        object_id=Field("objectId", "fromObjectId", numbers=True),
        varying=("attemptNumber",),
    )


HUBSPOT_DECODED = {f"%{ord(character):02X}": character for character in ":/?@!$'()*,;"}
"""The escapes that HubSpot's documentation asks to be decoded in the address."""


def _hubspot_contents(request: HttpRequest, url: str, stamp: str) -> list[bytes]:
    address = full_url(url, request)
    decoded = address
    for escape, character in HUBSPOT_DECODED.items():
        decoded = decoded.replace(escape, character).replace(escape.lower(), character)
    ways = [decoded] if decoded == address else [decoded, address]
    return [raw(request.method) + raw(way) + request.body + raw(stamp) for way in ways]
