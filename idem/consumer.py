"""A consumer: event -> deliveries -> keys -> claims -> work -> records -> outcomes -> Lambda's answer.

How deliveries are claimed, run and recorded is in `batch.py`; the steps around one piece of work are in `flow.py`.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from idem.batch import RECORD_WITHIN, Batch
from idem.canonical import request_hash
from idem.clock import Clock, SystemClock, new_token
from idem.delivery import (
    Arrival,
    Delivery,
    Ending,
    Rejected,
    Source,
    Unavailable,
    Unreadable,
)
from idem.errors import ConfigurationError, InputRefused, MissingKeyPart
from idem.flow import Flow
from idem.keys import KeyRule, check_operation, make_key
from idem.policy import Policy
from idem.record import Claim, Key
from idem.store import Store
from idem.tasks import Result, Task

RESERVE = timedelta(
    milliseconds=500
)  # work that starts later than this before the invocation's end could not be recorded

Work = Callable[[Delivery, Claim], Any]
Plan = Callable[[Delivery], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Consumer:
    """Runs `work` once for each key, and is the Lambda handler: `consumer(event, context)`.

    operation: the name of the kind of work; part of every key, so it outlives any renaming of code.
    source: what reads the event and answers it. key: which deliveries are the same work. store: where records are kept.
    work: called with the delivery and the claim; what it returns is the result, or a Commit to write in one transaction.
    plan: instead of work, for effects that are only DynamoDB writes: called with the delivery, without a claim, and returns the
    Commit. One request does it all. It must have no effect of its own, because it may be called for a duplicate.
    concurrency: how many deliveries of a batch are worked on at once, in threads, or as tasks if the work is a coroutine
    function; never two of one ordered group.
    record_within: how long work that is done may stay unrecorded while others of its batch run, so that outcomes travel
    together. A process that is killed in between leaves all of them unrecorded: zero records each before the next work starts.
    check: what of the payload must be equal whenever the key is; a difference is refused.
    observe: told how each delivery ended. reserve: no work is started later than this before the invocation's end.
    """

    operation: str
    source: Source
    key: KeyRule
    policy: Policy
    store: Store
    work: Work | None = None
    plan: Plan | None = None
    check: Callable[[Delivery], object] | None = None
    observe: Callable[[Ending], None] | None = None
    reserve: timedelta = RESERVE
    concurrency: int = 1
    record_within: timedelta = RECORD_WITHIN
    clock: Clock = field(default_factory=SystemClock)
    token: Callable[[], str] = new_token
    _flow: Flow = field(init=False, repr=False, compare=False)
    _is_async: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_operation(self.operation)
        if (self.work is None) == (self.plan is None):
            raise ConfigurationError(f"{self.operation}: give either work or plan, and not both")
        if self.concurrency < 1:
            raise ConfigurationError(f"{self.operation}: concurrency is {self.concurrency}, it must be at least 1")
        flow = Flow(
            operation=self.operation,
            store=self.store,
            policy=self.policy,
            clock=self.clock,
            token=self.token,
            reserve=self.reserve,
        )
        object.__setattr__(self, "_flow", flow)  # made once, because every message would wait for it
        object.__setattr__(self, "_is_async", inspect.iscoroutinefunction(self.work or self.plan))

    def __call__(self, event: Any, context: Any = None) -> Any:
        """Lambda's entry. Raises WrongEvent for an event that is not this source's."""
        ends_at = self._ends_at(context)
        arrivals = self.source.read(event, self.clock.now_ms())
        return self.source.reply(self._run_all(arrivals, ends_at), self.clock.now_ms())

    def _run_all(self, arrivals: Sequence[Arrival], ends_at: int | None) -> list[Ending]:
        """One ending for each arrival, in order."""
        tasks = self._tasks(arrivals, ends_at)
        batch = Batch(
            self._flow,
            plans=self.plan is not None,
            ends_at=ends_at,
            reserve=self.reserve,
            record_within=self.record_within,
        )
        if self._is_async:
            import asyncio  # noqa: PLC0415 - importing it takes longer than most consumers' whole start

            asyncio.run(batch.work_async(tasks, self._await, self.concurrency))
        else:
            batch.work(tasks, self._call, self.concurrency)
        endings = [self._ending(task) for task in tasks]
        for ending in endings:
            self._tell(ending)
        return endings

    def _tasks(self, arrivals: Sequence[Arrival], ends_at: int | None) -> list[Task]:
        """A task for each arrival: with a request for its key, a twin in the same batch, or the outcome of bad input."""
        first: dict[tuple[Key, str | None], Task] = {}
        starts_now = self.policy.starts_max is None or len(arrivals) == 1
        tasks: list[Task] = []
        for arrival in arrivals:
            task = Task(arrival=arrival, started=self.clock.now_ms())
            tasks.append(task)
            if isinstance(arrival, Unreadable):
                bad_input = isinstance(arrival.error, InputRefused)
                refused = Rejected(arrival.error, recorded=False)
                task.outcome = refused if bad_input else Unavailable(arrival.error, ran=False)
                continue
            try:
                task.key, checked = self.key_of(arrival), self._request_hash(arrival)
            except InputRefused as error:
                task.outcome = Rejected(error, recorded=False)
                continue
            task.twin = first.get((task.key, checked))
            first.setdefault((task.key, checked), task)
            task.wanted = self._flow.request(
                task.key, ends_at=ends_at, request_hash=checked, origin=arrival.origin, starts_now=starts_now
            )
        return tasks

    def _call(self, task: Task) -> Result:
        try:
            return Result(self._started(task))
        except Exception as error:  # noqa: BLE001 - the user's work may raise anything; its policy says what that means
            return Result(error=error)

    async def _await(self, task: Task) -> Result:
        try:
            return Result(await self._started(task))
        except Exception as error:  # noqa: BLE001 - as above
            return Result(error=error)

    def _started(self, task: Task) -> Any:
        """Call the user's function: its value, or the coroutine to await."""
        delivery = task.arrival
        if isinstance(delivery, Unreadable):
            raise AssertionError("an unreadable delivery has its outcome, and is never run")
        if self.plan is not None:
            return self.plan(delivery)
        if self.work is None or task.claim is None:
            raise AssertionError("work runs under a claim")
        return self.work(delivery, task.claim)

    def _ending(self, task: Task) -> Ending:
        if task.outcome is None:
            raise AssertionError(f"delivery {task.arrival.id} was left without an outcome")
        return Ending(
            operation=self.operation,
            arrival=task.arrival,
            outcome=task.outcome,
            key=task.key,
            started=task.started,
            ended=max(task.started, task.ended),
        )

    def key_of(self, delivery: Delivery) -> Key:
        """The key of a delivery. Raises InputRefused if it has none."""
        return make_key(self.operation, _ask("key", self.key, delivery))

    def _request_hash(self, delivery: Delivery) -> str | None:
        return request_hash(_ask("check", self.check, delivery)) if self.check else None

    def _ends_at(self, context: Any) -> int | None:
        """When this invocation ends, in epoch ms; None without a Lambda context."""
        remaining = getattr(context, "get_remaining_time_in_millis", None)
        return self.clock.now_ms() + int(remaining()) if remaining else None

    def _tell(self, ending: Ending) -> None:
        """Tell the observer. What it raises is logged: the outcome is recorded, and the rest of the batch must be answered."""
        if self.observe:
            try:
                self.observe(ending)
            except Exception:
                logging.getLogger(__name__).exception("the observer of %s failed", self.operation)


def _ask(name: str, rule: Callable[[Delivery], Any], delivery: Delivery) -> Any:
    """Ask a rule of the user's. What it raises is an unusable delivery, and must not take the batch with it."""
    try:
        return rule(delivery)
    except InputRefused:
        raise
    except Exception as error:
        raise MissingKeyPart(f"the {name} rule failed on delivery {delivery.id}: {error!r}") from error
