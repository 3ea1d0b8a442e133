"""Twilio. What it signs is the address and, for forms, every field of the body.

A form's fields are sorted by name, the values of one name are sorted and equal ones taken once, and name and value follow each
other without anything between them. A body that is not a form is signed through its hash, in the query's bodySHA256. The address
may be signed with its port or without: both are tried. (twilio 9.13, request_validator.py)
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from urllib.parse import parse_qs, urlsplit, urlunsplit

from idem.errors import MalformedDelivery, SignatureInvalid
from idem.sources.content import FORM_FIELDS_MAX, parse_form
from idem.sources.http import HttpRequest, Reply
from idem.webhooks.header_scheme import HeaderScheme, full_url, json_or_form, raw
from idem.webhooks.request_parts import Always, AnyOf, BodyHash, Field, Header, Joined, Own
from idem.webhooks.scheme import ReplyStyle
from idem.webhooks.signatures import Hmac

BODY_HASH = "bodySHA256"


def twilio(url: str, *, algorithm: str = "sha1") -> HeaderScheme:
    """Twilio; `url` as it is configured there. `algorithm`: "sha256" for requests signed with a shared key.

    It waits 15 s for a reply. It does not try again by itself unless the address asks for it: after a failed reply it calls
    the fallback address.
    """
    status = Field("MessageStatus", "SmsStatus", "CallStatus")
    by_content = Joined((Field("MessageSid", "SmsSid", "CallSid"), status))
    return HeaderScheme(
        provider="twilio",
        header="x-twilio-signature",
        proofs={"": Hmac(encoding="base64", algorithm="sha256" if algorithm == "sha256" else "sha1")},
        signed=_contents,
        url=url,
        parse=json_or_form,
        event_id=AnyOf((Own(Header("i-twilio-idempotency-token")), by_content, BodyHash())),
        event_type=AnyOf((status, Field("type"), Always("request"))),
        scope=Field("AccountSid"),
        object_id=Field("MessageSid", "SmsSid", "CallSid"),
        reply_style=ReplyStyle(
            accepted=Reply(status=200, body="<Response/>", headers={"content-type": "text/xml"}),
            shows_text=True,  # the work returns TwiML
        ),
    )


def _contents(request: HttpRequest, url: str, stamp: str) -> Sequence[bytes]:  # noqa: ARG001 - Twilio signs no time
    """What may have been signed: the address with and without its port, and the fields behind it."""
    address = full_url(url, request)
    fields = b"" if _is_hashed(request) else _fields(request.body)
    return [raw(written) + fields for written in _ways(address)]


def _is_hashed(request: HttpRequest) -> bool:
    """Whether the signed address carries the body's hash, which is then checked."""
    try:
        given = parse_qs(request.query, max_num_fields=FORM_FIELDS_MAX, errors="surrogatepass").get(BODY_HASH)
    except ValueError:
        raise SignatureInvalid("the request has too many query parameters") from None
    if given is None:
        return False
    if not hmac.compare_digest(raw(given[0]), hashlib.sha256(request.body).hexdigest().encode()):
        raise SignatureInvalid("the body is not the one whose hash is in the signed address")
    return True


def _fields(body: bytes) -> bytes:
    try:
        form = parse_form(body)
    except MalformedDelivery as error:
        raise SignatureInvalid(f"the signature covers the fields of a form, and {error}") from None
    return b"".join(raw(name) + raw(value) for name in sorted(form) for value in sorted(set(form[name])))


def _ways(address: str) -> list[str]:
    """The address as it is registered, then with its port left out or filled in."""
    try:
        parts = urlsplit(address)
        port, host = parts.port, parts.hostname or ""
    except ValueError:
        raise SignatureInvalid("the address of the request cannot be read") from None
    if port is None:
        other = f"{parts.netloc}:{443 if parts.scheme == 'https' else 80}"
    else:
        other = parts.netloc.removesuffix(f":{port}") if host else parts.netloc
    return [address, urlunsplit(parts._replace(netloc=other))]
