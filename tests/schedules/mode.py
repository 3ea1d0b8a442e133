"""A way of working that is proven: a policy, a piece of work, and what may happen twice in it, and why."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any

from idem import (
    Claim,
    Commit,
    Consumer,
    Delivery,
    DynamoStore,
    Ending,
    Lapsed,
    Policy,
    Put,
    SqsSource,
    keys,
)
from idem.delivery import Arrival
from idem.testing import LambdaContext, sqs_event
from tests.schedules.worker import INVOCATION_MS, Part, Worker
from tests.schedules.world import BUSINESS, RECORDS

OPERATION = "orders.charge"


@cache
def event_of(orders: Sequence[str], number: int, receives: int) -> Any:
    """The event of a message. Every second message has its orders the other way round."""
    order_of_orders = orders if number % 2 == 0 else orders[::-1]
    event = sqs_event(*({"orderId": order} for order in order_of_orders), receive_count=receives)
    for position, record in enumerate(event["Records"]):
        record["messageId"] = f"message-{number}-{position}"
    return event


@cache
def parsed(body: bytes) -> Any:
    return json.loads(body)


class Cause(StrEnum):
    """Why work was started, or an effect made, although an earlier attempt had got there."""

    DIED_BEFORE = "the process dies after the claim, before the effect"
    DIED_AFTER = "the process dies after the effect, before it is recorded"
    UNRECORDED = "the table refuses or misses the recording until no time is left"
    STALLED = "the process freezes past its lease and wakes up after another took over"
    UNKNOWN = "the effect is made, its answer is lost, and the work raises"
    ASKED = "the work fails before its effect, and its policy says: try again"
    NOT_STARTED = "the claim is written, but its answer is lost or the process dies: the work never started"
    COUNTED = "the start is counted, and the process dies or freezes before the work starts"
    FORGOTTEN = "the delivery comes after the record's life"


class NotYet(Exception):
    """The error of work that is to be tried again."""


class Never(Exception):
    """The error of work that can never succeed."""


Work = Callable[[Part, int], Any]
"""Called with the attempt, and with how many starts there were before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """A policy and a piece of work. starts, effects: the causes that may start the work, or make its effect, once more.

    held: the causes after which a person decides. final: what its record may be in the end. starts_max: an attempts limit.
    writes: its effects are committed to the table together with the record, exactly once. expired: a record of an earlier life
    is still there.
    """

    name: str
    title: str
    policy: Policy
    work: Work | None = None
    plan: Callable[[Part], Commit] | None = None
    orders: tuple[str, ...] = ("o-1",)
    starts: AbstractSet[Cause] = frozenset()
    effects: AbstractSet[Cause] = frozenset()
    held: AbstractSet[Cause] = frozenset()
    final: AbstractSet[str] = frozenset({"succeeded"})
    starts_max: int | None = None
    writes: bool = False
    expired: bool = False

    @property
    def clean_starts(self) -> int:
        """How often the work is started when nothing goes wrong around it."""
        return 0 if self.plan else 1 + (Cause.ASKED in self.starts)

    @property
    def counts_starts(self) -> bool:
        """Whether each start is counted by itself, in a call between the claim and the work."""
        return self.starts_max is not None or self.policy.lapsed is Lapsed.HOLD

    @property
    def life_ms(self) -> float:
        """How long an outcome is remembered."""
        return math.inf if self.policy.retention is None else self.policy.retention.total_seconds() * 1000

    def handle(self, worker: Worker) -> None:
        """One receive: a whole invocation of the real consumer, in the worker's process."""
        endings: list[Ending] = []
        consumer = Consumer(
            operation=OPERATION,
            source=SOURCE,
            key=KEY,
            work=self._work_of(worker),
            plan=self._plan_of(worker),
            policy=self.policy,
            store=DynamoStore(worker, RECORDS, clock=worker),
            observe=endings.append,
            clock=worker,
            token=worker.token,
        )
        event = event_of(self.orders, worker.message.number, worker.message.receives)
        answer = consumer(event, LambdaContext(worker, seconds=INVOCATION_MS / 1000))
        failed = {one["itemIdentifier"] for one in answer["batchItemFailures"]}
        for ending in endings:
            part = part_of(worker, ending.arrival)
            part.outcome, part.acknowledged = ending.outcome, ending.arrival.id not in failed

    def _work_of(self, worker: Worker) -> Callable[[Delivery, Claim], Any] | None:
        function = self.work
        if function is None:
            return None

        def work(delivery: Delivery, _claim: Claim) -> Any:
            part = part_of(worker, delivery)
            earlier = part.worker.world.start(part)
            try:
                return function(part, earlier)
            except Exception:
                part.raised = True
                raise
            finally:
                part.worked_until = part.worker.world.now

        return work

    def _plan_of(self, worker: Worker) -> Callable[[Delivery], Commit] | None:
        function = self.plan
        return None if function is None else lambda delivery: function(part_of(worker, delivery))


KEY = keys.field("orderId")
SOURCE = SqsSource(parse=parsed)


def part_of(worker: Worker, arrival: Arrival) -> Part:
    assert isinstance(arrival, Delivery)
    return worker.parts[arrival.payload["orderId"]]


def write_of(part: Part) -> Put:
    """A business write that is another item for each attempt, so that two of them can be told from one."""
    return Put(BUSINESS, {"pk": {"S": str(part)}, "order": {"S": part.order}})


def effect(part: Part, _earlier: int) -> str:
    """Work with an effect outside the table. Its result names the attempt."""
    part.make_effect()
    return str(part)


def commit(part: Part, _earlier: int) -> Commit:
    """Work whose writes are committed with its record."""
    return Commit([write_of(part)], str(part))


def refused_commit(part: Part, _earlier: int) -> Commit:
    """Work whose own condition can never hold."""
    return Commit([write_of(part), Put(BUSINESS, {"pk": {"S": "taken"}}, "attribute_exists(pk)")], str(part))


def not_yet(part: Part, earlier: int) -> str:
    """Work that fails the first time it is started, before its effect."""
    if earlier == 0:
        raise NotYet
    return effect(part, earlier)


def plan(part: Part) -> Commit:
    """Writes that are guarded: no claim comes before them."""
    return commit(part, 0)


def plan_never(_part: Part) -> Commit:
    raise Never


def never(_part: Part, _earlier: int) -> str:
    raise Never


def always_not_yet(_part: Part, _earlier: int) -> str:
    raise NotYet
