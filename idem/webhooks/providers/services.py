"""The schemes of providers that tell what happened in a service: repositories, chats, calls, tickets, contacts.

Facts are from the libraries and pages in the table of `schemes.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from idem.errors import MalformedDelivery
from idem.sources.content import parse_form, parse_json
from idem.sources.http import HttpRequest, Reply, json_reply
from idem.webhooks import ed25519
from idem.webhooks.header_forms import Labelled, Plain
from idem.webhooks.header_scheme import HeaderScheme, Stamp, full_url, raw
from idem.webhooks.providers import twilio as twilio_signing
from idem.webhooks.request_parts import Always, AnyOf, BodyHash, ContentHash, Field, Header, Joined
from idem.webhooks.scheme import TOLERANCE, Manners, Unit
from idem.webhooks.signatures import Ed25519, Ed25519Verify, Hmac, standard_key

HEX, BASE64 = Hmac(encoding="hex"), Hmac(encoding="base64")


def standard(
    *, names: tuple[str, ...] = ("webhook",), provider: str = "standard", check: Ed25519Verify = ed25519.verify
) -> HeaderScheme:
    """Standard Webhooks: `whsec_` secrets for v1, `whpk_` public keys for v1a. `names`: what the headers begin with."""
    return HeaderScheme(
        provider=provider,
        header=Header(*(f"{name}-signature" for name in names)),
        form=Labelled(),
        proofs={
            "v1": Hmac(encoding="base64", key=standard_key),
            "v1a": Ed25519(encoding="base64", prefixed=True, check=check),
        },
        signed="{id}.{timestamp}.{body}",
        stamp=Stamp(header=Header(*(f"{name}-timestamp" for name in names))),
        event_id=Header(*(f"{name}-id" for name in names)),
        event_type=AnyOf((Field("type", "event_type", "eventType"), Always("event"))),
        manners=Manners(patience=timedelta(seconds=15)),
    )


def svix() -> HeaderScheme:
    """Svix, and the many providers that send through it: Standard Webhooks under headers of its own."""
    return standard(names=("svix", "webhook"), provider="svix")


def github() -> HeaderScheme:
    """GitHub. It never tries again by itself, so that only enqueueing is safe; a redelivery by hand has the same id."""
    return HeaderScheme(
        provider="github",
        header="x-hub-signature-256",
        form=Plain("sha256="),
        proofs={"": HEX},
        parse=_json_or_form,
        event_id=Header("x-github-delivery"),
        event_type=Header("x-github-event"),
        manners=Manners(retries=False, patience=timedelta(seconds=10)),
    )


def slack() -> HeaderScheme:
    """Slack: events, and the forms of commands and interactive parts. Its check of the address is answered.

    It waits 3 s and tries again at once, after a minute and after five: work that can take longer belongs behind a queue.
    """
    return HeaderScheme(
        provider="slack",
        header="x-slack-signature",
        form=Plain("v0="),
        proofs={"": HEX},
        signed="v0:{timestamp}:{body}",
        stamp=Stamp(header=Header("x-slack-request-timestamp")),
        parse=_json_or_form,
        event_id=Field("event_id", "trigger_id"),
        event_type=AnyOf((Field("event.type", "command", "type"), Always("request"))),
        scope=Field("team_id", "team.id", "enterprise_id"),
        handshake=_slack_challenge,
        manners=Manners(give_up={"x-slack-no-retry": "1"}, patience=timedelta(seconds=3)),
    )


def _slack_challenge(payload: Any) -> Reply | None:
    if not isinstance(payload, Mapping) or payload.get("type") != "url_verification":
        return None
    challenge = payload.get("challenge")
    if not isinstance(challenge, str) or not challenge.isascii():
        raise MalformedDelivery("the check of the address has no challenge")
    return json_reply(200, {"challenge": challenge})


def twilio(url: str, *, algorithm: str = "sha1") -> HeaderScheme:
    """Twilio; `url` as it is configured there. `algorithm`: "sha256" for requests signed with a shared key."""
    status = Field("MessageStatus", "SmsStatus", "CallStatus")
    by_content = Joined((Field("MessageSid", "SmsSid", "CallSid"), status))
    return HeaderScheme(
        provider="twilio",
        header="x-twilio-signature",
        proofs={"": Hmac(encoding="base64", algorithm="sha256" if algorithm == "sha256" else "sha1")},
        signed=twilio_signing.contents,
        url=url,
        parse=_json_or_form,
        event_id=AnyOf((Header("i-twilio-idempotency-token"), by_content, BodyHash())),
        event_type=AnyOf((status, Field("type"), Always("request"))),
        scope=Field("AccountSid"),
        object_id=Field("MessageSid", "SmsSid", "CallSid"),
        manners=Manners(
            accepted=Reply(status=200, body="<Response/>", headers={"content-type": "text/xml"}),
            shows_text=True,  # the work returns TwiML
            retries=False,  # unless the address asks for it: after a failed answer Twilio calls the fallback address
            patience=timedelta(seconds=15),
        ),
    )


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
        proofs={"": BASE64},
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
        manners=Manners(patience=timedelta(seconds=5)),
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


def linear() -> HeaderScheme:
    """Linear. The time is a field of the signed body; the header of the same name is not signed, and is not looked at."""
    return HeaderScheme(
        provider="linear",
        header="linear-signature",
        proofs={"": HEX},
        tolerance=timedelta(minutes=1),
        signed_stamp="webhookTimestamp",
        event_id=Header("linear-delivery"),
        event_type=AnyOf((Field("type"), Header("linear-event"))),
        scope=Field("organizationId"),
        object_id=Field("data.id"),
        varying=("webhookTimestamp",),
        manners=Manners(patience=timedelta(seconds=5)),
    )


def zendesk() -> HeaderScheme:
    """Zendesk."""
    return HeaderScheme(
        provider="zendesk",
        header="x-zendesk-webhook-signature",
        proofs={"": BASE64},
        signed="{timestamp}{body}",
        stamp=Stamp(header=Header("x-zendesk-webhook-signature-timestamp"), unit=Unit.ISO),
        event_id=Header("x-zendesk-webhook-invocation-id"),
        event_type=AnyOf((Field("type"), Always("webhook"))),
        scope=AnyOf((Field("account_id", numbers=True), Header("x-zendesk-account-id", "account-id"))),
        object_id=Field("detail.id", numbers=True),
        manners=Manners(patience=timedelta(seconds=12)),
    )


def discord(*, tolerance: timedelta | None = TOLERANCE, check: Ed25519Verify = ed25519.verify) -> HeaderScheme:
    """Discord: interactions and webhook events; the secret is the application's public key, in hex.

    Discord sends wrong signatures on purpose and wants 401 for them. Its pings are answered. Webhook events have no id.
    """
    return HeaderScheme(
        provider="discord",
        header="x-signature-ed25519",
        proofs={"": Ed25519(encoding="hex", check=check)},
        signed="{timestamp}{body}",
        stamp=Stamp(header=Header("x-signature-timestamp")),
        tolerance=tolerance,
        event_id=AnyOf((Field("id"), BodyHash())),
        event_type=AnyOf((Field("event.type", "data.name"), Always("interaction"))),
        scope=Field("application_id"),
        handshake=_discord_ping,
        manners=Manners(refused_status=401, patience=timedelta(seconds=3)),
    )


def _discord_ping(payload: Any) -> Reply | None:
    """Interactions ping with type 1, and have a token; webhook events ping with type 0, and have none."""
    kind = payload.get("type") if isinstance(payload, Mapping) else None
    if type(kind) is not int:
        return None
    if kind == 1 and "token" in payload:
        return json_reply(200, {"type": 1})
    return Reply(status=204) if kind == 0 and "token" not in payload else None


def _json_or_form(request: HttpRequest) -> Any:
    """The payload of a provider that sends JSON, forms, or JSON in a form's `payload`."""
    if "x-www-form-urlencoded" not in request.headers.get("content-type", "").lower():
        return parse_json(request.body)
    form = {name: values[0] for name, values in parse_form(request.body).items()}
    return parse_json(raw(form["payload"])) if "payload" in form else form
