"""The schemes of known providers, and what each was checked against.

| scheme | signed | proof | time | event id (signed?) | checked against |
|---|---|---|---|---|---|
| `stripe()` | time.body | hex | 5 min | `id` (yes) | stripe 16.1, both ways and generated |
| `standard()`, `svix()` | id.time.body | base64, `v1` | 5 min | `webhook-id` (yes) | standardwebhooks 1.1, svix 2.9, spec |
| the same, `v1a` | id.time.body | Ed25519 | 5 min | the same | RFC 8032, cryptography 50 |
| `github()` | body | hex | none | `x-github-delivery` (**no**) | GitHub's vector, octokit 6.0 (JS) |
| `shopify()` | body | base64 | none | `x-shopify-webhook-id` (**no**) | shopifyapp 1.0 |
| `slack()` | v0:time:body | hex | 5 min | `event_id` (yes) | slack_sdk 3.48, Slack's vector |
| `square(url)` | address, body | base64 | none | `event_id` (yes) | squareup 46 |
| `paddle()` | time:body | hex, `h1` | 1 min | `event_id` (yes) | paddle-python-sdk 1.16 |
| `twilio(url)` | address, form fields | base64, SHA-1 | none | idempotency token (**no**) | twilio 9.13: forms, JSON, ports |
| `hubspot(url)` | method, address, body, time | base64 | 5 min | five fields (yes) | hubspot-api-client 12.0 |
| `adyen()` | eight fields | base64, hex key | none | eventCode, pspReference (yes) | Adyen 16.0, Adyen's vector |
| `adyen_platform()` | body | base64, hex key | none | type, `data.id`, time (yes) | Adyen 16.0 |
| `linear()` | body | hex | 1 min, in the body | `linear-delivery` (**no**) | @linear/sdk 98 (JS) |
| `zendesk()` | time, body | base64 | 5 min | invocation id (**no**) | its documentation's formula only |
| `lemon_squeezy()` | body | hex | none | name, object, last change (yes) | its documentation's words only |
| `discord()` | time, body | Ed25519 | 5 min | `id`, or the body (yes) | discord-interactions 0.4, PyNaCl 1.6 |

Where the id is not signed, a captured request can be sent again under a new id: `idem.wrappers.also_once` closes that.
Where there is no time, only the key refuses a replay, for as long as its record lives.

The proof is HMAC-SHA256 unless another is named. What rests on documentation alone, or on one reading of it: that Zendesk signs
each attempt with a fresh time (an older page of its own shows the body before the time); that HubSpot decodes the characters of
its list in the address before it signs (both spellings are tried). Discord documents no limit for its time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from idem.errors import ConfigurationError
from idem.webhooks.providers.payments import (
    adyen,
    adyen_platform,
    is_thin,
    lemon_squeezy,
    paddle,
    shopify,
    square,
    stripe,
)
from idem.webhooks.providers.services import (
    discord,
    github,
    hubspot,
    linear,
    slack,
    standard,
    svix,
    twilio,
    zendesk,
)
from idem.webhooks.scheme import Scheme

__all__ = [
    "adyen",
    "adyen_platform",
    "by_name",
    "discord",
    "github",
    "hubspot",
    "is_thin",
    "lemon_squeezy",
    "linear",
    "paddle",
    "shopify",
    "slack",
    "square",
    "standard",
    "stripe",
    "svix",
    "twilio",
    "zendesk",
]

PLAIN: Mapping[str, Callable[[], Scheme]] = {
    scheme.__name__: scheme
    for scheme in (
        *(stripe, standard, svix, github, shopify, slack, paddle),
        *(adyen, adyen_platform, linear, zendesk, lemon_squeezy, discord),
    )
}
"""The schemes that need nothing but secrets, by name."""

WITH_URL: Mapping[str, Callable[[str], Scheme]] = {"square": square, "twilio": twilio, "hubspot": hubspot}
"""The schemes that sign the address, by name."""


def by_name(name: str, url: str | None = None) -> Scheme:
    """The scheme of a provider. Raises ConfigurationError for an unknown name, or without the url that the scheme signs."""
    if name in PLAIN:
        return PLAIN[name]()
    if name not in WITH_URL:
        raise ConfigurationError(f"there is no scheme {name!r}: use one of {', '.join([*PLAIN, *WITH_URL])}")
    if url is None:
        raise ConfigurationError(f"{name} signs the address that is registered with it: say which")
    return WITH_URL[name](url)
