"""Webhooks: verify over the raw bytes, then parse, then claim, then work, then a reply the provider understands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from idem.arguments import check_function, check_object
from idem.delivery import Arrival, Delivery, Ending, Unreadable
from idem.errors import MalformedDelivery, NotAnEvent, SecretsUnavailable, SignatureInvalid
from idem.sources.http import LISTS_HEADERS, HttpRequest, lists_headers, parse_request, request_id
from idem.text import exact, message_of
from idem.webhooks import replies
from idem.webhooks.request_parts import escaped, without
from idem.webhooks.scheme import Event, NoMatch, ReplyStyle, Scheme, usable
from idem.webhooks.secrets import Refreshable

Secrets = Callable[[], Sequence[str]]


class WebhookSource:
    """Reads one signed request from an HTTP event, and replies to its provider.

    scheme: how the provider signs; see `idem.schemes`. secrets: gives the active signing secrets; asked for each request, so
    cache them. If they are `Refreshable`, a signature that none of them made has them read again, once.
    endpoint: what to add to the account of an event, where event ids of several senders or endpoints meet in one operation.
    """

    def __init__(self, scheme: Scheme, secrets: Secrets | Refreshable, *, endpoint: str | None = None) -> None:
        check_object("scheme", scheme, ("verify", "events"), give="schemes.stripe()")
        check_function("secrets", secrets, give="a function that returns a list, such as lambda: [secret]")
        self._scheme = scheme
        self._secrets = secrets
        self._endpoint = endpoint

    @property
    def reply_style(self) -> ReplyStyle:
        """How the provider wants to be replied to."""
        return self._scheme.reply_style

    def read(self, event: Any, now_ms: int) -> list[Arrival]:
        """The deliveries of a request, most often one. Raises WrongEvent for an event that is no HTTP request."""
        handle = LISTS_HEADERS if lists_headers(event) else None
        try:
            request = parse_request(event, self._scheme.body_bytes_max)
            self._verify(request, now_ms)
            events = self._scheme.events(request, now_ms)
        except (SignatureInvalid, MalformedDelivery, NotAnEvent, SecretsUnavailable) as error:
            return [Unreadable(id=request_id(event), error=error, handle=handle)]
        return [self._delivery(request, one, number, handle) for number, one in enumerate(events)]

    def reply(self, endings: Sequence[Ending], now_ms: int) -> dict[str, Any]:
        """The reply to the provider."""
        reply = replies.reply_to_all([ending.outcome for ending in endings], now_ms, self.reply_style)
        return reply.to_event(lists_headers=endings[0].arrival.handle == LISTS_HEADERS)

    def _verify(self, request: HttpRequest, now_ms: int) -> None:
        known = self._usable_secrets(self._secrets)
        try:
            self._scheme.verify(request, known, now_ms)
        except NoMatch:
            newer = self._newer(known, now_ms)
            if newer is None:
                raise
            self._scheme.verify(request, newer, now_ms)

    def _newer(self, known: Sequence[str], now_ms: int) -> Sequence[str] | None:
        """The secrets as they are now, if they can be had and are others than those known."""
        secrets = self._secrets
        if not isinstance(secrets, Refreshable):
            return None

        def newest() -> Sequence[str]:
            found = secrets.refresh(now_ms)
            return known if found is None else found

        found = self._usable_secrets(newest)
        return None if set(found) == set(known) else found

    def _usable_secrets(self, read: Secrets) -> Sequence[str]:
        try:
            found = usable(read())
        except SecretsUnavailable:
            raise
        except Exception as error:
            raise SecretsUnavailable(f"the signing secrets could not be read: {message_of(error)}") from error
        if not found:
            raise SecretsUnavailable("there is no signing secret: a request can be neither trusted nor refused")
        return found

    def _delivery(self, request: HttpRequest, event: Event, number: int, handle: str | None) -> Delivery:
        identity = event.identity
        arrival = f"{request.request_id}/{number}" if number and request.request_id else request.request_id
        origin = {
            "source": self._scheme.provider,
            "eventId": identity.event_id,
            "eventType": identity.event_type,
            "requestId": request.request_id,
        }
        return Delivery(
            id=arrival or identity.event_id,
            payload=event.payload,
            body=event.body,
            event_id=exact(identity.event_id),
            scope=_scope(self._endpoint, identity.scope),
            headers=request.headers,
            handle=handle,
            origin=origin | ({"objectId": identity.object_id} if identity.object_id else {}),
        )


def _scope(endpoint: str | None, account: str | None) -> str | None:
    """What ids are unique in: the account, behind the endpoint and a slash where there is an endpoint."""
    if not endpoint:
        return exact(escaped(account)) if account else None
    return exact(f"{escaped(endpoint)}/{escaped(account or '')}")


def same_content(scheme: Scheme) -> Callable[[Delivery], object]:
    """A consumer's `check`: an event that comes again must have the same content, but for the fields that may differ.

    With it, an id that was used before with other content is refused.
    """
    return lambda delivery: without(delivery.payload, tuple(scheme.varying))


def object_and_type(delivery: Delivery) -> list[str]:
    """A consumer's `key`: what changed, and how, for providers that send two events for one change.

    It also merges what happens to one object twice, such as two partial refunds, so choose it for one type of event at a time.
    Raises MalformedDelivery for an event that names no object.
    """
    object_id = delivery.origin.get("objectId")
    if not object_id:
        raise MalformedDelivery("the event names no object: its key cannot be made of object and type")
    return [*([delivery.scope] if delivery.scope else []), exact(object_id), exact(delivery.origin["eventType"])]
