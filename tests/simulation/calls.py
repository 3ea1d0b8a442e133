"""The table as one environment sees it: each call is a point at which everything can happen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError, EndpointConnectionError, ReadTimeoutError

from tests.schedules.faults import BATCH, URL
from tests.schedules.table_model import cancelled, refused
from tests.schedules.worker import OPERATIONS
from tests.simulation import catalogue as kinds
from tests.simulation.fibers import Fiber, current
from tests.simulation.parts import Invocation

if TYPE_CHECKING:
    from tests.simulation.environment import Environment
    from tests.simulation.world import World

SEND_MS, ANSWER_MS, TIMEOUT_MS, SLOW_MS = 3, 2, 1_000, 2_000
TRANSACTION = "transact_write_items"
HARMLESS = frozenset({"none", "slow", "slow answer", "to the brink", "answer at the brink"})
CODES = {
    "throttled": ("ProvisionedThroughputExceededException", 400),
    "conflict": ("TransactionConflictException", 400),
    "denied": ("AccessDeniedException", 400),
    "server error": ("InternalServerError", 500),
}
REASONS = {"throttled": "ThrottlingError", "conflict": "TransactionConflict"}  # of one action of a transaction
STATEMENT_CODES = {
    "throttled": "ThrottlingError",
    "conflict": "TransactionConflict",
    "server error": "InternalServerError",
}


class Table:
    """A boto3 client for the code under test."""

    def __init__(self, world: World, environment: Environment) -> None:
        self._world = world
        self._environment = environment
        self._faults = kinds.FAULTS[world.settings.rate]
        self.recordings: dict[Fiber, list[list[float]]] = {}  # when a fiber was sending outcomes, one after the other
        self._last: dict[Fiber, tuple[bool, bool, str | None]] = {}

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        if operation not in OPERATIONS:
            raise AttributeError(operation)

        def call(**request: Any) -> Any:
            return self._call(operation, request)

        return call

    def slept(self, fiber: Fiber, milliseconds: float) -> None:
        """A pause between two calls: of a recording that is repeated, of a request that was throttled, or of waiting."""
        recording, harmed, key = self._last.get(fiber, (False, False, None))
        now = self._environment.hub.now
        if recording:
            self.recordings.setdefault(fiber, []).append([now, now + milliseconds])
        elif not harmed:
            fiber.owner.waits.append((now, now + milliseconds, key))

    def _call(self, operation: str, request: Mapping[str, Any]) -> Any:
        fiber = current()
        self._environment.still_lives()
        invocation: Invocation = fiber.owner
        point = f"{invocation}.call{invocation.calls}"
        invocation.calls += 1
        self._world.tally.calls += 1
        fault = "none" if self._world.healthy else self._world.pick(point, self._faults)
        recording = self._world.referee.sent(self._environment, invocation, operation, request, fault)
        key = _key(request)
        last = self._last.get(fiber)
        looks_again = (
            operation == "get_item" and last is not None and last[0] and last[2] == key
        )  # at what refused a recording
        self._last[fiber] = (recording, fault not in HARMLESS, key)
        if fault != "none":
            self._world.note(invocation, f"{operation} {key or ''}: FAULT {fault}")
        if fault not in HARMLESS:
            invocation.troubled.append(fault)
        if not recording and not looks_again:
            return self._happens(point, operation, request, fault, invocation)
        span = [self._environment.hub.now, float("inf")]
        self.recordings.setdefault(fiber, []).append(span)
        try:
            return self._happens(point, operation, request, fault, invocation)
        finally:
            span[1] = self._environment.hub.now

    def _happens(
        self, point: str, operation: str, request: Mapping[str, Any], fault: str, invocation: Invocation
    ) -> Any:
        pause = self._environment.hub.pause
        if fault == "none":
            pause(SEND_MS)
            answer = self._apply(operation, request, invocation)
            pause(ANSWER_MS)
            return answer
        if fault in CODES:
            pause(SEND_MS)
            return self._refused(point, operation, request, fault, invocation)
        match fault:
            case "crash before":
                pause(1)
                self._environment.crash()
            case "crash after":
                pause(SEND_MS)
                self._unheard(operation, request, invocation)
                self._environment.crash()
            case "lost":
                pause(SEND_MS)
                self._unheard(operation, request, invocation)
                pause(TIMEOUT_MS)
            case "late":
                self._late(point, operation, request, invocation)
                pause(TIMEOUT_MS)
            case "unsent":
                pause(SEND_MS)
                raise EndpointConnectionError(endpoint_url=URL)
            case "repeated":
                pause(SEND_MS)
                self._unheard(operation, request, invocation)
                pause(TIMEOUT_MS)
                return self._apply(operation, request, invocation)
            case "slow" | "to the brink" | "stall":
                self._delay(fault, invocation)
                return self._apply(operation, request, invocation)
            case _:
                return self._answer_late(fault, operation, request, invocation)
        raise ReadTimeoutError(endpoint_url=URL)

    def _answer_late(self, fault: str, operation: str, request: Mapping[str, Any], invocation: Invocation) -> Any:
        self._environment.hub.pause(SEND_MS)
        try:
            answer = self._apply(operation, request, invocation)
        except ClientError:
            self._delay(fault, invocation)
            raise
        self._delay(fault, invocation)
        return answer

    def _delay(self, fault: str, invocation: Invocation) -> None:
        hub, ends_at = self._environment.hub, invocation.ends_at
        if fault.startswith("slow"):
            hub.pause(SLOW_MS)
        elif "stall" in fault:
            self._world.stall(self._environment, invocation)
        else:
            reserve = self._world.settings.reserve
            end = ends_at if ends_at is not None else invocation.started_at + self._world.settings.horizon
            hub.pause(max(SEND_MS, end - reserve / 2 - 100 - hub.now))

    def _late(self, point: str, operation: str, request: Mapping[str, Any], invocation: Invocation) -> None:
        """The request is on its way somewhere, and is applied when nobody waits for it any more."""
        label = self._world.pick(f"{point}.late", kinds.LATENESS)
        lease = self._world.settings.horizon + self._world.settings.margin + 2_000
        by = {"40 ms": 40, "3 s": 3_000, "a lease": lease}[label]
        hub = self._environment.hub
        hub.at(hub.now + by, lambda: self._unheard(operation, request, invocation))

    def _refused(
        self, point: str, operation: str, request: Mapping[str, Any], fault: str, invocation: Invocation
    ) -> Any:
        if operation == BATCH and fault in STATEMENT_CODES:
            which = self._world.pick(f"{point}.which", kinds.WHICH)
            if which != "all":
                return self._partly(which, STATEMENT_CODES[fault], operation, request, invocation)
        if operation == TRANSACTION and fault in REASONS:
            actions = len(request["TransactItems"])
            raise cancelled([{"Code": "None"}] * (actions - 1) + [{"Code": REASONS[fault], "Message": "try again"}])
        code, status = CODES[fault]
        raise refused(operation, code, "made up", status=status)

    def _partly(
        self, which: str, code: str, operation: str, request: Mapping[str, Any], invocation: Invocation
    ) -> Mapping[str, Any]:
        """The answer to a batch of which one statement was not applied: HTTP 200, and an error of its own."""
        statements = request["Statements"]
        index = 0 if which == "first" else len(statements) - 1
        others = {"Statements": [one for number, one in enumerate(statements) if number != index]}
        answers = list(self._apply(operation, others, invocation)["Responses"]) if others["Statements"] else []
        answers.insert(index, {"Error": {"Code": code, "Message": "made up"}})
        return {"Responses": answers}

    def _apply(self, operation: str, request: Mapping[str, Any], invocation: Invocation) -> Any:
        world = self._world
        world.writer = invocation
        if world.settings.ttl:
            world.delete_what_expired()
        if not world.notes:
            return getattr(world.engine, operation)(**request)
        try:
            answer = getattr(world.engine, operation)(**request)
        except ClientError as error:
            world.note(invocation, f"{operation} {_key(request) or ''}: refused, {error.response['Error']['Code']}")
            raise
        errors = [
            one["Error"]["Code"] for one in answer.get("Responses", ()) if isinstance(one, dict) and "Error" in one
        ]
        world.note(invocation, f"{operation} {_key(request) or ''}: {errors or 'ok'}")
        return answer

    def _unheard(self, operation: str, request: Mapping[str, Any], invocation: Invocation) -> None:
        try:
            self._apply(operation, request, invocation)
        except ClientError:
            return


def _key(request: Mapping[str, Any]) -> str | None:
    """The key that a single request is about."""
    item = request.get("Key") or request.get("Item")
    return None if item is None else str(item["pk"]["S"]).rpartition("#")[2]
