"""Requests as providers send them, for tests and for a sandbox: any body, signed for any scheme.

    sent = sign("stripe", body, ["whsec_test"], now_ms)
    sent.headers, sent.body

Most schemes leave the body as it is; Adyen's signature and Linear's time are in it.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from idem.sources.http import HttpRequest
from idem.webhooks import schemes

EVENT = "{event}"
"""Stands for an id that is the same for the same body, so that a body that is sent twice is one event."""

COMPANIONS: Mapping[str, Mapping[str, str]] = {
    "standard": {"webhook-id": "msg_" + EVENT},
    "svix": {"svix-id": "msg_" + EVENT},
    "github": {"x-github-event": "push", "x-github-delivery": EVENT},
    "shopify": {
        "x-shopify-topic": "orders/paid",
        "x-shopify-shop-domain": "example.myshopify.com",
        "x-shopify-webhook-id": EVENT,
    },
    "twilio": {"i-twilio-idempotency-token": EVENT},
    "linear": {"linear-delivery": EVENT, "linear-event": "Issue"},
    "zendesk": {"x-zendesk-webhook-invocation-id": EVENT, "x-zendesk-account-id": "123456"},
}
"""Headers that are not part of a signature, and that a provider always sends."""


def sign(
    name: str,
    body: bytes,
    secrets: Sequence[str],
    now_ms: int,
    *,
    url: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> HttpRequest:
    """The request that the provider `name` would send with this body at this moment (epoch ms), signed with every secret.

    headers: more of them, or others than the usual ones. url: the address registered with the provider, for schemes that sign
    it. For Ed25519 the secrets are private keys. Raises ConfigurationError for an unknown name or unusable secrets.
    """
    scheme = schemes.by_name(name, url)
    event = str(UUID(bytes=hashlib.sha256(body).digest()[:16]))
    usual = {header: value.replace(EVENT, event) for header, value in COMPANIONS.get(name, {}).items()}
    usual["content-type"] = "application/json" if body[:1] in b"{[" else "application/x-www-form-urlencoded"
    given = {header.lower(): value for header, value in (headers or {}).items()}
    request = HttpRequest(method="POST", path="/", headers=usual | given, body=body, request_id="request-1")
    return scheme.sign(request, secrets, now_ms)


def as_event(request: HttpRequest) -> dict[str, Any]:
    """A request as a function URL hands it over. The body is base64-encoded there: a receiver has to decode it first."""
    return {
        "version": "2.0",
        "rawPath": request.path,
        "rawQueryString": request.query,
        "headers": dict(request.headers),
        "requestContext": {
            "http": {"method": request.method, "path": request.path},
            "requestId": request.request_id,
        },
        "body": base64.b64encode(request.body).decode("ascii"),
        "isBase64Encoded": True,
    }
