"""Webhook samples: whose they are, their events without a check of their old signatures, and a fresh signature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from idem.errors import IdemError, InputRefused
from idem.operators.operator_errors import Exit, OperatorError
from idem.sources.http import HttpRequest
from idem.webhooks.request_parts import Header
from idem.webhooks.scheme import Event, Scheme
from idem.webhooks.schemes import PROVIDERS, by_name

NAMES = sorted(PROVIDERS)
ANY_ADDRESS = "https://example.invalid/"  # for reading alone: an address matters only to signatures


def provider_of(given: str | None, headers: Mapping[str, str], payload: object) -> str:
    """Whose webhook it is: as given, or told by its signature header, or by a payload as Stripe's are. Raises OperatorError."""
    stripes = isinstance(payload, Mapping) and payload.get("object") == "event"
    name = (given or _told_by(headers) or ("stripe" if stripes else "")).replace("-", "_")
    if name in PROVIDERS:
        return name
    problem = f"There is no provider {given!r}." if given else "Whose webhook is this?"
    raise OperatorError(problem, f"--provider takes {', '.join(NAMES)}.", Exit.USAGE)


def events(scheme: Scheme, request: HttpRequest, now_ms: int) -> Sequence[Event]:
    """The events of a sample. Raises OperatorError."""
    try:
        return scheme.events(request, now_ms)
    except InputRefused as error:
        raise OperatorError(f"This sample cannot be read: {error}.", status=Exit.USAGE) from error


def signed(scheme: Scheme, request: HttpRequest, secrets: Sequence[str], now_ms: int) -> HttpRequest:
    """The request as the provider would send it now. Raises OperatorError."""
    try:
        return scheme.sign(replace(request, headers={**request.headers}), secrets, now_ms)
    except IdemError as error:
        raise OperatorError(f"The sample cannot be signed: {error}.", "Check the secret.", Exit.USAGE) from error


def _told_by(headers: Mapping[str, str]) -> str | None:
    """The provider whose signature header is there."""
    for name in NAMES:
        header = getattr(by_name(name, ANY_ADDRESS), "header", None)
        if isinstance(header, Header) and any(one in headers for one in header.names):
            return name
    return None
