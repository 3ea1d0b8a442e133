"""An API whose clients send an Idempotency-Key, and requests to it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from idem import Consumer, HttpResult, MemoryStore, Policy, keys
from idem.sources.idempotency_key import IdempotencyKeySource, caller_at, same_request
from idem.testing import LambdaContext, ManualClock

KEY = "8e03978e-40d5-43e8-bc93-6894a57f9324"


class NoFunds(Exception):
    pass


class Closed(Exception):
    pass


def post(
    body: Any = None, *, key: str | None = KEY, caller: str | None = "ada", path: str = "/transfers", **event: Any
) -> dict[str, Any]:
    """A request through an HTTP API that has checked a token."""
    claims = {"sub": caller} if caller is not None else {}
    return {
        "version": "2.0",
        "rawPath": path,
        "rawQueryString": "",
        "headers": {"content-type": "application/json"} | ({"idempotency-key": key} if key is not None else {}),
        "requestContext": {
            "http": {"method": "POST", "path": path},
            "requestId": "r-1",
            "authorizer": {"jwt": {"claims": claims}},
        },
        "body": json.dumps(body if body is not None else {"amount": 5}),
        "isBase64Encoded": False,
    } | event


@dataclass
class Api:
    clock: ManualClock = field(default_factory=ManualClock)
    ran: list[Any] = field(default_factory=list)
    errors: list[Exception] = field(default_factory=list)
    check: Any = same_request  # as the consumer of an application would name it
    result: Any = field(default_factory=lambda: HttpResult(201, {"id": "tr_1"}, {"location": "/transfers/tr_1"}))

    def __post_init__(self) -> None:
        self.store: Any = MemoryStore(self.clock)

    def __call__(self, event: Any) -> dict[str, Any]:
        consumer = Consumer(
            operation="transfers.create",
            source=IdempotencyKeySource(
                caller=caller_at("authorizer", "jwt", "claims", "sub"), failures={"NoFunds": 402}
            ),
            key=keys.event_id(),
            check=self.check,
            work=self.work,
            policy=Policy(retention=timedelta(hours=24), permanent=(NoFunds, Closed)),
            store=self.store,
            clock=self.clock,
        )
        answer: dict[str, Any] = consumer(event, LambdaContext(self.clock))
        return answer

    def work(self, delivery: Any, _claim: Any) -> Any:
        self.ran.append(delivery.payload)
        if self.errors:
            raise self.errors.pop(0)
        return self.result


def replayed(answer: dict[str, Any]) -> bool:
    return bool(answer["headers"].get("idempotent-replayed") == "true")
