"""The page's server: one page, its assets, and a small API over `idem.operators`."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from idem.operators.operator_errors import Exit, OperatorError, explain
from idem.operators.record_text import now
from sandbox.console.activity import Activity
from sandbox.console.deliveries import Deliveries
from sandbox.console.guard import Guard
from sandbox.console.patterns import Patterns
from sandbox.console.watched_records import WatchedRecords
from sandbox.stack_connection import LEDGER, StackConnection

ASSETS = Path(__file__).parent / "assets"
STATUSES = {Exit.USAGE: 400, Exit.AWS: 502, Exit.NO: 409, Exit.CHANGED: 409}

Endpoint = Callable[[dict[str, Any]], Any]
"""What is behind one address of the API: from the request's settings to what is answered in JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Console:
    """What the page shows. writes: whether it may change anything; name: of the place, for people."""

    connection: StackConnection
    name: str
    writes: bool

    def app(self, hosts: Sequence[str], token: str) -> Starlette:
        """The application, for requests under one of `hosts` (name:port) alone, by those who know the token."""
        activity = Activity(self.connection)
        records = WatchedRecords(self.connection, activity)
        patterns = Patterns(self.connection, records)
        deliveries = Deliveries(self.connection, records, activity)
        reads: dict[str, Endpoint] = {
            "place": lambda _: self._place(deliveries),
            "records": lambda _: records.look(),
            "life": lambda given: records.life(_text(given, "key")),
            "activity": lambda _: activity.chart(now()),
            "deliveries": lambda _: deliveries.shown(),
            "read": lambda given: patterns.read(_text(given, "identity")),
        }
        writes: dict[str, Endpoint] = {
            "claim": lambda given: patterns.claim(_text(given, "identity")),
            "record": lambda given: patterns.record(_text(given, "identity"), _text(given, "outcome")),
            "race": lambda given: patterns.race(_whole(given, "racers")),
            "deliver": lambda given: deliveries.deliver(
                _text(given, "sample"), _whole(given, "times"), at_once=given.get("atOnce") is True
            ),
        }
        routes = [
            Route("/", _page),
            *[Route(f"/api/{name}", self._get(endpoint)) for name, endpoint in reads.items()],
            *[Route(f"/api/{name}", self._post(endpoint), methods=["POST"]) for name, endpoint in writes.items()],
            Mount("/assets", StaticFiles(directory=ASSETS)),
        ]
        return Starlette(routes=routes, middleware=[Middleware(Guard, hosts=hosts, token=token)])

    def _place(self, deliveries: Deliveries) -> dict[str, Any]:
        outputs = self.connection.outputs
        return {
            "name": self.name,
            "table": self.connection.table,
            "where": self.connection.address,
            "writes": self.writes,
            "ledger": LEDGER in outputs,
            "samples": deliveries.samples() if outputs else [],
        }

    def _get(self, endpoint: Endpoint) -> Callable[[Request], Awaitable[Response]]:
        async def respond(request: Request) -> Response:
            return await _answered(self.connection, endpoint, dict(request.query_params))

        return respond

    def _post(self, endpoint: Endpoint) -> Callable[[Request], Awaitable[Response]]:
        async def respond(request: Request) -> Response:
            if not self.writes:
                refused = OperatorError(
                    "This console only looks.", "Start it with --allow-writes to let it change this table."
                )
                return _refusal(refused)
            try:
                given = await request.json()
            except (ValueError, RecursionError):
                return _refusal(OperatorError("The request is not JSON, or nested too deeply.", status=Exit.USAGE))
            return await _answered(self.connection, endpoint, given if isinstance(given, dict) else {})

        return respond


async def _page(_request: Request) -> Response:
    return FileResponse(ASSETS / "index.html", media_type="text/html")


async def _answered(connection: StackConnection, endpoint: Endpoint, given: dict[str, Any]) -> Response:
    """The answer as JSON, or what went wrong as a sentence with its remedy."""
    try:
        return JSONResponse(await run_in_threadpool(endpoint, given))
    except Exception as error:
        explained = explain(error, connection.known_table)
        if explained is None:
            logging.getLogger(__name__).exception("the console met a fault of its own")
            explained = OperatorError(
                f"The console met a fault of its own: {type(error).__name__}.",
                "Its terminal says where.",
                Exit.INTERRUPTED,
            )
        return _refusal(explained)


def _refusal(error: OperatorError) -> Response:
    said = {"error": error.sentence, "remedy": error.remedy}
    return JSONResponse(said, status_code=STATUSES.get(error.status, 500))


def _text(given: dict[str, Any], name: str) -> str:
    value = given.get(name)
    if not isinstance(value, str) or not value:
        raise OperatorError(f"{name} is missing.", status=Exit.USAGE)
    return value


def _whole(given: dict[str, Any], name: str) -> int:
    value = given.get(name)
    if type(value) is not int:
        raise OperatorError(f"{name} must be a whole number.", status=Exit.USAGE)
    return value
