"""Consumers for tests: an SQS consumer on a memory store, and what it did."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from idem import Claim, Consumer, Delivery, Ending, MemoryStore, Policy, SqsSource, Store, keys
from idem.delivery import Outcome
from idem.record import Record
from idem.testing import LambdaContext, sqs_event
from tests.idem.builders import KEY
from tests.idem.clocks import TestClock

DAY = timedelta(days=1)


class Final(Exception):
    """An error that the policies of these tests call permanent."""


class Passing(Exception):
    """An error that the policies of these tests call transient."""


POLICY = Policy(retention=DAY, permanent=(Final,), forget=(KeyError,), transient=(Passing,))


class Bench:
    """A consumer with everything that a test looks at: runs, endings, records. `work` gets the payload and the claim."""

    def __init__(
        self,
        clock: TestClock,
        work: Callable[[Any, Claim], Any] = lambda payload, _claim: payload,
        *,
        store: Store | None = None,
        policy: Policy | None = None,
        **more: Any,
    ) -> None:
        self.clock = clock
        self.memory = MemoryStore(clock)
        self.ran: list[Any] = []
        self.claims: list[Claim] = []
        self.endings: list[Ending] = []
        self._work = work
        defaults: dict[str, Any] = {
            "operation": "orders.fulfil",
            "source": SqsSource(clock=clock),
            "key": keys.field("id"),
            "work": self._run,
            "policy": policy or Policy(retention=DAY),
            "store": store or self.memory,
            "observe": self.endings.append,
            "clock": clock,
        }
        self.consumer = Consumer(**defaults | more)

    def _run(self, delivery: Delivery, claim: Claim) -> Any:
        self.ran.append(delivery.payload["id"])
        self.claims.append(claim)
        return self._work(delivery.payload, claim)

    def __call__(self, *payloads: Any, seconds: float | None = None, **more: Any) -> list[Outcome]:
        """Deliver a batch; how each message ended."""
        self.endings.clear()
        context = LambdaContext(self.clock, seconds=seconds) if seconds is not None else None
        answer = self.consumer(sqs_event(*payloads, **more), context)
        reported = [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]
        undone = [ending.arrival.id for ending in self.endings if type(ending.outcome).__name__ != "Done"]
        assert reported == undone
        return [ending.outcome for ending in self.endings]

    def one(self, payload: Any = None, **more: Any) -> Outcome:
        (outcome,) = self(payload or {"id": "o-1"}, **more)
        return outcome


def stored(bench: Bench) -> Record:
    """The record of KEY, which must be there."""
    found = bench.memory.get(KEY)
    assert found is not None
    return found


def raising(error: Exception) -> Callable[[Any, Claim], Any]:
    def work(_payload: Any, _claim: Claim) -> Any:
        raise error

    return work
