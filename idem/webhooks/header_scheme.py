"""A signature scheme as data: which header, which form, what is signed, how it is proved, and where the events' identity is.

A provider that is not in `schemes.py`, or one of your own:

    HeaderScheme(
        provider="acme",
        header="x-acme-signature",
        form=Pairs(separator=",", stamp="t", labels=("s",)),
        proofs={"s": Hmac(encoding="hex")},
        signed="{timestamp}.{body}",
        event_id=Field("id"),
        event_type=Field("kind"),
    )

`signed` is a template of fixed text and of: {body}, {timestamp} (as it arrived), {method}, {url} (the address registered with the
provider, with the request's query), {id} (what `event_id` finds in the headers). Without `event_id` an event is known by a hash
of its signed bytes.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from idem.clock import milliseconds
from idem.errors import ConfigurationError, MalformedDelivery, NotAnEvent, SignatureInvalid
from idem.sources.content import parse_form, parse_json, understood
from idem.sources.http import REQUEST_BYTES_MAX, HttpRequest, Reply
from idem.webhooks.header_forms import Form, Plain, check_length
from idem.webhooks.request_parts import Always, BodyHash, Header, Part
from idem.webhooks.scheme import TOLERANCE, Event, Identity, NoMatch, ReplyStyle, Unit, check_time, usable
from idem.webhooks.signatures import Proof

EVENTS_MAX = 1000  # in one request; HubSpot sends at most 100
PLACEHOLDER = re.compile(r"\{(body|timestamp|method|url|id)\}")

Contents = Callable[[HttpRequest, str, str], Sequence[bytes]]
"""From request, address and stamp to what may have been signed. Raises SignatureInvalid."""

PayloadCheck = Callable[[Any], str | None]
"""From one event's payload to what is wrong with it."""

Handshake = Callable[[Any], Reply | None]
"""From a verified payload to the reply it asks for, if it is no event but a check of the address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """A time stamp in a header of its own."""

    header: Header
    unit: Unit = Unit.SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class HeaderScheme:
    """One provider's scheme. Raises ConfigurationError when it is built wrongly.

    proofs: by the label of the signature, "" where the form has no labels. stamp: where the time is, if it is in a header of
    its own; unit: how it is written, if it is in the signature header. signed_stamp: the field of the body that holds it, in
    epoch milliseconds. tolerance: how far it may be from now; None for no check.
    parse: from the request to its payload. batched: the payload is a list of events. check: what must be true of an event.
    url: the address as it was registered with the provider, for schemes that sign it. body_bytes_max: of a request.
    """

    provider: str
    header: Header | str
    proofs: Mapping[str, Proof]
    signed: str | Contents = "{body}"
    form: Form = field(default_factory=Plain)
    stamp: Stamp | None = None
    unit: Unit = Unit.SECONDS
    signed_stamp: str | None = None
    tolerance: timedelta | None = TOLERANCE
    event_id: Part = field(default_factory=BodyHash)
    event_type: Part = field(default_factory=lambda: Always("event"))
    scope: Part | None = None
    object_id: Part | None = None
    parse: Callable[[HttpRequest], Any] = lambda request: parse_json(request.body)
    batched: bool = False
    check: PayloadCheck = lambda _payload: None
    handshake: Handshake = lambda _payload: None
    url: str | None = None
    body_bytes_max: int = REQUEST_BYTES_MAX
    varying: Sequence[str] = ()
    reply_style: ReplyStyle = field(default_factory=ReplyStyle)
    _contents: Contents = field(init=False, repr=False, compare=False)
    _header: Header = field(init=False, repr=False, compare=False)
    _tolerance_ms: float = field(init=False, repr=False, compare=False)
    _unit: Unit = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_header", self.header if isinstance(self.header, Header) else Header(self.header))
        object.__setattr__(self, "header", self._header)
        object.__setattr__(self, "_contents", self._compiled() if isinstance(self.signed, str) else self.signed)
        tolerance_ms = math.inf if self.tolerance is None else milliseconds(self.tolerance)
        object.__setattr__(self, "_tolerance_ms", tolerance_ms)
        object.__setattr__(self, "_unit", self.stamp.unit if self.stamp else self.unit)
        if tolerance_ms < 0:
            raise ConfigurationError(f"{self.provider}: the tolerance is below zero; None switches the check off")
        if not self.proofs:
            raise ConfigurationError(f"{self.provider}: without a proof nothing can be verified")

    def verify(self, request: HttpRequest, secrets: Sequence[str], now_ms: int) -> None:
        """Raises SignatureInvalid unless one of the secrets signed this request, recently."""
        stamp, signatures = self.form.parse(_required(self._header, request))
        if self.stamp is not None:
            stamp = _required(self.stamp.header, request)
            check_length(stamp)
        if stamp is not None:
            check_time(self._unit.parse_ms(stamp), now_ms, self._tolerance_ms)
        contents, known, matched = self._contents(request, self.url or "", stamp or ""), usable(secrets), False
        for label, proof in self.proofs.items():
            if label in signatures:
                matched |= proof.matches(signatures[label], known, contents)
        if not matched:
            raise NoMatch("no signature in the header matches: a changed body, or another endpoint's secret")

    def events(self, request: HttpRequest, now_ms: int) -> list[Event]:
        """The events of a verified request. Raises MalformedDelivery, NotAnEvent, or SignatureInvalid for a signed old stamp."""
        payload = understood("the parser", self.parse, request)
        if self.signed_stamp is not None:
            self._check_signed_stamp(payload, now_ms)
        if (reply := understood("the handshake", self.handshake, payload)) is not None:
            raise NotAnEvent(reply)
        if not self.batched:
            return [Event(identity=self.identify(request, payload), payload=payload, body=request.body)]
        if not isinstance(payload, list) or not payload or len(payload) > EVENTS_MAX:
            raise MalformedDelivery(f"the body is not a list of 1 to {EVENTS_MAX} events")
        return [Event(identity=self.identify(request, one), payload=one, body=_written(one)) for one in payload]

    def identify(self, request: HttpRequest, payload: Any) -> Identity:
        """Who one event is. Raises MalformedDelivery if the request does not say."""
        if complaint := understood("the check", self.check, payload):
            raise MalformedDelivery(f"the body is not an event of {self.provider}: {complaint}")
        event_type = self.event_type.find(request, payload)
        event_id = self.event_id.find(request, payload)
        if event_id is None or event_type is None:
            missing = "no id" if event_id is None else "no type"
            raise MalformedDelivery(f"the event of {self.provider} has {missing}")
        scope, object_id = (
            part.find(request, payload) if part is not None else None for part in (self.scope, self.object_id)
        )
        return Identity(event_id=event_id, event_type=event_type, scope=scope, object_id=object_id)

    def sign(self, request: HttpRequest, secrets: Sequence[str], now_ms: int) -> HttpRequest:
        """The request as the provider would send it now, signed with every secret."""
        stamp = self._unit.write(now_ms)
        headers = dict(request.headers)
        if self.stamp is not None:
            headers[self.stamp.header.names[0]] = stamp
        if self.signed_stamp is not None:
            payload = parse_json(request.body)
            request = replace(request, body=_written(payload | {self.signed_stamp: now_ms}))
        content = self._contents(replace(request, headers=headers), self.url or "", stamp)[0]
        signatures = [
            (label, text)
            for label, proof in self.proofs.items()
            for secret in secrets
            if (text := proof.sign(secret, content)) is not None
        ]
        if not signatures:
            raise ConfigurationError(f"none of the secrets can sign for {self.provider}")
        headers[self._header.names[0]] = self.form.write(stamp, signatures)
        return replace(request, headers=headers)

    def _check_signed_stamp(self, payload: Any, now_ms: int) -> None:
        stamp = payload.get(self.signed_stamp) if isinstance(payload, Mapping) else None
        if type(stamp) is not int:
            raise SignatureInvalid(f"the signed body has no time stamp {self.signed_stamp!r}")
        check_time(stamp, now_ms, self._tolerance_ms)

    def _compiled(self) -> Contents:
        """The template as a function, so that a request costs one join."""
        parts = PLACEHOLDER.split(str(self.signed))
        if "url" in parts[1::2] and not self.url:
            raise ConfigurationError(
                f"{self.provider} signs the address: give url= as it is registered with the provider"
            )
        if "id" in parts[1::2] and not isinstance(self.event_id, Header):
            raise ConfigurationError(f"{self.provider} signs the id: event_id must be a Header")
        steps = [part.encode() if index % 2 == 0 else _PARTS[part] for index, part in enumerate(parts) if part]
        id_header = self.event_id if isinstance(self.event_id, Header) else Header()

        def contents(request: HttpRequest, url: str, stamp: str) -> list[bytes]:
            return [
                b"".join([step if isinstance(step, bytes) else step(request, url, stamp, id_header) for step in steps])
            ]

        return contents


_PARTS: dict[str, Callable[[HttpRequest, str, str, Header], bytes]] = {
    "body": lambda request, _url, _stamp, _id: request.body,
    "timestamp": lambda _request, _url, stamp, _id: raw(stamp),
    "method": lambda request, _url, _stamp, _id: raw(request.method),
    "url": lambda request, url, _stamp, _id: raw(full_url(url, request)),
    "id": lambda request, _url, _stamp, id_header: raw(_required(id_header, request)),
}


def full_url(url: str, request: HttpRequest) -> str:
    """The registered address with the query of the request, unless the address has one of its own."""
    return f"{url}?{request.query}" if request.query and "?" not in url else url


def json_or_form(request: HttpRequest) -> Any:
    """The payload of a provider that sends JSON, forms, or JSON in a form's `payload`."""
    if "x-www-form-urlencoded" not in request.headers.get("content-type", "").lower():
        return parse_json(request.body)
    form = {name: values[0] for name, values in parse_form(request.body).items()}
    return parse_json(raw(form["payload"])) if "payload" in form else form


def raw(text: str) -> bytes:
    """The bytes of text that came from outside."""
    return text.encode("utf-8", "surrogatepass")


def _required(header: Header, request: HttpRequest) -> str:
    found = header.find(request, None)
    if found is None:
        raise SignatureInvalid(f"the request has no {header.names[0]} header")
    return found


def _written(payload: Any) -> bytes:
    return json.dumps(payload, separators=(",", ":")).encode("ascii")
