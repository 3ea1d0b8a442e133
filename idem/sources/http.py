"""HTTP events of every kind that Lambda knows, as one type.

| event | told by | body | headers |
|---|---|---|---|
| function URL, HTTP API | version "2.0" | text or base64 | lower case, several values joined by commas |
| REST API | requestContext with httpMethod | text or base64 | as sent, single and multiple |
| load balancer | requestContext.elb | text or base64 | single or multiple, by a setting of the target group |
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from idem.errors import MalformedDelivery, WrongEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """A request as it arrived. Header names are in lower case, `body` is the raw bytes that a signature covers."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    request_id: str


def read_request(event: Any) -> HttpRequest:
    """The request in an event. Raises WrongEvent if it is none, MalformedDelivery if its body cannot be decoded."""
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
        body=_body(event),
        request_id=str(context.get("requestId", "")),
    )


def response(status: int, body: Any, headers: Mapping[str, str] | None = None) -> dict[str, Any]:
    """An answer in the form that function URLs, HTTP and REST APIs and load balancers all take."""
    return {
        "statusCode": status,
        "headers": {"content-type": "application/json", **(headers or {})},
        "body": json.dumps(body, ensure_ascii=False, separators=(",", ":")),
        "isBase64Encoded": False,
    }


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


def _body(event: Mapping[str, Any]) -> bytes:
    body = event.get("body") or ""
    if not isinstance(body, str):
        raise MalformedDelivery("the body of the event is not text")
    if not event.get("isBase64Encoded"):
        return body.encode("utf-8", "surrogatepass")
    try:
        return base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError):
        raise MalformedDelivery("the body of the event is marked as base64 but is not") from None
