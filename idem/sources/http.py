"""HTTP events of every kind that Lambda knows, as one type.

| event | told by | body | headers | query |
|---|---|---|---|---|
| function URL, HTTP API | version "2.0" | text or base64 | lower case, several values joined by commas | as it arrived |
| REST API | requestContext with httpMethod | text or base64 | as sent, single and multiple | decoded: it is encoded again |
| load balancer | requestContext.elb | text or base64 | single or multiple, by a setting of the target group | not decoded |

A load balancer with multiple header values wants them in the answer too, and ignores single ones there.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from idem import results
from idem.errors import MalformedDelivery, TooLarge, WrongEvent
from idem.results import HttpResult, NotKept, ResultId
from idem.sources.content import text_of
from idem.text import writable

JSON = "application/json"
REPLAYED_HEADER = "idempotent-replayed"  # Stripe's own name for it
BODY_BYTES_MAX = 5_000_000  # Lambda takes 6 MB; a larger result is said to be omitted
REQUEST_BYTES_MAX = (
    1_048_576  # of a request's body, unless its source says otherwise: 6 MB of hostile JSON took 470 MB when parsed
)
LAMBDA_BYTES_MAX = 6 * 1_048_576  # of any event; a body that is only hashed before it is verified may have them all
QUERY_CHARS_MAX = (
    65_536  # a load balancer takes a request line of 16 KB, other front doors take less; encoding makes three of one
)
RETRY_AFTER_S = 5  # when nothing says when the next try could succeed

LISTS_HEADERS = "lists-headers"
"""The handle of a delivery whose answer needs lists of header values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """A request as it arrived. Header names are in lower case, `body` is the raw bytes that a signature covers.

    query: without its question mark. context: the event's requestContext, which says who called an API that authenticates.
    lists_headers: the answer's headers must be lists.
    """

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    request_id: str
    query: str = ""
    context: Mapping[str, Any] = field(default_factory=dict)
    lists_headers: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An HTTP answer with the text of its body."""

    status: int
    body: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    def to_event(self, *, lists_headers: bool = False) -> dict[str, Any]:
        """The form that function URLs, HTTP and REST APIs and load balancers all take."""
        answer: dict[str, Any] = {"statusCode": self.status, "headers": dict(self.headers)}
        if lists_headers:
            answer["multiValueHeaders"] = {name: [value] for name, value in self.headers.items()}
        return answer | {"body": self.body, "isBase64Encoded": False}


def json_reply(status: int, value: Any, headers: Mapping[str, str] | None = None) -> Reply:
    """An answer in JSON. Raises ValueError or TypeError for a value that JSON cannot hold, or UTF-8 cannot write."""
    body = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    body.encode("utf-8")
    return Reply(status=status, body=body, headers={"content-type": JSON, **(headers or {})})


def shown(result: Any, bytes_max: int = BODY_BYTES_MAX) -> Any:
    """A result as JSON shows it; one that cannot be shown is said to be omitted, since its work is done all the same."""
    match result:
        case ResultId(value):
            return {"resultId": writable(str(value))}
        case NotKept(reason):
            return {"resultOmitted": writable(str(reason))}
        case HttpResult():
            return shown(dataclasses.asdict(result), bytes_max)
        case _:
            stored, value = results.store(result, bytes_max)
            return {"resultOmitted": stored.text} if stored.kind == "omitted" else value


def parse_request(event: Any, body_bytes_max: int = REQUEST_BYTES_MAX) -> HttpRequest:
    """The request in an event.

    Raises WrongEvent if it is none, TooLarge if its body or query is above the limit, MalformedDelivery if its body cannot be
    decoded.
    """
    context = event.get("requestContext") if isinstance(event, Mapping) else None
    if not isinstance(context, Mapping):
        raise WrongEvent(
            "this is not an HTTP event: it has no requestContext; is the function behind a function URL, API Gateway or ALB?"
        )
    http = context.get("http")
    if isinstance(http, Mapping):
        method, path = http.get("method", ""), event.get("rawPath", "/")
    else:
        method, path = event.get("httpMethod", ""), event.get("path", "/")
    if not method:
        raise WrongEvent("this is not an HTTP event: it names no method; WebSocket and other events are not supported")
    return HttpRequest(
        method=str(method),
        path=str(path),
        headers=_headers(event),
        body=_body(event, body_bytes_max),
        request_id=request_id(event),
        query=_query(event),
        context=context,
        lists_headers=lists_headers(event),
    )


def request_id(event: Any) -> str:
    """The id that the front door gave the request, empty if it gave none."""
    context = event.get("requestContext") if isinstance(event, Mapping) else None
    return text_of(context.get("requestId")) if isinstance(context, Mapping) else ""


def lists_headers(event: Any) -> bool:
    """Whether the answer's headers must be lists: for a load balancer that sends them as lists."""
    context = event.get("requestContext") if isinstance(event, Mapping) else None
    return isinstance(context, Mapping) and "elb" in context and "multiValueHeaders" in event


def _headers(event: Mapping[str, Any]) -> dict[str, str]:
    """Headers by lower-case name; several values of one name are joined by commas, as HTTP allows."""
    found: dict[str, str] = {}
    single = event.get("headers")
    for name, value in single.items() if isinstance(single, Mapping) else ():
        if isinstance(value, str):
            found[str(name).lower()] = value
    several = event.get("multiValueHeaders")
    for name, values in several.items() if isinstance(several, Mapping) else ():
        if isinstance(values, list) and values:
            found[str(name).lower()] = ",".join(str(value) for value in values)
    return found


def _query(event: Mapping[str, Any]) -> str:
    query = _written_query(event)
    if len(query) > QUERY_CHARS_MAX:
        raise TooLarge(f"the query of the request has {len(query)} characters; at most {QUERY_CHARS_MAX} are read")
    return query


def _written_query(event: Mapping[str, Any]) -> str:
    """The query as it arrived or, where the event has only its parts, written again in their order."""
    raw = event.get("rawQueryString")
    if isinstance(raw, str):
        return raw
    several, single = event.get("multiValueQueryStringParameters"), event.get("queryStringParameters")
    found = several if isinstance(several, Mapping) else single if isinstance(single, Mapping) else {}
    pairs = [
        (str(name), str(value))
        for name, values in found.items()
        for value in (values if isinstance(values, list) else [values])
    ]
    context = event.get("requestContext")
    if isinstance(context, Mapping) and "elb" in context:
        return "&".join(f"{name}={value}" for name, value in pairs)
    return "&".join(f"{_quoted(name)}={_quoted(value)}" for name, value in pairs)


def _quoted(text: str) -> str:
    return quote(text.encode("utf-8", "surrogatepass"), safe="")


def _body(event: Mapping[str, Any], bytes_max: int) -> bytes:
    body = event.get("body") or ""
    if not isinstance(body, str):
        raise MalformedDelivery("the body of the event is not text")
    encoded = bool(event.get("isBase64Encoded"))
    least = len(body) // 4 * 3 - 2 if encoded else len(body)  # base64 ends in at most two characters of padding
    found = _decoded(body, encoded=encoded) if least <= bytes_max else b""
    if (size := max(least, len(found))) > bytes_max:
        raise TooLarge(f"the body of the request has {size} bytes; at most {bytes_max} are read")
    return found


def _decoded(body: str, *, encoded: bool) -> bytes:
    if not encoded:
        return body.encode("utf-8", "surrogatepass")
    try:
        return base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError):
        raise MalformedDelivery("the body of the event is marked as base64 but is not") from None
