"""Run MiniStack behind a guard.

`sandbox.account` starts this file with the engine's own interpreter, so it imports nothing of this project.

MiniStack itself answers everybody. It listens on 127.0.0.1, but any page on the internet can make a browser of this machine send
requests there, and who may talk to the engine may run code here. So the guard lets programs in and keeps browsers out:

- A browser names the page in Origin or says Sec-Fetch-*, which no script can leave out; a program sends neither.
- A name that an attacker rebound to 127.0.0.1 is another name in Host, so only this account's own names are answered: its
  address, and the names of deployed functions and APIs in a form whose addresses nobody but AWS and this machine decides on.
"""

import json
import os
import re
import signal
import sys
import threading
from collections.abc import Awaitable, Callable
from typing import Any

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

FUNCTION_NAME = r"[a-z0-9]{32}\.lambda-url\.[a-z0-9-]+\.on\.aws"
API_NAME = r"[a-f0-9]{8}\.execute-api\.localhost"


class Guard:
    """ASGI middleware in front of the engine on `port`: answers 403 to browsers and under foreign names."""

    def __init__(self, engine: App, port: int) -> None:
        self._engine = engine
        self._names = re.compile(rf"(?:(?:127\.0\.0\.1|localhost|{API_NAME}):{port}|{FUNCTION_NAME})", re.ASCII)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = None if scope["type"] == "lifespan" else self._refusal(scope["headers"])
        if refusal is None:
            await self._engine(scope, receive, send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008, "reason": refusal})
        else:
            body = json.dumps({"message": refusal}).encode()
            headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
            await send({"type": "http.response.start", "status": 403, "headers": headers})
            await send({"type": "http.response.body", "body": body})

    def _refusal(self, headers: list[tuple[bytes, bytes]]) -> str | None:
        """Why a request is refused, None for a program's."""
        names = [name.decode("latin-1").lower() for name, _ in headers]
        if any(name == "origin" or name.startswith("sec-fetch-") for name in names):
            return (
                "The local account answers programs on this machine and no browser: leave out Origin and Sec-Fetch-*."
            )
        hosts = [value.decode("latin-1") for name, value in headers if name.lower() == b"host"]
        if len(hosts) != 1 or not self._names.fullmatch(hosts[0]):
            return "The local account answers only under its own address and those of what is deployed to it: see Host."
        return None


def _end_with_owner() -> None:
    sys.stdin.buffer.read()
    os.killpg(0, signal.SIGKILL)


def main() -> None:
    """Serve on `GATEWAY_PORT`, until standard input closes even if `sandbox.leash`, which else ends the engine, was killed."""
    threading.Thread(target=_end_with_owner, daemon=True).start()
    # Only in the engine's environment, so it is imported by name at run time. Its `main` serves the `app` of its module.
    engine: Any = __import__("ministack.app", fromlist=["main"])
    engine.app = Guard(engine.app, int(os.environ["GATEWAY_PORT"]))
    engine.main()


if __name__ == "__main__":
    main()
