"""Who may talk to the page's server: its own page, opened by the person who started it, and nobody else.

It listens on 127.0.0.1, but every page on the internet can make a browser send requests there. Three things keep them out: the Host
header must be ours (a name that was rebound to 127.0.0.1 is another name), requests of other sites are refused by Origin and
Sec-Fetch-Site, and whatever changes something must be a POST of JSON with our Origin.

Other users of this machine are kept out by a token, new with every start. It stands in the address that is printed; the page sends
it in a header of its own. A cookie would not do: browsers send it to every port of this machine.
"""

from __future__ import annotations

import hmac
from collections.abc import Sequence

from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

BODY_BYTES_MAX = 64 * 1024  # of a request: keys and small settings

TOKEN_HEADER = "x-console-token"  # noqa: S105 - a name
TOKEN_PARAMETER = "token"  # noqa: S105 - the same, in the address of the page

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self';"
        " base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class Guard:
    """ASGI middleware: refuses what is not from our own page, and puts the security headers on every answer."""

    def __init__(self, app: ASGIApp, *, hosts: Sequence[str], token: str) -> None:
        self._app = app
        self._token = token.encode()
        self._hosts = frozenset(hosts)
        self._origins = frozenset(f"http://{host}" for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await receive()
            await send({"type": "websocket.close"})
            return
        headers = Headers(scope=scope)
        refusal = self._refusal(scope["method"], headers) or self._stranger(scope, headers)

        async def sealed(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        if refusal is None:
            await self._app(scope, receive, sealed)
        else:
            await JSONResponse({"error": refusal, "remedy": ""}, status_code=403)(scope, receive, sealed)

    def _refusal(self, method: str, headers: Headers) -> str | None:
        """Why a request is refused, None if it is ours."""
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            return "This server answers only under its own address."
        origin = headers.get("origin")
        if origin is not None and origin not in self._origins:
            return "Requests of other sites are refused."
        if headers.get("sec-fetch-site", "none") not in {"none", "same-origin"}:
            return "Requests of other sites are refused."
        if method in {"GET", "HEAD"}:
            return None
        if method != "POST":
            return "Only GET and POST are answered."
        if origin is None:
            return "A change needs an Origin."
        if headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            return "A change must be sent as JSON."
        length = headers.get("content-length", "")
        return None if length.isdecimal() and int(length) <= BODY_BYTES_MAX else "The request is too large."

    def _stranger(self, scope: Scope, headers: Headers) -> str | None:
        """Why somebody is refused who has not read the address that was printed. The assets, files of this project, are for all."""
        if scope["path"].startswith("/assets/"):
            return None
        if scope["path"] == "/":
            given = QueryParams(scope["query_string"]).getlist(TOKEN_PARAMETER)
        else:
            given = headers.getlist(TOKEN_HEADER)
        if len(given) == 1 and hmac.compare_digest(given[0].encode(), self._token):
            return None
        return "Open the whole address that the console printed: the token in it belongs to one start of the console."
