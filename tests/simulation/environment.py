"""An environment of the function: a process with a clock, a client of the table and the real consumer in it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from idem import Consumer, DynamoStore, KinesisSource, SqsSource, WebhookSource, keys, once, schemes
from idem.dynamo.statements import Together
from idem.recorder import BUSY_MS
from idem.sources.dead_letters import DeadLetters
from idem.sources.invoke import InvokeSource
from tests.simulation.calls import Table
from tests.simulation.fibers import Died, Fiber, Process, current
from tests.simulation.parts import Invocation
from tests.simulation.performing import Performer
from tests.simulation.threads import beside

if TYPE_CHECKING:
    from tests.simulation.world import World

OPERATION = "sim"
SECRET = "whsec_simulation"
RECORDS = "records"
LOOKS = 16  # who looks every millisecond for long, looks less often: a share of the time that has passed


class EnvironmentClock:
    """The clock of one environment's host."""

    def __init__(self, environment: Environment, skew_ms: float) -> None:
        self._hub = environment.hub
        self._environment = environment
        self._looking: dict[
            Fiber, tuple[float, float]
        ] = {}  # since when a fiber looks again and again, and its last look
        self.skew_ms = skew_ms

    def now_ms(self) -> int:
        return int(self._hub.now + self.skew_ms)

    def sleep_ms(self, milliseconds: float) -> None:
        fiber = current()
        self._environment.table.slept(fiber, milliseconds)
        since, last = self._looking.get(fiber, (self._hub.now, 0))
        if last != self._hub.now:
            since = self._hub.now
        coarse = (self._hub.now - since) / LOOKS if milliseconds <= BUSY_MS else 0
        self._hub.pause(max(0, milliseconds, coarse))
        self._looking[fiber] = since, self._hub.now

    async def pause_ms(self, milliseconds: float) -> None:
        self._environment.table.slept(current(), milliseconds)
        await asyncio.sleep(max(0, milliseconds) / 1000)

    def jitter(self) -> float:
        return 0.5

    def later(self, milliseconds: float, action: Callable[[], None]) -> Callable[[], None]:
        """A timer of the process: it fires in a fiber of its own, also in a later invocation."""
        fiber = current()
        timer = self._environment.spawn(action, fiber.owner, max(0, milliseconds))

        def call_off() -> None:
            if not timer.begun and timer.sleeps is not None:
                timer.sleeps.call_off()

        return call_off


class Context:
    """Lambda's context object."""

    aws_request_id = "request"
    function_name = "function"

    def __init__(self, invocation: Invocation, hub: Any) -> None:
        self._invocation = invocation
        self._hub = hub

    def get_remaining_time_in_millis(self) -> int:
        if self._invocation.ends_at is None:
            raise AssertionError("an invocation without an end has no context")
        return max(0, int(self._invocation.ends_at - self._hub.now))


class Environment(Process):
    """One process: it works on one invocation at a time, and is frozen in between."""

    def __init__(self, world: World, number: int) -> None:
        super().__init__(world.hub)
        self.world = world
        self.number = number
        self.busy: Invocation | None = None
        self.clock = EnvironmentClock(self, world.skew_of(number))
        self.table = Table(world, self)
        self.frozen_until: float = 0
        self.frozen_spans: list[list[float]] = []
        self._tokens = 0
        self._performer = Performer(world, self)
        self._handler = self._make()

    def __str__(self) -> str:
        return f"e{self.number}"

    def token(self) -> str:
        fiber = current()
        self._tokens += 1
        token = f"{self.number:08x}{self._tokens:024x}"
        self.world.referee.token_drawn(token, fiber.owner)
        return token

    def handle(self, event: Any, invocation: Invocation) -> Any:
        """What the function's handler answers. Raises what leaves it."""
        return self._handler(event, invocation)

    def _context(self, invocation: Invocation) -> Context | None:
        return None if invocation.ends_at is None else Context(invocation, self.hub)

    def _make(self) -> Callable[[Any, Invocation], Any]:
        settings = self.world.settings
        together = Together.SINGLY if settings.singly else Together.STATEMENTS
        store = DynamoStore(self.table, RECORDS, clock=self.clock, together=together)
        if settings.source == "once":
            return self._once(store)
        wanted: dict[str, Any] = {
            "operation": OPERATION,
            "source": self._source(),
            "key": keys.event_id() if settings.source == "webhook" else keys.field("k"),
            "policy": settings.policy,
            "store": store,
            "check": _content if settings.check else None,
            "reserve": timedelta(milliseconds=settings.reserve),
            "concurrency": settings.concurrency,
            "record_within": timedelta(milliseconds=settings.record_within),
            "clock": self.clock,
            "token": self.token,
            "beside": beside,
        }
        name = "plan" if settings.mode == "guard" else "work"
        wanted[name] = getattr(self._performer, f"{name}_async" if settings.is_async else name)
        consumer = Consumer(**wanted)
        return lambda event, invocation: consumer(event, self._context(invocation))

    def _source(self) -> Any:
        settings = self.world.settings
        match settings.source:
            case "stream":
                return KinesisSource()
            case "webhook":
                return WebhookSource(schemes.stripe(), secrets=lambda: [SECRET])
            case "invoke":
                return InvokeSource()
            case _:
                return self._queue_source()

    def _queue_source(self) -> SqsSource:
        settings = self.world.settings
        queue = self.world.sender
        url = f"https://sqs.test/q{'.fifo' if settings.source == 'fifo' else ''}"
        options: dict[str, Any] = {"clock": self.clock}
        if settings.moves:
            options |= {"client": queue, "queue_url": url}
        if settings.dead_letters:
            options["dead_letters"] = DeadLetters(queue, url)
        return SqsSource(**options)

    def _once(self, store: DynamoStore) -> Callable[[Any, Invocation], Any]:
        settings = self.world.settings
        made = once(
            operation=OPERATION,
            key=keys.field("k"),
            store=store,
            policy=settings.policy,
            check=_argument if settings.check else None,
            claim_as="claim",
            clock=self.clock,
            token=self.token,
        )
        if settings.is_async:
            return self._called_async(made(self._performer.function_async))
        function = made(self._performer.function)

        def handle(event: Mapping[str, Any], invocation: Invocation) -> Any:
            context = self._context(invocation)
            call: Any = function.within(context) if invocation.call == "within" and context else function
            return call(k=event["k"], c=event["c"])

        return handle

    def _called_async(self, function: Any) -> Callable[[Any, Invocation], Any]:
        def handle(event: Mapping[str, Any], invocation: Invocation) -> Any:
            context = self._context(invocation)

            async def call() -> Any:
                chosen = function.within(context) if invocation.call == "within" and context else function
                running = chosen(k=event["k"], c=event["c"])
                if invocation.call.startswith("wait_for"):
                    seconds = {"wait_for 4 ms": 0.004, "wait_for 30 ms": 0.03, "wait_for 2 s": 2.0}[invocation.call]
                    return await asyncio.wait_for(running, seconds)
                return await running

            return asyncio.run(call())

        return handle

    def stand_still(self, until: float) -> None:
        """The host stands still: nothing of the process goes on before `until`."""
        self.frozen_until = until
        self.frozen_spans.append([self.hub.now, until])
        self.freeze()
        self.hub.at(until, self.thaw)

    def crash(self) -> None:
        """The process dies in the middle of whatever it does."""
        self.world.environment_died(self)
        self.die()
        raise Died


def _content(delivery: Any) -> Any:
    payload = delivery.payload
    return payload["data"]["object"]["c"] if "data" in payload else payload["c"]


def _argument(delivery: Any) -> Any:
    return [str(delivery.payload["c"])]
