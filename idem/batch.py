"""One invocation's deliveries: claimed together, worked on in order, recorded together.

Deliveries go through in chunks of at most `CHUNK` different keys. A chunk's claims travel in one call to the store and so do
its outcomes. An outcome is not kept back for long: it is recorded when it is as old as the consumer's `record_within`, beside
whatever runs then, and before the next work starts if the next delivery was delivered before (it may be what killed the process
last time) or belongs to an ordered group.

A lane is a sequence of tasks that are worked on one after the other: a whole chunk or, with concurrency, one ordered group or
one delivery. It is a generator that hands out the task to run and is sent how its work ended, so that the same code serves
plain calls, threads and coroutines.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Sequence
from datetime import timedelta
from typing import Any

from idem.delivery import Done, NotStarted, Outcome, Retry, Unavailable
from idem.errors import ClaimLost, ConfigurationError, IdemError
from idem.flow import Ended, Flow, refusal
from idem.record import Answer, Claim, Request
from idem.tasks import Result, Task, again, chunks, share_with_twins
from idem.writes import Commit

RECORD_WITHIN = timedelta(
    milliseconds=50
)  # about what a claim costs on a busy day: work that is quicker gains from waiting


Lane = Generator[Task, Result, None]
Run = Callable[[Task], Result]


class Batch:
    """Takes tasks to their outcomes. One object serves one invocation.

    plans: the work is a plan whose writes are guarded, so nothing is claimed before it.
    """

    def __init__(
        self,
        flow: Flow,
        *,
        plans: bool,
        ends_at: int | None,
        reserve: timedelta,
        record_within: timedelta = RECORD_WITHIN,
    ) -> None:
        self._flow = flow
        self._plans = plans
        self._latest_start = None if ends_at is None else ends_at - int(reserve.total_seconds() * 1000)
        self._record_within_ms = record_within.total_seconds() * 1000
        self._lock = threading.Lock()
        self._last_of_group: dict[str, Task] = {}
        self._pending: list[tuple[Task, Ended]] = []
        self._pending_since = 0
        self._call_off: Callable[[], None] | None = None

    def work(self, tasks: Sequence[Task], run: Run, concurrency: int) -> None:
        """Give every task its outcome; `run` calls the user's function and never raises."""
        for chunk in chunks(tasks):
            self._claim(chunk)
            lanes = self._lanes(chunk, concurrency)
            if len(lanes) == 1:
                _drive(lanes[0], run)
            else:
                _drive_in_threads(lanes, run, concurrency)
            self._record()
        share_with_twins(tasks)

    async def work_async(self, tasks: Sequence[Task], run: Callable[[Task], Any], concurrency: int) -> None:
        """The same for a coroutine function. Calls to the store run in a thread, so that they do not hold up the loop."""
        import asyncio  # noqa: PLC0415 - importing it takes longer than most consumers' whole start

        async def drive(lane: Lane) -> None:
            async with turn:
                task = await asyncio.to_thread(_advance, lane, None)
                while task is not None:
                    task = await asyncio.to_thread(_advance, lane, await run(task))

        turn = asyncio.Semaphore(concurrency)
        for chunk in chunks(tasks):
            await asyncio.to_thread(self._claim, chunk)
            await asyncio.gather(*(drive(lane) for lane in self._lanes(chunk, concurrency)))
            await asyncio.to_thread(self._record)
        share_with_twins(tasks)

    def _claim(self, chunk: Sequence[Task]) -> None:
        """Claim what the chunk needs, in one call. A task whose key is not won has its outcome then."""
        for task in chunk:
            if task.twin is not None:
                task.outcome = again(task.twin)
        if self._plans:
            return
        wanting = [task for task in chunk if task.outcome is None and not self._too_late(task)]
        if len(wanting) == 1:
            self._answered(wanting[0], self._claim_one(_wanted(wanting[0])))
        elif wanting:
            answers = self._flow.store.claim_many([_wanted(task) for task in wanting])
            for task, answer in zip(wanting, answers, strict=True):
                self._answered(task, answer)

    def _claim_one(self, wanted: Request) -> Answer | IdemError:
        try:
            return self._flow.store.claim(wanted)
        except IdemError as error:
            return error

    def _answered(self, task: Task, answer: Answer | IdemError) -> None:
        try:
            if not isinstance(answer, IdemError):
                answer = self._flow.wait(_wanted(task), answer)
        except IdemError as error:
            answer = error
        if isinstance(answer, Claim):
            task.claim = answer
        elif isinstance(answer, IdemError):
            task.outcome = Unavailable(answer, ran=False)
        else:
            task.outcome = refusal(answer)

    def _lanes(self, chunk: Sequence[Task], concurrency: int) -> list[Lane]:
        if concurrency == 1:
            return [self._lane(chunk)]
        lanes: dict[tuple[str, str | int], list[Task]] = {}
        for index, task in enumerate(chunk):
            group = task.arrival.group
            lanes.setdefault(("one", index) if group is None else ("group", group), []).append(task)
        return [self._lane(lane) for lane in lanes.values()]

    def _lane(self, tasks: Sequence[Task]) -> Lane:
        """Hand out each task whose work is to run, in order, and take how it ended."""
        for task in tasks:
            task.started = self._flow.clock.now_ms()
            if self._is_due(task):
                self._record()
            if stopped := self._stopped(task):
                self._give_back(task, stopped)
            elif task.outcome is None and not self._too_late(task) and self._begin(task):
                self._record_later()
                self._worked(task, (yield task))
            task.ended = self._flow.clock.now_ms()
            if task.arrival.group is not None:
                self._last_of_group[task.arrival.group] = task

    def _is_due(self, task: Task) -> bool:
        """Whether finished work must be recorded before this task's work starts."""
        suspect = task.arrival.receive_count > 1 or (task.claim is not None and task.claim.attempt > 1)
        waited = task.started - self._pending_since
        return suspect or task.arrival.group is not None or waited >= self._record_within_ms

    def _stopped(self, task: Task) -> NotStarted | None:
        """Why the task's ordered group has come to a stop, if it has."""
        before = self._last_of_group.get(task.arrival.group) if task.arrival.group is not None else None
        if before is None or isinstance(before.outcome, Done):
            return None
        return NotStarted(f"an earlier message of group {task.arrival.group!r} was not done")

    def _too_late(self, task: Task) -> bool:
        """Whether too little time is left for the task's work; then it is given back."""
        if self._latest_start is None or self._flow.clock.now_ms() <= self._latest_start:
            return False
        self._give_back(task, NotStarted("the invocation ends too soon to start it"))
        return True

    def _give_back(self, task: Task, reason: NotStarted) -> None:
        """End a task whose work was not started. Its claim is given back, so that the next delivery can start at once."""
        task.outcome = reason
        if task.claim is not None:
            self._keep(task, self._flow.given_back(task.claim, reason, counted=_wanted(task).starts_now))

    def _begin(self, task: Task) -> bool:
        """Count the start of the task's work, where a limit on starts needs it; whether the work may run."""
        if task.claim is None or _wanted(task).starts_now:
            return True
        try:
            task.claim = self._flow.store.begin(task.claim)
        except ClaimLost as error:
            task.outcome = Retry(error)
        except IdemError as error:
            task.outcome = Unavailable(error, ran=False)
        return task.outcome is None

    def _worked(self, task: Task, result: Result) -> None:
        if task.claim is None:
            task.outcome = self._guarded(_wanted(task), result)
        elif result.error is not None:
            self._keep(task, self._flow.raised(task.claim, result.error))
        else:
            self._keep(task, self._flow.returned(task.claim, result.value))

    def _guarded(self, wanted: Request, result: Result) -> Outcome:
        if result.error is not None:
            return self._flow.reject(wanted, result.error)
        if not isinstance(result.value, Commit):
            wrong = ConfigurationError(f"a plan must return a Commit, not {type(result.value).__name__}")
            return self._flow.reject(wanted, wrong)
        return self._flow.guard(wanted, result.value)

    def _keep(self, task: Task, ended: Ended) -> None:
        with self._lock:
            if not self._pending:
                self._pending_since = self._flow.clock.now_ms()
            self._pending.append((task, ended))

    def _record_later(self) -> None:
        """Before work starts: see to it that what has ended before is recorded in time, however long this work takes."""
        with self._lock:
            if self._pending and self._call_off is None:
                left = self._pending_since + self._record_within_ms - self._flow.clock.now_ms()
                self._call_off = self._flow.clock.later(max(0, left), self._record)

    def _record(self) -> None:
        """Record what has ended. The lock is held meanwhile: whoever asks next finds everything recorded."""
        with self._lock:
            if self._call_off is not None:
                self._call_off()
                self._call_off = None
            pending, self._pending = self._pending, []
            if not pending:
                return
            outcomes = self._flow.record_many([ended for _, ended in pending])
            for (task, _), outcome in zip(pending, outcomes, strict=True):
                task.outcome = outcome


def _wanted(task: Task) -> Request:
    if task.wanted is None:
        raise AssertionError("a task without a request has its outcome, and is never claimed or run")
    return task.wanted


def _advance(lane: Lane, result: Result | None) -> Task | None:
    """The lane's next task to run, None when it has no more."""
    try:
        return next(lane) if result is None else lane.send(result)
    except StopIteration:
        return None


def _drive(lane: Lane, run: Run) -> None:
    task = _advance(lane, None)
    while task is not None:
        task = _advance(lane, run(task))


def _drive_in_threads(lanes: Sequence[Lane], run: Run, concurrency: int) -> None:
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - only consumers with concurrency need it

    with ThreadPoolExecutor(min(concurrency, len(lanes))) as pool:
        for finished in [pool.submit(_drive, lane, run) for lane in lanes]:
            finished.result()
