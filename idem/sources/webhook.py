"""Webhooks: verify over the raw bytes, then parse, then claim, then work, then an answer the provider understands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from idem import results
from idem.delivery import (
    Arrival,
    Busy,
    Delivery,
    Done,
    Ending,
    NotStarted,
    Outcome,
    Rejected,
    Retry,
    Unavailable,
    Unreadable,
)
from idem.errors import InputRefused, MalformedDelivery, RequestMismatch, SecretsUnavailable, SignatureInvalid
from idem.results import NotKept, ResultId
from idem.sources.content import parse_json
from idem.sources.http import HttpRequest, read_request, response
from idem.sources.signatures import Scheme

REPLAYED_HEADER = "idempotent-replayed"  # Stripe's own name for it
BODY_BYTES_MAX = 5_000_000  # Lambda takes 6 MB; a larger result is said to be omitted
RETRY_AFTER_S = 5  # when nothing says when the next try could succeed

Secrets = Callable[[], Sequence[str]]


class WebhookSource:
    """Reads one signed webhook from an HTTP event, and answers its provider.

    scheme: how the provider signs. secrets: gives the active signing secrets; asked for each request, so cache it.
    """

    def __init__(self, scheme: Scheme, secrets: Secrets) -> None:
        self._scheme = scheme
        self._secrets = secrets

    def read(self, event: Any, now_ms: int) -> list[Arrival]:
        """The one delivery of a request. Raises WrongEvent for an event that is no HTTP request."""
        try:
            request = read_request(event)
            return [self._verified(request, now_ms)]
        except (SignatureInvalid, MalformedDelivery, SecretsUnavailable) as error:
            return [Unreadable(id=_request_id(event), error=error)]

    def _verified(self, request: HttpRequest, now_ms: int) -> Delivery:
        self._scheme.verify(request, self._active_secrets(), now_ms)
        payload = parse_json(request.body)
        identity = self._scheme.identify(request, payload)
        return Delivery(
            id=request.request_id or identity.event_id,
            payload=payload,
            body=request.body,
            event_id=identity.event_id,
            scope=identity.scope,
            headers=request.headers,
            origin={
                "source": self._scheme.provider,
                "eventId": identity.event_id,
                "eventType": identity.event_type,
                "requestId": request.request_id,
            },
        )

    def _active_secrets(self) -> Sequence[str]:
        try:
            found = self._secrets()
        except Exception as error:
            raise SecretsUnavailable(f"the signing secrets could not be read: {error}") from error
        if not any(secret.strip() for secret in found):
            raise SecretsUnavailable(
                "there is no signing secret: nothing can be verified, so nothing is refused either"
            )
        return found

    def reply(self, endings: Sequence[Ending], now_ms: int) -> dict[str, Any]:
        """The answer to the provider."""
        return answer(endings[0].outcome, now_ms)


def answer(outcome: Outcome, now_ms: int) -> dict[str, Any]:
    """Any 2xx makes a provider stop, so it is given only for what is recorded; everything else makes it try again."""
    match outcome:
        case Done(result, replayed, _):
            return response(200, _shown(result), {REPLAYED_HEADER: "true"} if replayed else None)
        case Busy(until):
            seconds = max(1, -(-(until - now_ms) // 1000))
            return _later(409, "another delivery of this event is being worked on", seconds)
        case Rejected(error=SignatureInvalid() as error, recorded=False):
            return response(400, {"error": "signature", "message": str(error)})
        case Rejected(error=InputRefused() as error, recorded=False):
            return response(400, {"error": "malformed", "message": str(error)})
        case Rejected(error=RequestMismatch()):
            return response(422, {"error": "mismatch", "message": "this event id was used before with other content"})
        case Rejected(recorded=True):
            return response(200, {"status": "rejected", "message": "recorded as failed; do not send it again"})
        case Retry() | Rejected():
            return _later(503, "the work failed and will be tried again", RETRY_AFTER_S)
        case Unavailable() | NotStarted():
            return _later(503, "try again later", RETRY_AFTER_S)


def _later(status: int, message: str, seconds: int) -> dict[str, Any]:
    return response(status, {"error": "retry", "message": message}, {"retry-after": str(seconds)})


def _shown(result: Any) -> Any:
    match result:
        case ResultId(value):
            return {"resultId": value}
        case NotKept(reason):
            return {"resultOmitted": reason}
    stored, shown = results.store(result, BODY_BYTES_MAX)
    return {"resultOmitted": stored.text} if stored.kind == "omitted" else shown


def _request_id(event: Any) -> str:
    context = event.get("requestContext") if isinstance(event, Mapping) else None
    return str(context.get("requestId", "")) if isinstance(context, Mapping) else ""
