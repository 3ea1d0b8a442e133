"""What goes over the wire: a client that keeps each request and the engine's raw answer to it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One request and its answer. Times are epoch ms with fractions; `error` is the engine's code, None if it agreed."""

    operation: str
    request: Mapping[str, Any]
    response: Mapping[str, Any]
    error: str | None
    started: float
    ended: float

    def as_json(self) -> dict[str, Any]:
        return {
            "operation": self.operation,
            "request": dict(self.request),
            "response": dict(self.response),
            "error": self.error,
            "started": self.started,
            "ended": self.ended,
        }


class ExchangeKeeper:
    """A DynamoDB client in front of another one. `exchanges` is the list of what was sent, in order."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.exchanges: list[Exchange] = []

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._client, name)
        return self._keeping(name, found) if callable(found) and name in OPERATIONS else found

    def _keeping(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def call_and_keep(**request: Any) -> Any:
            started = time.time() * 1000
            try:
                response = call(**request)
            except Exception as error:
                answer: Any = getattr(error, "response", None)
                shown: dict[str, Any] = _plain(answer) if isinstance(answer, Mapping) else {"message": str(error)}
                code = str(shown.get("Error", {}).get("Code") or type(error).__name__)
                self._keep(name, request, shown, code, started)
                raise
            self._keep(name, request, _plain(response), None, started)
            return response

        return call_and_keep

    def _keep(
        self, name: str, request: Mapping[str, Any], response: Mapping[str, Any], error: str | None, started: float
    ) -> None:
        self.exchanges.append(
            Exchange(
                operation=OPERATIONS[name],
                request=request,
                response=response,
                error=error,
                started=started,
                ended=time.time() * 1000,
            )
        )


OPERATIONS = {
    "put_item": "PutItem",
    "get_item": "GetItem",
    "update_item": "UpdateItem",
    "delete_item": "DeleteItem",
    "transact_write_items": "TransactWriteItems",
    "batch_execute_statement": "BatchExecuteStatement",
    "batch_get_item": "BatchGetItem",
}


def _plain(response: Mapping[str, Any]) -> dict[str, Any]:
    """The engine's answer without botocore's notes on the transport, but with the HTTP status."""
    kept = {name: value for name, value in response.items() if name != "ResponseMetadata"}
    status = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
    return kept if status is None else {"HTTPStatusCode": status, **kept}
