"""The samples in `events/`: each is a request that its provider could have sent, signed with a secret that is named here."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from idem.delivery import Delivery
from idem.sources.http import parse_request
from idem.testing import webhook_request
from idem.webhooks import ed25519, schemes
from idem.webhooks.signed_requests import as_event, sign
from idem.webhooks.source import WebhookSource

EVENTS = Path(__file__).resolve().parents[2] / "events"
NOW = 1_796_040_000_000
URL = "https://r3pmxmplak.execute-api.us-east-1.amazonaws.com/hooks"
SECRETS = {
    "stripe": "whsec_of_the_samples",
    "standard": "whsec_c2lnbmluZyBzZWNyZXQgb2Ygc2FtcGxlcw==",
    "svix": "whsec_c2lnbmluZyBzZWNyZXQgb2Ygc2FtcGxlcw==",
    "paddle": "pdl_ntfset_of_the_samples",
    "adyen": "00112233445566778899AABBCCDDEEFF" * 2,
    "adyen_platform": "00112233445566778899AABBCCDDEEFF" * 2,
    "discord": ed25519.public_key(bytes(range(32))).hex(),
}
NAMES = [*schemes.PROVIDERS]


def sample(name: str) -> Any:
    (path,) = (EVENTS / name).glob("*.json")
    return json.loads(path.read_text(encoding="utf-8"))


def source(name: str) -> WebhookSource:
    scheme = schemes.by_name(name, URL if schemes.PROVIDERS[name].signs_url else None)
    return WebhookSource(scheme, lambda: [SECRETS.get(name, "secret_of_the_samples")])


@pytest.mark.parametrize("name", NAMES)
def test_every_scheme_has_a_sample_that_its_receiver_takes(name: str) -> None:
    found = source(name).read(sample(name), NOW)
    assert found
    assert all(isinstance(one, Delivery) and one.event_id and one.origin["eventType"] for one in found), found


@pytest.mark.parametrize("name", NAMES)
def test_a_sample_can_be_signed_again_for_any_moment(name: str) -> None:
    """As a sandbox does before it posts one: the sample's own signature is old."""
    request = parse_request(sample(name))
    secret = bytes(range(32)).hex() if name == "discord" else SECRETS.get(name, "secret_of_the_samples")
    url = URL if schemes.PROVIDERS[name].signs_url else None
    later = NOW + 40 * 86_400_000
    sent = sign(name, request.body, [secret], later, url=url, headers=request.headers)
    found = source(name).read(as_event(replace(sent, request_id="again")), later)
    first = source(name).read(sample(name), NOW)
    assert [one.event_id for one in found if isinstance(one, Delivery)] == [
        one.event_id for one in first if isinstance(one, Delivery)
    ]


@pytest.mark.parametrize("name", NAMES)
def test_a_body_without_headers_gets_those_that_its_provider_always_sends(name: str) -> None:
    body = parse_request(sample(name)).body
    secret = bytes(range(32)).hex() if name == "discord" else SECRETS.get(name, "secret_of_the_samples")
    url = URL if schemes.PROVIDERS[name].signs_url else None
    one, two = (sign(name, body, [secret], NOW, url=url) for _ in range(2))
    assert one == two
    assert all(isinstance(found, Delivery) for found in source(name).read(as_event(one), NOW))


def test_a_users_own_test_can_post_any_of_them() -> None:
    event = webhook_request("github", {"ref": "refs/heads/main"}, ["secret_of_the_samples"], NOW // 1000)
    (found,) = source("github").read(event, NOW)
    assert isinstance(found, Delivery)
