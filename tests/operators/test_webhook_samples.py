from __future__ import annotations

import json

import pytest

from idem.operators.operator_errors import OperatorError
from idem.operators.record_text import now
from idem.operators.samples import as_request
from idem.operators.webhook_samples import ANY_ADDRESS, NAMES, provider_of, signed
from idem.webhooks.request_parts import Header
from idem.webhooks.schemes import by_name

URL = "https://example.org/hook"
OF_A_FORM = {"adyen", "adyen_platform", "discord", "standard", "svix"}  # their own tests sign and verify
PLAIN_SECRETS = [name for name in NAMES if name not in OF_A_FORM]


def test_most_providers_take_any_text_as_a_secret() -> None:
    assert set(NAMES) > OF_A_FORM
    assert len(PLAIN_SECRETS) > 8


@pytest.mark.parametrize("provider", PLAIN_SECRETS)
def test_what_is_signed_for_a_provider_passes_its_own_check(provider: str) -> None:
    scheme = by_name(provider, URL)
    body = json.dumps({"id": "1", "webhookTimestamp": now()}).encode()
    request = as_request(body, {"content-type": "application/json"})
    scheme.verify(signed(scheme, request, ["a secret"], now()), ["a secret"], now())


@pytest.mark.parametrize("provider", ["stripe", "github", "shopify", "slack"])
def test_a_provider_is_told_by_its_signature_header(provider: str) -> None:
    header = getattr(by_name(provider, ANY_ADDRESS), "header", None)
    assert isinstance(header, Header)
    assert provider_of(None, {header.names[0]: "x"}, None) == provider


def test_a_payload_without_headers_is_stripes_if_it_looks_like_one() -> None:
    assert provider_of(None, {}, {"object": "event"}) == "stripe"
    assert provider_of("github", {}, {"object": "event"}) == "github"


def test_a_name_is_taken_with_dashes_too() -> None:
    assert provider_of("lemon-squeezy", {}, None) == "lemon_squeezy"


def test_a_provider_that_nobody_knows_is_refused_with_those_there_are() -> None:
    with pytest.raises(OperatorError, match=r"no provider 'acme'.*github"):
        provider_of("acme", {}, None)
    with pytest.raises(OperatorError, match="Whose webhook"):
        provider_of(None, {"content-type": "application/json"}, [])
