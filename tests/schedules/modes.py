"""The ways of working that are proven, each with what may happen twice in it, and why."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any

from idem import (
    Claim,
    Commit,
    Consumer,
    Delivery,
    DynamoStore,
    Ending,
    Lapsed,
    Outcome,
    Policy,
    Put,
    Retention,
    SqsSource,
    keys,
)
from idem.errors import WriteRefused
from idem.testing import LambdaContext, sqs_event
from tests.schedules.world import BUSINESS, INVOCATION_MS, RECORDS, Worker

OPERATION = "orders.charge"
EVENTS = [sqs_event({"orderId": "o-1"}) for _ in range(8)]
for _number, _event in enumerate(EVENTS):
    _event["Records"][0]["messageId"] = f"message-{_number}"


class Cause(StrEnum):
    """Why work was started, or an effect made, although an earlier attempt had got there."""

    DIED_BEFORE = "the process dies after the claim, before the effect"
    DIED_AFTER = "the process dies after the effect, before it is recorded"
    UNRECORDED = "the table refuses or misses the recording until no time is left"
    STALLED = "the process freezes past its lease and wakes up after another took over"
    UNKNOWN = "the effect is made, its answer is lost, and the work raises"
    ASKED = "the work fails before its effect, and its policy says: try again"
    NOT_STARTED = "the claim is written, but its answer is lost or the process dies: the work never started"


class NotYet(Exception):
    """The error of work that is to be tried again."""


class Never(Exception):
    """The error of work that can never succeed."""


Work = Callable[[Worker, int], Any]
"""Called with the worker, and with how many starts there were before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """A policy and a piece of work. starts, effects: the causes that may start the work, or make its effect, once more.

    held: the causes after which a person decides. final: what its record may be in the end. starts_max: an attempts limit.
    writes: its effects are committed to the table together with the record, exactly once.
    """

    name: str
    title: str
    policy: Policy
    work: Work | None = None
    plan: Callable[[Worker], Commit] | None = None
    starts: AbstractSet[Cause] = frozenset()
    effects: AbstractSet[Cause] = frozenset()
    held: AbstractSet[Cause] = frozenset()
    final: AbstractSet[str] = frozenset({"succeeded"})
    starts_max: int | None = None
    writes: bool = False

    @property
    def clean_starts(self) -> int:
        """How often the work is started when nothing goes wrong around it."""
        return 0 if self.plan else 1 + (Cause.ASKED in self.starts)

    def handle(self, worker: Worker) -> Outcome:
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
        answer = consumer(EVENTS[worker.message.number], LambdaContext(worker, seconds=INVOCATION_MS / 1000))
        worker.acknowledged = not answer["batchItemFailures"]
        return endings[0].outcome

    def _work_of(self, worker: Worker) -> Callable[[Delivery, Claim], Any] | None:
        function = self.work
        if function is None:
            return None

        def work(_delivery: Delivery, _claim: Claim) -> Any:
            earlier = worker.world.start(worker)
            try:
                return function(worker, earlier)
            except Exception:
                worker.raised = True
                raise

        return work

    def _plan_of(self, worker: Worker) -> Callable[[Delivery], Commit] | None:
        function = self.plan
        return None if function is None else lambda _delivery: function(worker)


KEY = keys.field("orderId")
PAYLOAD = {"orderId": "o-1"}
SOURCE = SqsSource(parse=lambda _body: PAYLOAD)  # thousands of times the same


def write_of(worker: Worker) -> Put:
    """A business write that is another item for each attempt, so that two of them can be told from one."""
    return Put(BUSINESS, {"pk": {"S": str(worker)}})


def effect(worker: Worker, _earlier: int) -> str:
    """Work with an effect outside the table. Its result names the attempt."""
    worker.make_effect()
    return str(worker)


def commit(worker: Worker, _earlier: int) -> Commit:
    """Work whose writes are committed with its record."""
    return Commit([write_of(worker)], str(worker))


def refused_commit(worker: Worker, _earlier: int) -> Commit:
    """Work whose own condition can never hold."""
    return Commit([write_of(worker), Put(BUSINESS, {"pk": {"S": "taken"}}, "attribute_exists(pk)")], str(worker))


def not_yet(worker: Worker, earlier: int) -> str:
    """Work that fails the first time it is started, before its effect."""
    if earlier == 0:
        raise NotYet
    return effect(worker, earlier)


def plan(worker: Worker) -> Commit:
    """Writes that are guarded: no claim comes before them."""
    return commit(worker, 0)


def plan_never(_worker: Worker) -> Commit:
    raise Never


def never(_worker: Worker, _earlier: int) -> str:
    raise Never


def always_not_yet(_worker: Worker, _earlier: int) -> str:
    raise NotYet


DIED = frozenset({Cause.DIED_BEFORE, Cause.DIED_AFTER})
REPEATS = DIED | {Cause.UNRECORDED, Cause.STALLED}
AGAIN = REPEATS | {Cause.UNKNOWN}
TWICE = frozenset({Cause.DIED_AFTER, Cause.UNRECORDED, Cause.STALLED, Cause.UNKNOWN})


def policy(**rules: Any) -> Policy:
    return Policy(retention=Retention.QUEUE, **rules)


MODES: Mapping[str, Mode] = {
    mode.name: mode
    for mode in (
        Mode(name="complete", title="claim and complete", work=effect, policy=policy(), starts=AGAIN, effects=TWICE),
        Mode(
            name="hold",
            title="claim and complete, lapsed work held",
            work=effect,
            policy=policy(lapsed=Lapsed.HOLD, permanent=(OSError,)),
            held=REPEATS | {Cause.NOT_STARTED},
            final=frozenset({"succeeded", "failed", "in_progress"}),
        ),
        Mode(
            name="commit",
            title="claim and commit",
            work=commit,
            policy=policy(),
            starts=frozenset({Cause.DIED_BEFORE, Cause.UNRECORDED, Cause.STALLED}),
            writes=True,
        ),
        Mode(name="guard", title="guard", plan=plan, policy=policy(), writes=True),
        Mode(
            name="guard-never",
            title="the plan always fails, for good",
            plan=plan_never,
            policy=policy(permanent=(Never,)),
            final=frozenset({"failed"}),
        ),
        Mode(
            name="wait",
            title="a duplicate waits for the answer",
            work=effect,
            policy=policy(wait=timedelta(seconds=2)),
            starts=AGAIN,
            effects=TWICE,
        ),
        Mode(
            name="transient",
            title="the first start fails, reclaimable",
            work=not_yet,
            policy=policy(transient=(NotYet,)),
            starts=AGAIN | {Cause.ASKED},
            effects=TWICE,
        ),
        Mode(
            name="forget",
            title="the first start fails, forgotten",
            work=not_yet,
            policy=policy(forget=(NotYet,)),
            starts=AGAIN | {Cause.ASKED},
            effects=TWICE,
        ),
        Mode(
            name="permanent",
            title="the work always fails, for good",
            work=never,
            policy=policy(permanent=(Never,)),
            starts=frozenset({Cause.DIED_BEFORE, Cause.UNRECORDED, Cause.STALLED}),
            final=frozenset({"failed"}),
        ),
        Mode(
            name="limit",
            title="the work always fails, two attempts",
            work=always_not_yet,
            policy=policy(transient=(NotYet,), attempts_max=2),
            starts=frozenset({Cause.DIED_BEFORE, Cause.UNRECORDED, Cause.STALLED, Cause.ASKED}),
            held=frozenset({Cause.DIED_BEFORE, Cause.UNRECORDED, Cause.STALLED, Cause.NOT_STARTED}),
            final=frozenset({"failed", "in_progress"}),
            starts_max=2,
        ),
        Mode(
            name="refused",
            title="a condition of the work's own writes fails",
            work=refused_commit,
            policy=policy(permanent=(WriteRefused,)),
            starts=frozenset({Cause.DIED_BEFORE, Cause.UNRECORDED, Cause.STALLED}),
            final=frozenset({"failed"}),
        ),
    )
}
"""Every mode by its name."""
