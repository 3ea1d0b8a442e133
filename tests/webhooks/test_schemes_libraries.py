"""Generated requests, on which the providers' own libraries must agree. Stripe's is in test_stripe.py."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime
from typing import Any

import pytest
import standardwebhooks
from Adyen import util as adyen_library  # type: ignore[import-untyped]
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from hypothesis import given
from hypothesis import strategies as st
from slack_sdk.signature import SignatureVerifier

from idem.errors import SignatureInvalid
from idem.sources.http import HttpRequest
from idem.webhooks import ed25519, schemes
from idem.webhooks.providers.adyen import signed_content
from idem.webhooks.scheme import Scheme

BODIES = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
SECRETS = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=30)
TIMES = st.integers(min_value=1, max_value=4_000_000_000)
HEX_KEY = "44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056"


def accepts(scheme: Scheme, body: bytes, headers: dict[str, str], secrets: list[str], now_s: int) -> bool:
    sent = HttpRequest(method="POST", path="/", headers=headers, body=body, request_id="r-1")
    try:
        scheme.verify(sent, secrets, now_s * 1000)
    except SignatureInvalid:
        return False
    return True


@given(body=BODIES, secret=SECRETS, at=TIMES, off=st.integers(min_value=-400, max_value=400))
def test_slack_sdk_agrees(body: str, secret: str, at: int, off: int) -> None:
    class Clock:
        def now(self) -> float:
            return float(at + off)

    theirs = SignatureVerifier(secret, Clock())  # type: ignore[arg-type]
    signature = theirs.generate_signature(timestamp=str(at), body=body)
    assert signature is not None
    headers = {"x-slack-request-timestamp": str(at), "x-slack-signature": signature}
    assert theirs.is_valid(body, str(at), signature) is accepts(
        schemes.slack(), body.encode(), headers, [secret], at + off
    )


@given(
    body=BODIES, key=st.binary(min_size=1, max_size=64), at=TIMES, name=st.text("abcXYZ019_-", min_size=1, max_size=20)
)
def test_what_standardwebhooks_signs_verifies(body: str, key: bytes, at: int, name: str) -> None:
    secret = "whsec_" + base64.b64encode(key).decode()
    made = standardwebhooks.Webhook(secret).sign(name, datetime.fromtimestamp(at, UTC), body)
    headers = {"webhook-id": name, "webhook-timestamp": str(at), "webhook-signature": f"v1,AAAA {made} v9,x"}
    assert accepts(schemes.standard(), body.encode(), headers, [secret], at)
    assert not accepts(schemes.standard(), body.encode() + b".", headers, [secret], at)
    assert not accepts(schemes.standard(), body.encode(), headers | {"webhook-id": name + "x"}, [secret], at)


FIELDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
ITEMS = st.fixed_dictionaries(
    {
        "amount": st.fixed_dictionaries({"value": st.integers(-(10**12), 10**12), "currency": FIELDS}),
        "merchantAccountCode": FIELDS,
        "merchantReference": FIELDS,
        "pspReference": FIELDS,
        "eventCode": FIELDS,
        "success": st.sampled_from(["true", "false"]),
    },
    optional={"originalReference": FIELDS, "reason": FIELDS, "eventDate": FIELDS},
)


@given(ITEMS)
def test_adyens_library_signs_the_same_content(item: dict[str, Any]) -> None:
    theirs = adyen_library.generate_notification_sig(item, HEX_KEY).decode()
    signed = item | {"additionalData": {"hmacSignature": theirs}}
    body = json.dumps({"notificationItems": [{"NotificationRequestItem": signed}]}).encode()
    assert accepts(schemes.adyen(), body, {}, [HEX_KEY], 0)
    assert signed_content(item).count(b":") >= 7


@given(BODIES)
def test_adyens_library_signs_the_same_body(body: str) -> None:
    theirs = adyen_library.generate_payload_sig(body.encode(), HEX_KEY).decode()
    assert accepts(schemes.adyen_platform(), body.encode(), {"hmacsignature": theirs}, [HEX_KEY], 0)


@given(seed=st.binary(min_size=32, max_size=32), message=st.binary(max_size=60), flip=st.integers(0, 64 * 8 - 1))
def test_cryptography_agrees_on_ed25519(seed: bytes, message: bytes, flip: int) -> None:
    private = Ed25519PrivateKey.from_private_bytes(seed)
    key, signature = private.public_key().public_bytes_raw(), private.sign(message)
    assert (ed25519.public_key(seed), ed25519.sign(seed, message)) == (key, signature)
    assert ed25519.verify(key, message, signature)
    bent = bytearray(signature)
    bent[flip // 8] ^= 1 << flip % 8
    assert not ed25519.verify(key, message, bytes(bent))
    with pytest.raises(InvalidSignature):
        Ed25519PublicKey.from_public_bytes(key).verify(bytes(bent), message)


def test_another_librarys_ed25519_can_be_given() -> None:
    def check(key: bytes, message: bytes, signature: bytes) -> bool:
        try:
            Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
        except (InvalidSignature, ValueError):
            return False
        return True

    seed = bytes(32)
    headers = {"x-signature-timestamp": "1", "x-signature-ed25519": ed25519.sign(seed, b"1{}").hex()}
    assert accepts(schemes.discord(check=check), b"{}", headers, [ed25519.public_key(seed).hex()], 1)
    assert not accepts(schemes.discord(check=check), b"{} ", headers, [ed25519.public_key(seed).hex()], 1)
