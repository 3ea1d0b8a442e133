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

Each provider has a file in `providers/`, which is imported when its scheme is first asked for. A new one is a file there, an entry
in `PROVIDERS`, a line for type checkers, and a row above.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from idem.errors import ConfigurationError
from idem.webhooks.scheme import Scheme

# ruff: noqa: PLC0414 - `x as x` is how a name is offered to type checkers
if TYPE_CHECKING:
    from idem.webhooks.providers.adyen import adyen as adyen
    from idem.webhooks.providers.adyen import adyen_platform as adyen_platform
    from idem.webhooks.providers.discord import discord as discord
    from idem.webhooks.providers.github import github as github
    from idem.webhooks.providers.hubspot import hubspot as hubspot
    from idem.webhooks.providers.lemon_squeezy import lemon_squeezy as lemon_squeezy
    from idem.webhooks.providers.linear import linear as linear
    from idem.webhooks.providers.paddle import paddle as paddle
    from idem.webhooks.providers.shopify import shopify as shopify
    from idem.webhooks.providers.slack import slack as slack
    from idem.webhooks.providers.square import square as square
    from idem.webhooks.providers.standard import standard as standard
    from idem.webhooks.providers.standard import svix as svix
    from idem.webhooks.providers.stripe import is_thin as is_thin
    from idem.webhooks.providers.stripe import stripe as stripe
    from idem.webhooks.providers.twilio import twilio as twilio
    from idem.webhooks.providers.zendesk import zendesk as zendesk


@dataclass(frozen=True, slots=True)
class Provider:
    """The file in `providers/` that makes a scheme. signs_url: the scheme signs the address, and has to be told which."""

    file: str
    signs_url: bool = False


PROVIDERS: Mapping[str, Provider] = {
    "stripe": Provider("stripe"),
    "standard": Provider("standard"),
    "svix": Provider("standard"),
    "github": Provider("github"),
    "shopify": Provider("shopify"),
    "slack": Provider("slack"),
    "square": Provider("square", signs_url=True),
    "paddle": Provider("paddle"),
    "twilio": Provider("twilio", signs_url=True),
    "hubspot": Provider("hubspot", signs_url=True),
    "adyen": Provider("adyen"),
    "adyen_platform": Provider("adyen"),
    "linear": Provider("linear"),
    "zendesk": Provider("zendesk"),
    "lemon_squeezy": Provider("lemon_squeezy"),
    "discord": Provider("discord"),
}
"""Every scheme there is, by its name."""


def by_name(name: str, url: str | None = None) -> Scheme:
    """The scheme of a provider. Raises ConfigurationError for an unknown name, or without the url that the scheme signs."""
    if name not in PROVIDERS:
        raise ConfigurationError(f"there is no scheme {name!r}: use one of {', '.join(PROVIDERS)}")
    make: Callable[..., Scheme] = getattr(import_module(_home(name)), name)
    if not PROVIDERS[name].signs_url:
        return make()
    if url is None:
        raise ConfigurationError(f"{name} signs the address that is registered with it: say which")
    return make(url)


def _home(name: str) -> str:
    return f"{__package__}.providers.{PROVIDERS[name].file}"


def __getattr__(name: str) -> object:
    """A scheme's function, or what else its file offers, at its first use."""
    if name != "is_thin" and name not in PROVIDERS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _home("stripe" if name == "is_thin" else name)
    found: object = getattr(import_module(home), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """What this file offers: every scheme, fetched or not, and nothing that it only uses itself."""
    return [*PROVIDERS, "PROVIDERS", "Provider", "by_name", "is_thin"]
