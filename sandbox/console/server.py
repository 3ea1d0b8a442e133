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

from idem.operators.connection import Connection
from idem.operators.operator_errors import Exit, OperatorError, explain
from idem.operators.record_text import now
from sandbox.console.activity import Activity
from sandbox.console.deliveries import Deliveries
from sandbox.console.ledger import Ledger
from sandbox.console.patterns import Patterns
from sandbox.console.same_origin import Guard

ASSETS = Path(__file__).parent / "assets"
STATUSES = {Exit.USAGE: 400, Exit.AWS: 502, Exit.NO: 409, Exit.CHANGED: 409}

Answer = Callable[[dict[str, Any]], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Console:
    """What the page shows. writes: whether it may change anything; name: of the place, for people."""

    connection: Connection
    name: str
    writes: bool

    def app(self, hosts: Sequence[str]) -> Starlette:
        """The application, for requests under one of `hosts` (name:port) alone."""
        activity = Activity(self.connection)
        ledger = Ledger(self.connection, activity)
        patterns = Patterns(self.connection, ledger)
        deliveries = Deliveries(self.connection, ledger, activity)
        reads: dict[str, Answer] = {
            "place": lambda _: self._place(deliveries),
            "records": lambda _: ledger.look(),
            "life": lambda given: ledger.life(_text(given, "key")),
            "activity": lambda _: activity.chart(now()),
            "deliveries": lambda _: deliveries.shown(),
            "read": lambda given: patterns.read(_text(given, "identity")),
        }
        writes: dict[str, Answer] = {
            "claim": lambda given: patterns.claim(_text(given, "identity")),
            "record": lambda given: patterns.record(_text(given, "identity"), _text(given, "outcome")),
            "race": lambda given: patterns.race(_whole(given, "racers")),
            "deliver": lambda given: deliveries.deliver(
                _text(given, "sample"), _whole(given, "times"), at_once=given.get("atOnce") is True
            ),
        }
        routes = [
            Route("/", _page),
            *[Route(f"/api/{name}", self._get(answer)) for name, answer in reads.items()],
            *[Route(f"/api/{name}", self._post(answer), methods=["POST"]) for name, answer in writes.items()],
            Mount("/assets", StaticFiles(directory=ASSETS)),
        ]
        return Starlette(routes=routes, middleware=[Middleware(Guard, hosts=hosts)])

    def _place(self, deliveries: Deliveries) -> dict[str, Any]:
        outputs = self.connection.outputs
        return {
            "name": self.name,
            "table": self.connection.table,
            "where": self.connection.address,
            "writes": self.writes,
            "ledger": "LedgerTableName" in outputs,
            "samples": deliveries.samples() if outputs else [],
        }

    def _get(self, answer: Answer) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            return await _answered(self.connection, answer, dict(request.query_params))

        return endpoint

    def _post(self, answer: Answer) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            if not self.writes:
                refused = OperatorError(
                    "This console only looks.", "Start it with --allow-writes to let it change this table."
                )
                return _refusal(refused)
            try:
                given = await request.json()
            except ValueError:
                return _refusal(OperatorError("The request is not JSON.", status=Exit.USAGE))
            return await _answered(self.connection, answer, given if isinstance(given, dict) else {})

        return endpoint


async def _page(_request: Request) -> Response:
    return FileResponse(ASSETS / "index.html", media_type="text/html")


async def _answered(connection: Connection, answer: Answer, given: dict[str, Any]) -> Response:
    """The answer as JSON, or what went wrong as a sentence with its remedy."""
    try:
        return JSONResponse(await run_in_threadpool(answer, given))
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
