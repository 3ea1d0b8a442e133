"""Stripe's signatures: fixed vectors, agreement with Stripe's own library, and hostile headers."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
import stripe as stripes_own
from hypothesis import example, given
from hypothesis import strategies as st

from idem.errors import MalformedDelivery, SignatureInvalid
from idem.sources.http import HttpRequest
from idem.webhooks.scheme import Identity
from idem.webhooks.schemes import stripe

SECRET = "whsec_test_secret"
OLD = "whsec_old_secret"
AT = 1_614_556_800
NOW = AT * 1000
BODY = b'{\n  "id": "evt_1",\n  "object": "event"\n}'
# Made with `openssl dgst -sha256 -hmac`, not with this code.
SIGNATURE = "40eccbbb381401a7ac7d6e54d4da22a0a4e73a6efaa38131621309e4240fb7f1"
SIGNATURE_OLD = "c2884b6443ec6e2b0f1f0a2b5d570a302def3aa93573b17a821dd227bfb6926f"


def request(body: bytes, header: str | None) -> HttpRequest:
    headers = {} if header is None else {"stripe-signature": header}
    return HttpRequest(method="POST", path="/", headers=headers, body=body, request_id="r-1")


def accepts(
    body: bytes, header: str | None, secrets: Sequence[str] = (SECRET,), now_ms: int = NOW, **scheme: Any
) -> bool:
    try:
        stripe(**scheme).verify(request(body, header), secrets, now_ms)
    except SignatureInvalid:
        return False
    return True


def signature(body: bytes, secret: str = SECRET, at: int = AT) -> str:
    return hmac.new(secret.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest()


def header(body: bytes = BODY, secret: str = SECRET, at: int = AT) -> str:
    return f"t={at},v1={signature(body, secret, at)}"


def test_fixed_vectors_never_change() -> None:
    assert accepts(BODY, f"t={AT},v1={SIGNATURE}")
    assert accepts(BODY, f"t={AT},v1={SIGNATURE_OLD}", secrets=[OLD])
    assert not accepts(BODY, f"t={AT},v1={SIGNATURE_OLD}")


@pytest.mark.parametrize(
    "text",
    [
        f"t={AT},v1={SIGNATURE_OLD},v1={SIGNATURE}",
        f"t={AT},v1={SIGNATURE},v1={SIGNATURE_OLD}",
        f"t={AT},v1={SIGNATURE},v0=anything",
        f"v1={SIGNATURE},t={AT}",
        f"t={AT}, v1={SIGNATURE}",
        f"t={AT},v1=,v1={SIGNATURE}",
        f"t={AT},unknown,v1={SIGNATURE},",
    ],
)
def test_any_one_of_the_signatures_may_match(text: str) -> None:
    assert accepts(BODY, text)


def test_while_a_secret_is_rolled_either_secret_verifies() -> None:
    for secret in (SECRET, OLD):
        assert accepts(BODY, header(secret=secret), secrets=[SECRET, OLD])
        assert accepts(BODY, header(secret=secret), secrets=[OLD, SECRET])
    assert not accepts(BODY, header(secret="whsec_third"), secrets=[SECRET, OLD])


@pytest.mark.parametrize(
    "body", [BODY + b" ", BODY[1:], BODY.replace(b"\n", b""), b"", b"\xff\xfe", BODY.replace(b"evt_1", b"evt_2")]
)
def test_a_changed_body_does_not_verify(body: bytes) -> None:
    assert not accepts(body, header())


def test_the_body_need_not_be_text() -> None:
    for body in (b"", b"\xff\x00", "é".encode()):
        assert accepts(body, header(body))


def test_the_time_stamp_is_covered_by_the_signature() -> None:
    assert not accepts(BODY, f"t={AT + 1},v1={SIGNATURE}")


@pytest.mark.parametrize(
    ("seconds", "fine"), [(0, True), (299, True), (300, True), (301, False), (10 * 365 * 86_400, False)]
)
def test_a_stamp_too_far_from_now_is_refused_in_both_directions(seconds: int, *, fine: bool) -> None:
    for at in (AT - seconds, AT + seconds):
        assert accepts(BODY, header(at=at)) is fine


def test_a_tolerance_of_zero_does_not_switch_the_check_off() -> None:
    assert accepts(BODY, header(), tolerance=timedelta(0))
    assert not accepts(BODY, header(at=AT - 1), tolerance=timedelta(0))
    assert accepts(BODY, header(at=AT - 600), tolerance=timedelta(minutes=10))


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        ",",
        "=",
        "t=,v1=",
        f"t={AT}",
        f"v1={SIGNATURE}",
        f"t={AT},v1=",
        f"t={AT},v0={SIGNATURE}",
        f"t={AT},V1={SIGNATURE}",
        f"t={AT},v1={SIGNATURE.upper()}",
        f"t={AT},v1={SIGNATURE}=",
        f"t={AT},t={AT},v1={SIGNATURE}",
        f"t=x,v1={SIGNATURE}",
        f"t=-{AT},v1={SIGNATURE}",
        f"t={AT}.0,v1={SIGNATURE}",
        f"t=\u0661,v1={SIGNATURE}",
        f"t={'9' * 5000},v1={SIGNATURE}",
        f"t={AT},v1=\u00e9\ud800",
        f"t={AT},v1={SIGNATURE}\u0661",
        f"t={AT}" + f",v1={SIGNATURE_OLD}" * 16 + f",v1={SIGNATURE}",
        "\x00\xff",
    ],
    ids=lambda text: repr(text)[:40],
)
def test_a_header_of_any_shape_is_only_ever_an_invalid_signature(text: str | None) -> None:
    assert not accepts(BODY, text)


@given(st.text(max_size=60), st.binary(max_size=20))
def test_any_header_and_body_are_refused_with_one_error(text: str, body: bytes) -> None:
    assert not accepts(body, text)
    assert not accepts(body, f"t={AT},v1={text}")
    assert not accepts(body, f"t={text},v1={SIGNATURE}")


@pytest.mark.parametrize("secrets", [[], [""], [" "], ["", "\t"]])
def test_without_a_secret_nothing_verifies_not_even_what_an_empty_one_signed(secrets: list[str]) -> None:
    for secret in ["", *secrets]:
        assert not accepts(BODY, header(secret=secret), secrets=secrets)


PARTS = st.sampled_from(["valid", "wrong body", "wrong secret", "v0", "short", "empty", "unknown"])


def part(kind: str, body: str, secret: str) -> str:
    raw = body.encode()
    return {
        "valid": f"v1={signature(raw, secret)}",
        "wrong body": f"v1={signature(raw + b'x', secret)}",
        "wrong secret": f"v1={signature(raw, secret + 'x')}",
        "v0": f"v0={signature(raw, secret)}",
        "short": f"v1={signature(raw, secret)[:-1]}",
        "empty": "v1=",
        "unknown": "v2=x",
    }[kind]


@given(
    body=st.text(st.characters(exclude_categories=["Cs"]), max_size=30),
    secret=st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=20),
    parts=st.lists(PARTS, max_size=5),
    stamped=st.booleans(),
)
@example(body="{}", secret="whsec_x", parts=["wrong secret", "valid"], stamped=True)
def test_stripes_own_library_agrees(body: str, secret: str, parts: list[str], *, stamped: bool) -> None:
    text = ",".join([*([f"t={AT}"] if stamped else []), *(part(kind, body, secret) for kind in parts)])
    try:
        stripes_own.WebhookSignature.verify_header(body, text, secret)
        theirs = True
    except stripes_own.SignatureVerificationError:
        theirs = False
    assert accepts(body.encode(), text, secrets=[secret]) is theirs


def test_a_header_that_stripes_library_made_verifies() -> None:
    made = stripes_own.WebhookSignature.generate_signature_header(BODY.decode(), SECRET, timestamp=AT)
    assert accepts(BODY, made)


def identify(payload: Any) -> Identity:
    (event,) = stripe().events(request(json.dumps(payload).encode(), None), NOW)
    return event.identity


@pytest.mark.parametrize(
    ("payload", "event_id", "event_type", "scope"),
    [
        ({"id": "evt_1", "object": "event", "type": "charge.succeeded"}, "evt_1", "charge.succeeded", None),
        ({"id": "evt_1", "object": "event", "type": "x", "account": "acct_1"}, "evt_1", "x", "acct_1"),
        ({"id": "evt_2", "object": "v2.core.event", "type": "v2.x", "context": "acct_2"}, "evt_2", "v2.x", "acct_2"),
    ],
)
def test_the_identity_is_the_events_own_also_for_thin_and_connected_ones(
    payload: Any, event_id: str, event_type: str, scope: str | None
) -> None:
    found = identify(payload)
    assert (found.event_id, found.event_type, found.scope) == (event_id, event_type, scope)


GOOD = {"id": "evt_1", "object": "event", "type": "x"}


@pytest.mark.parametrize(
    "payload",
    [
        None,
        [],
        "event",
        7,
        {},
        GOOD | {"object": "charge"},
        GOOD | {"object": ["event"]},
        GOOD | {"object": {}},
        GOOD | {"id": None},
        GOOD | {"id": ""},
        GOOD | {"id": 7},
        GOOD | {"type": None},
        GOOD | {"type": ["x"]},
    ],
    ids=repr,
)
def test_what_is_no_stripe_event_is_malformed(payload: Any) -> None:
    with pytest.raises(MalformedDelivery):
        identify(payload)
