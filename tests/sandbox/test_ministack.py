"""The local engine answers programs on this machine, and no page in a browser: not across sites, not under a name of its own."""

from __future__ import annotations

import asyncio
import http.client
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from sandbox.isolation import HOST
from sandbox.ministack import Guard
from tests.sandbox.conftest import Deployed

PORT = 4566
OURS = f"{HOST}:{PORT}"
FUNCTION = f"{'a1' * 16}.lambda-url.us-east-1.on.aws"
API = f"0123abcd.execute-api.localhost:{PORT}"
EVIL = "http://evil.example"

BROWSERS: list[dict[str, str]] = [
    {"Origin": EVIL},
    {"Origin": "null"},  # a sandboxed frame, a file
    {"Origin": ""},
    {"Origin": f"http://{OURS}"},  # a page that the engine itself served, from a bucket
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "none"},  # an address that somebody was made to click
    {"Sec-Fetch-Mode": "no-cors"},
    {"SEC-FETCH-DEST": "image"},
]
FOREIGN = [
    "evil.example",
    f"evil.example:{PORT}",
    HOST,
    f"{HOST}:80",
    f"{HOST}:{PORT}0",
    f"0.0.0.0:{PORT}",
    f"[::1]:{PORT}",
    f"localhost.evil.example:{PORT}",
    f"localhost.:{PORT}",
    f"{OURS}\n",
    "",
    f"{'a1' * 16}.lambda-url.us-east-1.evil.example:{PORT}",  # MiniStack takes any end for a function's
    f"{FUNCTION}.evil.example",
    f"x{FUNCTION}",
    f"0123abcd.execute-api.evil.example:{PORT}",
    f"bucket.s3.evil.example:{PORT}",
]


class Engine:
    """An ASGI application that notes what reached it."""

    def __init__(self) -> None:
        self.reached: list[str] = []

    async def __call__(self, scope: dict[str, Any], _receive: Any, send: Any) -> None:
        self.reached.append(scope["type"])
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"reached"})


def ask(headers: list[tuple[str, str]], *, kind: str = "http", method: str = "POST") -> tuple[list[str], list[Any]]:
    """What reached the engine of a request with these headers, and what was answered."""
    engine, answers = Engine(), list[Any]()
    # As servers hand them over: lower-case names. The guard does not rely on it.
    raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]

    async def receive() -> dict[str, Any]:
        return {"type": f"{kind}.connect"}

    async def send(message: Any) -> None:
        answers.append(message)

    asyncio.run(Guard(engine, PORT)({"type": kind, "method": method, "headers": raw}, receive, send))
    return engine.reached, answers


@pytest.mark.parametrize("host", [OURS, f"localhost:{PORT}", FUNCTION, API])
def test_a_program_is_answered_under_every_name_of_the_account(host: str) -> None:
    reached, answers = ask([("host", host), ("authorization", "AWS4-HMAC-SHA256 x"), ("user-agent", "Boto3/1")])
    assert reached == ["http"]
    assert answers[0]["status"] == 200


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "OPTIONS"])
@pytest.mark.parametrize("host", [OURS, FUNCTION, API])
@pytest.mark.parametrize("headers", BROWSERS, ids=str)
def test_a_browser_is_refused_under_every_name_and_told_nothing_it_may_read(
    headers: dict[str, str], host: str, method: str
) -> None:
    reached, answers = ask([("host", host), *headers.items()], method=method)
    assert reached == []
    assert answers[0]["status"] == 403
    assert not any(name.startswith(b"access-control") for name, _ in answers[0]["headers"])
    assert "browser" in json.loads(answers[1]["body"])["message"]


@pytest.mark.parametrize("host", FOREIGN)
def test_a_name_that_was_rebound_to_this_machine_is_refused(host: str) -> None:
    reached, answers = ask([("host", host)])
    assert reached == []
    assert answers[0]["status"] == 403


@pytest.mark.parametrize("hosts", [[], [OURS, "evil.example"], [OURS, OURS]])
def test_a_request_without_a_host_or_with_two_is_refused(hosts: list[str]) -> None:
    reached, answers = ask([("host", host) for host in hosts])
    assert reached == []
    assert answers[0]["status"] == 403


@pytest.mark.parametrize("headers", [[("host", OURS), ("origin", EVIL)], [("host", "evil.example")]])
def test_a_websocket_of_a_browser_is_closed_before_it_opens(headers: list[tuple[str, str]]) -> None:
    reached, answers = ask(headers, kind="websocket")
    assert reached == []
    assert [answer["type"] for answer in answers] == ["websocket.close"]
    assert ask([("host", OURS)], kind="websocket")[0] == ["websocket"]


def test_the_engines_own_start_and_end_pass() -> None:
    assert ask([], kind="lifespan")[0] == ["lifespan"]


def over_http(deployed: Deployed, method: str, path: str, headers: dict[str, str]) -> tuple[int, bytes, list[str]]:
    """Status, body and the names of the headers of an answer of the real engine."""
    connection = http.client.HTTPConnection(HOST, deployed.account.port, timeout=60)
    try:
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read(), [name.lower() for name, _ in answer.getheaders()]
    finally:
        connection.close()


@pytest.mark.e2e
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
def test_the_running_engine_refuses_a_page_at_every_address(deployed: Deployed, method: str) -> None:
    function = urlsplit(deployed.outputs.payments_url).netloc
    for path in ("/", "/_ministack/health", "/_ministack/reset", "/2015-03-31/functions"):
        for headers in ({"Origin": EVIL}, {"Sec-Fetch-Mode": "no-cors"}, {"Host": "evil.example"}):
            status, _, names = over_http(deployed, method, path, headers)
            assert status == 403
            assert not any(name.startswith("access-control") for name in names)
    assert over_http(deployed, method, "/", {"Host": function, "Origin": EVIL})[0] == 403
    assert deployed.account.client("sqs").list_queues()["QueueUrls"]  # nothing was reset


@pytest.mark.e2e
def test_the_running_engine_refuses_a_websocket_of_a_page(deployed: Deployed) -> None:
    upgrade = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
        "Origin": EVIL,
    }
    assert over_http(deployed, "GET", "/_aws/execute-api/0123abcd/live", upgrade)[0] == 403


@pytest.mark.e2e
def test_a_deployed_function_answers_a_caller_with_its_host_and_no_other(deployed: Deployed) -> None:
    function = urlsplit(deployed.outputs.payments_url).netloc
    status, body, _ = over_http(deployed, "POST", "/", {"Host": function})
    assert (status, json.loads(body)["error"]) == (400, "signature")
    renamed = function.replace("on.aws", f"evil.example:{deployed.account.port}")
    assert renamed != function
    assert over_http(deployed, "POST", "/", {"Host": renamed})[0] == 403


@pytest.mark.e2e
@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="only Linux says in /proc who listens where")
def test_the_engine_and_its_workers_listen_at_one_guarded_port_of_this_machine(deployed: Deployed) -> None:
    over_http(deployed, "POST", "/", {"Host": urlsplit(deployed.outputs.payments_url).netloc})  # a worker runs now
    assert listening(deployed.account.folder) == {f"0100007F:{deployed.account.port:04X}"}


def listening(folder: Path) -> set[str]:
    """Where the processes whose temporary folder this is accept connections: addresses as the kernel writes them."""
    theirs = set[str]()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if f"TMPDIR={folder}\0".encode() in (process / "environ").read_bytes():
                theirs |= {str(opened.readlink()) for opened in (process / "fd").iterdir()}
        except OSError:
            continue  # it has ended, or is somebody else's
    inodes = {found[1] for one in theirs if (found := re.fullmatch(r"socket:\[(\d+)\]", one))}
    lines = [line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()]
    return {line[1] for line in lines if line[3] == "0A" and line[9] in inodes}
