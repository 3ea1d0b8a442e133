"""No page on the internet can drive the console, through a name of its own or across sites, and no other user of this machine."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Message, Scope

from sandbox.console.guard import BODY_BYTES_MAX, Guard

HOST = "127.0.0.1:8787"
TOKEN = "t-0123"
OURS = {
    "x-console-token": TOKEN,
    "host": HOST,
    "origin": f"http://{HOST}",
    "content-type": "application/json",
    "content-length": "2",
}


def answer(
    method: str, headers: dict[str, str] | list[tuple[str, str]], *, path: str = "/api/place", query: bytes = b""
) -> tuple[int, dict[str, str]]:
    """Status and headers of the answer to a request with these headers."""
    given = list(headers.items()) if isinstance(headers, dict) else headers
    scope: Scope = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": query,
        "headers": [(name.encode(), value.encode()) for name, value in given],
    }
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"{}", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    app = Guard(PlainTextResponse("reached"), hosts=[HOST, "localhost:8787"], token=TOKEN)
    asyncio.run(app(scope, receive, send))
    found: Any = sent[0]
    return found["status"], {name.decode(): value.decode() for name, value in found["headers"]}


def test_our_own_page_is_answered() -> None:
    assert answer("GET", {"host": HOST, "x-console-token": TOKEN})[0] == 200
    address = {"host": "localhost:8787", "sec-fetch-site": "none"}
    assert answer("GET", address, path="/", query=b"token=t-0123")[0] == 200
    assert answer("GET", address, path="/assets/main.js")[0] == 200
    assert answer("POST", OURS)[0] == 200
    assert answer("POST", OURS | {"sec-fetch-site": "same-origin"})[0] == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8787", "127.0.0.1", "127.0.0.1:80", "localhost.evil.example:8787", "", "[::1]:8787"],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_name_that_was_rebound_to_this_machine_is_refused(method: str, host: str) -> None:
    assert answer(method, OURS | {"host": host, "origin": f"http://{host}"})[0] == 403


def test_a_request_without_a_host_or_with_two_is_refused() -> None:
    token = ("x-console-token", TOKEN)
    assert answer("GET", [token])[0] == 403
    assert answer("GET", [token, ("host", HOST), ("host", "evil.example")])[0] == 403


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:9999", f"https://{HOST}", ""])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_another_origin_is_refused(method: str, origin: str) -> None:
    assert answer(method, OURS | {"origin": origin})[0] == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_browser_that_comes_from_another_site_is_refused(method: str, site: str) -> None:
    assert answer(method, OURS | {"sec-fetch-site": site})[0] == 403


@pytest.mark.parametrize(
    "change",
    [
        {"origin": None},
        {"content-type": "text/plain"},  # what a form of another site can send without asking
        {"content-type": "application/x-www-form-urlencoded"},
        {"content-type": None},
        {"content-length": str(BODY_BYTES_MAX + 1)},
        {"content-length": None},
    ],
)
def test_a_change_that_is_not_our_pages_json_is_refused(change: dict[str, str | None]) -> None:
    headers = {name: value for name, value in (OURS | change).items() if value is not None}
    assert answer("POST", headers)[0] == 403


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "PATCH"])
def test_other_methods_are_refused(method: str) -> None:
    assert answer(method, OURS)[0] == 403


@pytest.mark.parametrize(
    "query",
    [b"", b"token=", b"token=t-012", b"token=t-01234", b"token=T-0123", b"token=t-0123&token=t-0123", b"\xff=%ff"],
)
def test_the_page_itself_is_refused_without_the_token_of_its_address(query: bytes) -> None:
    assert answer("GET", {"host": HOST}, path="/", query=query)[0] == 403
    assert answer("GET", {"host": HOST, "x-console-token": TOKEN}, path="/", query=query)[0] == 403


@pytest.mark.parametrize("token", [None, "", "t-012", "T-0123", "t-01234", "\xff"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_who_does_not_know_the_token_is_refused(method: str, token: str | None) -> None:
    headers = {name: value for name, value in (OURS | {"x-console-token": token}).items() if value is not None}
    assert answer(method, headers)[0] == 403
    assert answer(method, headers, query=b"token=t-0123")[0] == 403  # there the page's address alone has it


def test_the_token_is_given_once() -> None:
    assert answer("GET", [("host", HOST), ("x-console-token", TOKEN), ("x-console-token", TOKEN)])[0] == 403


@pytest.mark.parametrize("headers", [{"host": HOST}, {"host": "evil.example"}])
def test_every_answer_forbids_foreign_script_frames_and_caching(headers: dict[str, str]) -> None:
    _, found = answer("GET", headers)
    policy = found["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert found["x-content-type-options"] == "nosniff"
    assert found["cache-control"] == "no-store"
    assert "access-control-allow-origin" not in found
