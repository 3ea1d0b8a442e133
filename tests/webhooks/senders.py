"""One sender for each scheme: a body of its kind, secrets to sign with, and secrets to verify with."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from idem.errors import InputRefused
from idem.sources.http import HttpRequest
from idem.webhooks import ed25519, schemes
from idem.webhooks.scheme import Event, Scheme
from idem.webhooks.signed_requests import sign

NOW = 1_796_040_000_000
URL = "https://api.example.com/hooks"
SEED, OTHER_SEED = bytes(range(32)), bytes(range(1, 33))

HUBSPOT = (
    b'[{"portalId":62515,"subscriptionId":12345,"subscriptionType":"contact.creation","objectId":123,"occurredAt":1564113600000,'
    b'"eventId":1,"attemptNumber":0},'
    b'{"portalId":62515,"subscriptionId":12345,"subscriptionType":"contact.creation","objectId":124,"occurredAt":1564113600000,'
    b'"eventId":1,"attemptNumber":0}]'
)
ADYEN = (
    b'{"live":"false","notificationItems":[{"NotificationRequestItem":{"pspReference":"P1","merchantAccountCode":"M1",'
    b'"merchantReference":"order-1","amount":{"value":1130,"currency":"EUR"},"eventCode":"AUTHORISATION","success":"true",'
    b'"eventDate":"2026-11-30T12:00:00+01:00"}}]}'
)


def standard_secret(key: bytes) -> str:
    return "whsec_" + base64.b64encode(key).decode()


def private(seed: bytes) -> str:
    return "whsk_" + base64.b64encode(seed).decode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    """signs, verifies: the secret of one endpoint, in both roles. others: the same of another one. identities: of its body."""

    name: str
    body: bytes
    identities: Sequence[str]
    signs: str = "secret-1"
    verifies: str = "secret-1"
    other_signs: str = "secret-2"
    other_verifies: str = "secret-2"
    url: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    signed_id: bool = True
    timed: bool = True
    change: Callable[[bytes], bytes] = lambda body: body + b" "

    @property
    def scheme(self) -> Scheme:
        return schemes.by_name(self.name, self.url)

    def send(self, *secrets: str, now_ms: int = NOW, body: bytes | None = None) -> HttpRequest:
        return sign(
            self.name,
            self.body if body is None else body,
            secrets or [self.signs],
            now_ms,
            url=self.url,
            headers=self.headers,
        )

    def receive(self, request: HttpRequest, *secrets: str, now_ms: int = NOW) -> Sequence[Event]:
        """Raises InputRefused and nothing else."""
        self.scheme.verify(request, secrets or [self.verifies], now_ms)
        return self.scheme.events(request, now_ms)

    def accepts(self, request: HttpRequest, *secrets: str, now_ms: int = NOW) -> bool:
        try:
            self.receive(request, *secrets, now_ms=now_ms)
        except InputRefused:
            return False
        return True


def _ed25519(seed: bytes) -> dict[str, Any]:
    return {
        "signs": seed.hex(),
        "verifies": ed25519.public_key(seed).hex(),
        "other_signs": OTHER_SEED.hex(),
        "other_verifies": ed25519.public_key(OTHER_SEED).hex(),
    }


def _standard() -> dict[str, Any]:
    one, two = standard_secret(bytes(24)), standard_secret(bytes(range(24)))
    return {"signs": one, "verifies": one, "other_signs": two, "other_verifies": two}


def _hex() -> dict[str, Any]:
    return {"signs": "00ff", "verifies": "00ff", "other_signs": "00fe", "other_verifies": "00fe"}


def _change_amount(body: bytes) -> bytes:
    return body.replace(b"1130", b"9130")


_FORM = b"MessageSid=SM1&MessageStatus=delivered&AccountSid=AC1&To=%2B15551234567"

SENDERS = {
    sender.name: sender
    for sender in (
        Sender(
            name="stripe",
            body=b'{"id":"evt_1","object":"event","type":"charge.refunded","account":"acct_1","data":{"object":{"id":"ch_1"}}}',
            identities=["evt_1"],
        ),
        Sender(
            name="standard",
            body=b'{"type":"user.created"}',
            identities=["msg_1"],
            headers={"webhook-id": "msg_1"},
            **_standard(),
        ),
        Sender(
            name="svix",
            body=b'{"type":"user.created"}',
            identities=["msg_1"],
            headers={"svix-id": "msg_1"},
            **_standard(),
        ),
        Sender(
            name="github",
            body=b'{"action":"opened"}',
            identities=["d-1"],
            headers={"x-github-delivery": "d-1"},
            signed_id=False,
            timed=False,
        ),
        Sender(
            name="shopify",
            body=b'{"id":820982911946154508}',
            identities=["w-1"],
            headers={"x-shopify-webhook-id": "w-1"},
            signed_id=False,
            timed=False,
        ),
        Sender(
            name="slack",
            body=b'{"type":"event_callback","event_id":"Ev1","team_id":"T1","event":{"type":"app_mention"}}',
            identities=["Ev1"],
        ),
        Sender(
            name="square",
            body=b'{"merchant_id":"M1","type":"payment.updated","event_id":"e-1","data":{"id":"p1"}}',
            identities=["e-1"],
            url=URL,
            timed=False,
        ),
        Sender(
            name="paddle",
            body=b'{"event_id":"evt_1","event_type":"transaction.paid","notification_id":"ntf_1","data":{"id":"txn_1"}}',
            identities=["evt_1"],
        ),
        Sender(
            name="twilio",
            body=_FORM,
            identities=["t-1"],
            url=URL,
            headers={"i-twilio-idempotency-token": "t-1"},
            signed_id=False,
            timed=False,
            change=lambda body: body + b"&x=1",
        ),
        Sender(
            name="hubspot",
            body=HUBSPOT,
            identities=["62515/12345/123/1564113600000/1", "62515/12345/124/1564113600000/1"],
            url=URL,
        ),
        Sender(
            name="adyen", body=ADYEN, identities=["AUTHORISATION/P1/true"], timed=False, change=_change_amount, **_hex()
        ),
        Sender(
            name="adyen_platform",
            body=b'{"type":"balancePlatform.transfer.created","timestamp":"2026-11-30T12:00:00Z","data":{"id":"T1"}}',
            identities=["balancePlatform.transfer.created/T1/2026-11-30T12:00:00Z"],
            timed=False,
            **_hex(),
        ),
        Sender(
            name="linear",
            body=b'{"action":"create","type":"Issue","webhookTimestamp":1796040000000,"organizationId":"o-1","data":{"id":"i-1"}}',
            identities=["d-1"],
            headers={"linear-delivery": "d-1"},
            signed_id=False,
        ),
        Sender(
            name="zendesk",
            body=b'{"type":"zen:event-type:user.created","account_id":123456,"detail":{"id":"7"}}',
            identities=["i-1"],
            headers={"x-zendesk-webhook-invocation-id": "i-1"},
            signed_id=False,
        ),
        Sender(
            name="lemon_squeezy",
            body=b'{"meta":{"event_name":"order_created"},"data":{"type":"orders","id":"1","attributes":'
            b'{"store_id":5,"updated_at":"2026-11-30T12:00:00.000000Z"}}}',
            identities=["order_created/orders/1/2026-11-30T12:00:00.000000Z"],
            timed=False,
        ),
        Sender(
            name="discord",
            body=b'{"id":"1","type":2,"token":"t","application_id":"7","data":{"name":"deploy"}}',
            identities=["1"],
            **_ed25519(SEED),
        ),
    )
}


def with_header(request: HttpRequest, name: str, value: str | None) -> HttpRequest:
    """The request with one header set, or left out."""
    headers = {key: text for key, text in request.headers.items() if key != name}
    return replace(request, headers=headers if value is None else headers | {name: value})


def signature_header(sender: Sender) -> str | None:
    """The name of the header that carries the signature; None where it is in the body."""
    header = getattr(sender.scheme, "header", None)
    return next((name for name in header.names if name in sender.send().headers), None) if header else None
