"""Signature schemes: does this request come from who it says, and what is its identity?

A scheme verifies the raw bytes that arrived, with each of the secrets, in constant time, before anything is parsed. Whatever
is wrong with hostile input is one error: SignatureInvalid.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol

from idem.errors import MalformedDelivery, SignatureInvalid
from idem.sources.http import HttpRequest

TOLERANCE = timedelta(minutes=5)  # Stripe's default, used in both directions
SIGNATURES_MAX = 16  # in one header: a provider sends one for each active secret, an attacker could send thousands
TIMESTAMP_DIGITS_MAX = 12  # epoch seconds have ten digits until the year 2286


class Scheme(Protocol):
    """How one provider signs, and where the identity of its events is."""

    @property
    def provider(self) -> str: ...

    def verify(self, request: HttpRequest, secrets: Sequence[str], now_ms: int) -> None:
        """Raises SignatureInvalid unless one of the secrets signed this request, recently."""
        ...

    def identify(self, request: HttpRequest, payload: Any) -> Identity:
        """Who the event is. Raises MalformedDelivery if the payload does not say."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """An event's own id, its type, and the account or endpoint it belongs to."""

    event_id: str
    event_type: str
    scope: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stripe:
    """Stripe: `Stripe-Signature: t=<epoch s>,v1=<hex>[,v1=<hex>]`, HMAC-SHA256 over "<t>.<raw body>".

    The key is the whole secret, `whsec_` included. Every delivery attempt is signed anew, so the tolerance does not stand in
    the way of retries. While a secret is rolled there is one v1 for each. Both read in stripe-python's own verifier.
    """

    tolerance: timedelta = TOLERANCE
    provider: str = "stripe"

    def verify(self, request: HttpRequest, secrets: Sequence[str], now_ms: int) -> None:
        header = request.headers.get("stripe-signature")
        if not header:
            raise SignatureInvalid("the Stripe-Signature header is missing")
        pairs = [part.strip().partition("=")[::2] for part in header.split(",")]
        stamps = [value for name, value in pairs if name == "t"]
        given = [value for name, value in pairs if name == "v1"]
        if len(stamps) != 1 or not given or len(given) > SIGNATURES_MAX:
            raise SignatureInvalid("the Stripe-Signature header needs one t= and at least one v1=")
        check_time(stamps[0], now_ms, self.tolerance)
        signed = stamps[0].encode() + b"." + request.body
        keys = [secret.encode() for secret in secrets if secret.strip()]  # anyone can sign with an empty one
        check_hmac(given, [hmac.new(key, signed, hashlib.sha256).hexdigest() for key in keys])

    def identify(self, request: HttpRequest, payload: Any) -> Identity:  # noqa: ARG002 - Stripe's identity is in the body
        if not isinstance(payload, Mapping) or payload.get("object") not in ("event", "v2.core.event"):
            raise MalformedDelivery("the body is not a Stripe event: its `object` is not 'event'")
        event_id, event_type = payload.get("id"), payload.get("type")
        if not isinstance(event_id, str) or not event_id or not isinstance(event_type, str) or not event_type:
            raise MalformedDelivery("the Stripe event has no id or no type")
        account = payload.get("account") or payload.get("context")
        return Identity(event_id=event_id, event_type=event_type, scope=account if isinstance(account, str) else None)


def check_time(stamp: str, now_ms: int, tolerance: timedelta) -> None:
    """Refuse a time stamp (epoch seconds, as text) that is too far from now, in either direction."""
    if not stamp.isascii() or not stamp.isdecimal() or len(stamp) > TIMESTAMP_DIGITS_MAX:
        raise SignatureInvalid("the signature's time stamp is not a number of seconds")
    apart = abs(now_ms - int(stamp) * 1000)
    if apart > tolerance.total_seconds() * 1000:
        raise SignatureInvalid(f"the signature is {apart // 1000} s away from now; the tolerance is {tolerance}")


def check_hmac(given: Sequence[str], expected: Sequence[str]) -> None:
    """Refuse unless one given signature equals one expected. Every pair is compared, each in constant time."""
    matches = [
        hmac.compare_digest(one.encode("utf-8", "surrogatepass"), other.encode()) for one in given for other in expected
    ]
    if not any(matches):
        raise SignatureInvalid("no signature in the header matches: a changed body, or another endpoint's secret")
