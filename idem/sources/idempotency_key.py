"""APIs whose clients send an Idempotency-Key: the same request again gets the same answer, and the work is done once.

    consumer = Consumer(
        operation="transfers.create",
        source=IdempotencyKeySource(caller=caller_at("authorizer", "jwt", "claims", "sub"), failures={"NoFunds": 402}),
        key=keys.event_id(),          # the caller and the key
        work=create_transfer,         # returns HttpResult(201, {...}), or any JSON value for 200
        policy=Policy(retention=timedelta(hours=24), permanent=(NoFunds,)),
        store=store,
    )

| request | answer |
|---|---|
| without a key, or with one that cannot be read | 400 |
| with a body or a query above the limit | 413 |
| by nobody who is known | 401 |
| the first one | what the work returned |
| while the first one runs | 409 and Retry-After |
| again | the same status and body, `idempotent-replayed: true` |
| again, after it failed for good | the same status and body of the failure, marked in the same way |
| again, after it failed for now | the work runs again |
| the key with another request | 422; the first one stays as it is |
| the table gives no answer, or too little time is left | 503 and Retry-After |

The statuses are those of the IETF draft (draft-ietf-httpapi-idempotency-key-header-07), errors are problem details (RFC 9457). The
draft's key is a quoted string; Stripe's clients send it bare. Both are read, and mean the same key. A key is 1 to 255 visible
ASCII characters; ask clients for a UUID.

A key belongs to its caller: two callers with the same key are two requests. So `caller` must come from what authenticated the
request, never from what the client says about itself. Callers are compared byte for byte: one whose name is not in Unicode's
composed form is written as hex digits in the delivery's scope.

A result above the policy's `result_bytes_max` is not kept; its replay has status 200 and says so. Return large results by
reference. Method, path, query and payload are compared; `check=None` switches that off.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from idem.arguments import check_function
from idem.delivery import (
    Arrival,
    Busy,
    Delivery,
    Done,
    Ending,
    NotStarted,
    Outcome,
    Overtaken,
    Rejected,
    Retry,
    Unavailable,
    Unreadable,
    Unsettled,
)
from idem.errors import (
    InputRefused,
    MalformedDelivery,
    MissingKeyPart,
    RequestMismatch,
    StoredFailure,
    TooLarge,
    UnknownCaller,
)
from idem.flow import failure_of
from idem.results import HttpResult
from idem.sources.content import parse_json, understood
from idem.sources.http import (
    LISTS_HEADERS,
    REPLAYED_HEADER,
    REQUEST_BYTES_MAX,
    RETRY_AFTER_S,
    HttpRequest,
    Reply,
    json_reply,
    lists_headers,
    parse_request,
    request_id,
    shown,
)
from idem.text import exact, message_of, writable

HEADER = "idempotency-key"
BARE = re.compile(r"[!#-+\--~]{1,255}")  # visible ASCII; a comma or quote would be two headers, or half a string
QUOTED = re.compile(r'"((?:[ !#-\[\]-~]|\\["\\]){1,255})"')  # a string of RFC 9651
PROBLEM = {"content-type": "application/problem+json"}

Caller = Callable[[HttpRequest], str | None]


def caller_at(*steps: str) -> Caller:
    """The caller that the front door authenticated, by where the event's requestContext says so.

    HTTP API with a JWT: "authorizer", "jwt", "claims", "sub". Function URL or HTTP API with IAM: "authorizer", "iam", "userArn".
    REST API with a Cognito pool: "authorizer", "claims", "sub"; with a function: "authorizer", "principalId".
    """

    def caller(request: HttpRequest) -> str | None:
        found: Any = request.context
        for step in steps:
            found = found.get(step) if isinstance(found, Mapping) else None
        return found if isinstance(found, str) and found.strip() else None

    return caller


def same_request(delivery: Delivery) -> object:
    """A consumer's `check`: what must be the same whenever the key is."""
    return [*(delivery.origin.get(name, "") for name in ("method", "path", "queryHash")), delivery.payload]


class IdempotencyKeySource:
    """Reads one request of an API, and answers it.

    caller: who sent it. check: what must be the same whenever the key is, for consumers without a check of their own; None lets a
    key answer for any request of its caller. A parser that makes objects of its own needs a check of its own, too.
    failures: by the name of an error's class, the status of a permanent failure; its message is shown to
    the client. Permanent failures that are not listed are answered 500, without their message. body_bytes_max: of a request.
    """

    def __init__(
        self,
        *,
        caller: Caller,
        failures: Mapping[str, int] | None = None,
        parse: Callable[[bytes], Any] = parse_json,
        check: Callable[[Delivery], object] | None = same_request,
        body_bytes_max: int = REQUEST_BYTES_MAX,
    ) -> None:
        check_function(
            "caller", caller, "the request", give='a function, such as caller_at("authorizer", "jwt", "claims", "sub")'
        )
        check_function("parse", parse, "the body", give="a function of bytes")
        self.check = check
        self._body_bytes_max = body_bytes_max
        self._caller = caller
        self._failures = dict(failures or {})
        self._parse = parse

    def read(self, event: Any, now_ms: int) -> list[Arrival]:  # noqa: ARG002 - a key does not age by our clock
        """The one delivery of a request. Raises WrongEvent for an event that is no HTTP request."""
        handle = LISTS_HEADERS if lists_headers(event) else None
        try:
            return [self._delivery(parse_request(event, self._body_bytes_max), handle)]
        except (MalformedDelivery, MissingKeyPart, UnknownCaller) as error:
            return [Unreadable(id=request_id(event), error=error, handle=handle)]

    def _delivery(self, request: HttpRequest, handle: str | None) -> Delivery:
        caller = understood("the caller rule", self._caller, request)
        if not caller or not caller.strip():
            raise UnknownCaller("the request is not authenticated, so its key belongs to nobody")
        key = parse_key(request.headers.get(HEADER))
        origin = {"source": "api", "requestId": request.request_id, "method": request.method, "path": request.path}
        if request.query:
            origin["queryHash"] = hashlib.sha256(request.query.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        return Delivery(
            id=request.request_id or key,
            payload=understood("the parser", self._parse, request.body) if request.body else None,
            body=request.body,
            event_id=key,
            scope=exact(caller),
            headers=request.headers,
            handle=handle,
            origin={name: writable(value) for name, value in origin.items()},
        )

    def reply(self, endings: Sequence[Ending], now_ms: int) -> dict[str, Any]:
        """The answer to the client."""
        ending = endings[0]
        reply = self._reply_to(ending.outcome, now_ms)
        return reply.to_event(lists_headers=ending.arrival.handle == LISTS_HEADERS)

    def _reply_to(self, outcome: Outcome, now_ms: int) -> Reply:
        match outcome:
            case Done(result, replayed, _):
                return _result(result, {REPLAYED_HEADER: "true"} if replayed else {})
            case Busy(until):
                seconds = max(1, -(-(until - now_ms) // 1000))
                return _problem(409, "a request with this key is being worked on", {"retry-after": str(seconds)})
            case Rejected(error=RequestMismatch()):
                return _problem(422, "this key was used before with another request: use a new key for new work")
            case Rejected(error=StoredFailure() as error):
                return self._failure(error.type, error.reason, {REPLAYED_HEADER: "true"})
            case Rejected(error=error, recorded=True):
                failure = failure_of(error, reclaimable=False)
                return self._failure(failure.type, failure.message, {})
            case Rejected(error=InputRefused() as error):
                return _problem(_refused_status(error), message_of(error))
            case Retry() | Overtaken() | Unsettled() | Rejected():
                return _problem(503, "the request failed, and may be sent again", {"retry-after": str(RETRY_AFTER_S)})
            case Unavailable() | NotStarted():
                return _problem(503, "send the request again later", {"retry-after": str(RETRY_AFTER_S)})

    def _failure(self, name: str, message: str, headers: Mapping[str, str]) -> Reply:
        """A permanent failure: the same answer for the first request, from its error, and for all others, from its record."""
        if name in self._failures:
            return _problem(self._failures[name], message, headers, title=name)
        return _problem(500, "the request failed, and cannot succeed under this key", headers)


def _refused_status(error: InputRefused) -> int:
    match error:
        case UnknownCaller():
            return 401
        case TooLarge():
            return 413
        case _:
            return 400


def parse_key(header: str | None) -> str:
    """The key in a header. Raises MissingKeyPart if there is none, MalformedDelivery if it cannot be read."""
    if header is None or not header.strip():
        raise MissingKeyPart(
            "the request has no Idempotency-Key header: send one, such as a new UUID for each new request"
        )
    text = header.strip()
    if quoted := QUOTED.fullmatch(text):
        return re.sub(r"\\(.)", r"\1", quoted[1])
    if BARE.fullmatch(text):
        return text
    raise MalformedDelivery("the Idempotency-Key is not one key of 1 to 255 visible ASCII characters, bare or quoted")


def _result(result: Any, headers: Mapping[str, str]) -> Reply:
    if not isinstance(result, HttpResult):
        return json_reply(200, shown(result), headers)
    if fault := result.fault():
        return json_reply(200, {"resultOmitted": fault}, headers)
    own = {name.lower(): value for name, value in result.http_headers.items()}
    if result.http_status in {204, 304}:
        return Reply(status=result.http_status, headers=own | dict(headers))
    return json_reply(result.http_status, shown(result.http_body), own | dict(headers))


def _problem(status: int, detail: str, headers: Mapping[str, str] | None = None, *, title: str | None = None) -> Reply:
    value = {"title": title, "status": status, "detail": detail} if title else {"status": status, "detail": detail}
    return json_reply(status, value, PROBLEM | dict(headers or {}))
