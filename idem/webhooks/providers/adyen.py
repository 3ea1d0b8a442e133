"""Adyen. Its standard webhooks are batches of notifications, each of which carries its own signature in its body.

What is signed is not the body but eight fields, joined by colons: pspReference, originalReference, merchantAccountCode,
merchantReference, amount value and currency, eventCode, success. So nothing else of a notification is proved: not its
eventDate, not its reason, not its additionalData. The work should look up at Adyen whatever else it needs.

Adyen's own library checks only the first notification of a request; here every one of them must be signed. It joins the fields
as they are, without escaping, and takes the key as hex digits. (Adyen 16.0, util.py; the documented example is a test vector.)
Its other webhooks have one signature in a header. For both it waits 10 s for a reply.
"""

from __future__ import annotations

import hmac
import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from idem.errors import MalformedDelivery, SignatureInvalid
from idem.sources.content import mapping_of, parse_json
from idem.sources.http import REQUEST_BYTES_MAX, HttpRequest, Reply
from idem.webhooks.header_scheme import HeaderScheme
from idem.webhooks.request_parts import Always, AnyOf, BodyHash, Field, Joined, escaped, written
from idem.webhooks.scheme import Event, Identity, NoMatch, ReplyStyle, usable
from idem.webhooks.signatures import Hmac, hex_key

SIGNED = ("pspReference", "originalReference", "merchantAccountCode", "merchantReference")
NOTIFICATIONS_MAX = 100  # in one request; Adyen sends one over HTTP and JSON, and allows for more

REPLY_STYLE = ReplyStyle(
    accepted=Reply(status=200, body="[accepted]", headers={"content-type": "text/plain"}),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Adyen:
    """The scheme of Adyen's standard webhooks. The signature has no time stamp: only the key refuses a replay."""

    provider: str = "adyen"
    reply_style: ReplyStyle = REPLY_STYLE
    body_bytes_max: int = REQUEST_BYTES_MAX  # all of it is parsed before anything is proved
    varying: Sequence[str] = field(default=("eventDate", "additionalData"))

    def verify(self, request: HttpRequest, secrets: Sequence[str], now_ms: int) -> None:  # noqa: ARG002 - no stamp
        """Raises SignatureInvalid unless every notification is signed. The body is parsed first: its signatures are in it."""
        try:
            items = _items(parse_json(request.body))
        except MalformedDelivery as error:
            raise SignatureInvalid(f"the signatures are in the body, and {error}") from None
        keys = [key for position, secret in enumerate(usable(secrets)) if (key := hex_key(secret, position))]
        for item in items:
            given = _signed_text(mapping_of(item.get("additionalData")).get("hmacSignature"))
            content = signed_content(item)
            matches = [hmac.compare_digest(_signature(key, content), given.encode("utf-8", "replace")) for key in keys]
            if not any(matches):
                raise NoMatch("a notification is not signed by any of the secrets")

    def events(self, request: HttpRequest, now_ms: int) -> list[Event]:  # noqa: ARG002 - no stamp
        """The notifications of a verified request. An event's id is made of signed fields only."""
        return [_event(item) for item in _items(parse_json(request.body))]

    def sign(self, request: HttpRequest, secrets: Sequence[str], now_ms: int) -> HttpRequest:  # noqa: ARG002 - no stamp
        """The request with a signature in each notification, made with the last secret."""
        payload = parse_json(request.body)
        key = hex_key(secrets[-1], len(secrets) - 1) or b""
        for item in _items(payload):
            signature = _signature(key, signed_content(item)).decode("ascii")
            item["additionalData"] = dict(mapping_of(item.get("additionalData"))) | {"hmacSignature": signature}
        return replace(request, body=json.dumps(payload, separators=(",", ":")).encode("ascii"))


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
        reply_style=REPLY_STYLE,
    )


def signed_content(item: Mapping[str, Any]) -> bytes:
    """The eight fields that a signature covers."""
    amount = mapping_of(item.get("amount"))
    parts = [item.get(name) for name in SIGNED]
    parts += [amount.get("value"), amount.get("currency"), item.get("eventCode"), item.get("success")]
    return ":".join(_signed_text(part) for part in parts).encode("utf-8", "surrogatepass")


def _items(payload: Any) -> list[dict[str, Any]]:
    found = payload.get("notificationItems") if isinstance(payload, dict) else None
    if not isinstance(found, list) or not 1 <= len(found) <= NOTIFICATIONS_MAX:
        raise MalformedDelivery(f"the body is not a batch of 1 to {NOTIFICATIONS_MAX} notifications of Adyen")
    items = [one.get("NotificationRequestItem") if isinstance(one, dict) else None for one in found]
    if not all(isinstance(item, dict) for item in items):
        raise MalformedDelivery("a notification of the batch has no NotificationRequestItem")
    return [item for item in items if isinstance(item, dict)]


def _event(item: dict[str, Any]) -> Event:
    code, reference = _signed_text(item.get("eventCode")), _signed_text(item.get("pspReference"))
    if not code.strip() or not reference.strip():
        raise MalformedDelivery("a notification has no eventCode or no pspReference")
    success = _signed_text(item.get("success"))
    identity = Identity(
        event_id="/".join(escaped(part) for part in (code, reference, success) if part),
        event_type=code,
        scope=_signed_text(item.get("merchantAccountCode")) or None,
        object_id=_signed_text(item.get("originalReference")) or reference,
    )
    return Event(identity=identity, payload=item, body=json.dumps(item, separators=(",", ":")).encode("ascii"))


def _signed_text(value: Any) -> str:
    """A signed field as Adyen's library writes it; what no notification holds is nothing."""
    if isinstance(value, str):
        return value
    return (written(value) or "") if isinstance(value, int) and not isinstance(value, bool) else ""


def _signature(key: bytes, content: bytes) -> bytes:
    return b64encode(hmac.digest(key, content, "sha256"))
