"""Requests that others signed: the providers' documents, and their own libraries (vectors.json says which, and which version).

None of these was made with this code. A vector that no longer verifies is a break, never a vector to be updated.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from idem.errors import SignatureInvalid
from idem.sources.http import HttpRequest
from idem.webhooks import schemes
from idem.webhooks.scheme import Scheme

MADE_BY_LIBRARIES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "vectors.json").read_text(encoding="utf-8")
)


def request(body: bytes, headers: dict[str, str], query: str = "") -> HttpRequest:
    return HttpRequest(method="POST", path="/", headers=headers, body=body, request_id="r-1", query=query)


@pytest.mark.parametrize("vector", MADE_BY_LIBRARIES, ids=lambda one: f"{one['scheme']} by {one['made_with']}")
def test_what_a_providers_library_signed_verifies(vector: dict[str, Any]) -> None:
    scheme = schemes.by_name(vector["scheme"], vector["url"])
    sent = request(vector["body"].encode(), vector["headers"], vector["query"])
    scheme.verify(sent, vector["secrets"], vector["now"] * 1000)
    wrong = "00" * 32 if vector["scheme"] in {"adyen", "adyen_platform"} else "whsec_" + "AAAA" * 8
    for changed in (replace(sent, body=sent.body + b"1"), sent):
        secrets = vector["secrets"] if changed is not sent else [wrong]
        if vector["scheme"] == "discord" and changed is sent:
            secrets = ["3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"]
        with pytest.raises(SignatureInvalid):
            scheme.verify(changed, secrets, vector["now"] * 1000)


DOCUMENTED: dict[str, tuple[Scheme, HttpRequest, str, int]] = {
    "GitHub, validating webhook deliveries": (
        schemes.github(),
        request(
            b"Hello, World!",
            {"x-hub-signature-256": "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"},
        ),
        "It's a Secret to Everybody",
        0,
    ),
    "Slack, verifying requests": (
        schemes.slack(),
        request(
            b"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V"
            b"&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text="
            b"&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN"
            b"&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c",
            {
                "x-slack-request-timestamp": "1531420618",
                "x-slack-signature": "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
            },
        ),
        "8f742231b10e8888abcd99yyyzzz85a5",
        1_531_420_618_000,
    ),
    "Standard Webhooks, specification": (
        schemes.standard(),
        request(
            b'{"test": 2432232314}',
            {
                "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
                "webhook-timestamp": "1614265330",
                "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
            },
        ),
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        1_614_265_330_000,
    ),
    "Twilio, security": (
        schemes.twilio("https://mycompany.com/myapp.php?foo=1&bar=2"),
        request(
            b"CallSid=CA1234567890ABCDE&Caller=%2B14158675309&Digits=1234&From=%2B14158675309&To=%2B18005551212",
            {"x-twilio-signature": "RSOYDt4T1cUTdK1PDd93/VVr8B8="},
        ),
        "12345",
        0,
    ),
    "Adyen, verify HMAC signatures": (
        schemes.adyen(),
        request(
            b'{"live":"false","notificationItems":[{"NotificationRequestItem":{"additionalData":'
            b'{"hmacSignature":"coqCmt/IZ4E3CzPvMY8zTjQVL5hYJUiBRg8UU+iCWo0="},"amount":{"value":1130,"currency":"EUR"},'
            b'"pspReference":"7914073381342284","eventCode":"AUTHORISATION","eventDate":"2019-05-06T17:15:34.121+02:00",'
            b'"merchantAccountCode":"TestMerchant","merchantReference":"TestPayment-1407325143704","operations":["CANCEL"],'
            b'"paymentMethod":"visa","success":"true"}}]}',
            {},
        ),
        "44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056",
        0,
    ),
}


@pytest.mark.parametrize("name", DOCUMENTED)
def test_the_example_in_a_providers_document_verifies(name: str) -> None:
    scheme, sent, secret, now_ms = DOCUMENTED[name]
    scheme.verify(sent, [secret], now_ms)
    with pytest.raises(SignatureInvalid):
        scheme.verify(replace(sent, body=sent.body.replace(b"o", b"0").replace(b"2", b"3")), [secret], now_ms)


def test_zendesk_signs_its_time_before_its_body() -> None:
    """Its current page gives the formula base64(HMACSHA256(TIMESTAMP + BODY)); this was made from it with openssl."""
    sent = request(
        b'{"say": "hello"}',
        {
            "x-zendesk-webhook-signature": "Rry/4TtIdFyawtXXp8QdI6tlAUUQ/5kL1OTp5qo/ZIk=",
            "x-zendesk-webhook-signature-timestamp": "2021-07-25T10:00:00Z",
        },
    )
    at = 1_627_207_200_000
    schemes.zendesk().verify(sent, ["HRkRd4BeOAoUkfZr-mhauJT64rvBASlJRoIyPsd3zeA="], at)
    with pytest.raises(SignatureInvalid):
        schemes.zendesk().verify(sent, ["HRkRd4BeOAoUkfZr-mhauJT64rvBASlJRoIyPsd3zeA="], at + 3_600_000)


def test_lemon_squeezy_signs_its_body_in_hex() -> None:
    """Its page says "HMAC hex digest" of the payload; this was made with openssl."""
    sent = request(
        b'{"meta":{"event_name":"order_created"}}',
        {"x-signature": "ea7b2e8e61b40d4e545a66194a75317232fc04a98c1b2976eb4de40986dbb452"},
    )
    schemes.lemon_squeezy().verify(sent, ["lemon-secret"], 0)
