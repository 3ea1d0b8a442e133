"""One request as each of Lambda's HTTP front doors hands it over."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any

Shape = Callable[..., dict[str, Any]]


def _body(body: bytes, *, encoded: bool) -> dict[str, Any]:
    text = base64.b64encode(body).decode("ascii") if encoded else body.decode("utf-8", "surrogatepass")
    return {"body": text, "isBase64Encoded": encoded}


def function_url(body: bytes, headers: Mapping[str, str], *, encoded: bool = True) -> dict[str, Any]:
    return {
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": "/hook",
        "headers": {name.lower(): value for name, value in headers.items()},
        "requestContext": {"http": {"method": "POST", "path": "/hook"}, "requestId": "r-1", "stage": "$default"},
    } | _body(body, encoded=encoded)


def http_api(body: bytes, headers: Mapping[str, str], *, encoded: bool = False) -> dict[str, Any]:
    return function_url(body, headers, encoded=encoded) | {"routeKey": "POST /hook"}


def rest_api(body: bytes, headers: Mapping[str, str], *, encoded: bool = False) -> dict[str, Any]:
    return {
        "resource": "/hook",
        "path": "/hook",
        "httpMethod": "POST",
        "headers": dict(headers),
        "multiValueHeaders": {name: [value] for name, value in headers.items()},
        "requestContext": {"httpMethod": "POST", "requestId": "r-1", "stage": "prod"},
    } | _body(body, encoded=encoded)


def load_balancer(body: bytes, headers: Mapping[str, str], *, encoded: bool = False) -> dict[str, Any]:
    return {
        "path": "/hook",
        "httpMethod": "POST",
        "headers": {name.lower(): value for name, value in headers.items()},
        "requestContext": {"elb": {"targetGroupArn": "arn:aws:elasticloadbalancing:r:a:targetgroup/t/1"}},
    } | _body(body, encoded=encoded)


def load_balancer_multi(body: bytes, headers: Mapping[str, str], *, encoded: bool = False) -> dict[str, Any]:
    event = load_balancer(body, headers, encoded=encoded)
    event["multiValueHeaders"] = {name: [value] for name, value in event.pop("headers").items()}
    return event


SHAPES: dict[str, Shape] = {
    shape.__name__: shape for shape in (function_url, http_api, rest_api, load_balancer, load_balancer_multi)
}
