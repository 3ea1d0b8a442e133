"""No page on the internet can drive the console: not through a name of its own, and not across sites."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Message, Scope

from sandbox.console.same_origin import BODY_BYTES_MAX, SameOrigin

HOST = "127.0.0.1:8787"
OURS = {"host": HOST, "origin": f"http://{HOST}", "content-type": "application/json", "content-length": "2"}


def answer(method: str, headers: dict[str, str] | list[tuple[str, str]]) -> tuple[int, dict[str, str]]:
    """Status and headers of the answer to a request with these headers."""
    given = list(headers.items()) if isinstance(headers, dict) else headers
    scope: Scope = {
        "type": "http",
        "method": method,
        "path": "/",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in given],
    }
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"{}", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    app = SameOrigin(PlainTextResponse("reached"), hosts=[HOST, "localhost:8787"])
    asyncio.run(app(scope, receive, send))
    found: Any = sent[0]
    return found["status"], {name.decode(): value.decode() for name, value in found["headers"]}


def test_our_own_page_is_answered() -> None:
    assert answer("GET", {"host": HOST})[0] == 200
    assert answer("GET", {"host": "localhost:8787", "sec-fetch-site": "none"})[0] == 200
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
    assert answer("GET", {})[0] == 403
    assert answer("GET", [("host", HOST), ("host", "evil.example")])[0] == 403


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
