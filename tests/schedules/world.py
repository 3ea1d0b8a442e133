"""One thread, several workers: the real code on a small DynamoDB, interleaved at every call by a list of choices.

Each worker is a greenlet that stops before every call to the table and before its work's effect. The world then chooses which
worker goes on and what goes wrong. The same choices always give the same run: time, tokens and order are the world's.

Time stands still while a worker can go on. It moves in small steps for back-offs, and to the next *epoch* for everything that
takes longer than a lease: redeliveries, and workers that stalled. So whatever can meet at an epoch does meet there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from greenlet import getcurrent, greenlet

from idem.delivery import Done, Outcome, Rejected, Retry
from idem.engine import RETRY_CAP_MS
from idem.errors import UnsettledWork
from idem.testing import Crash
from tests.schedules.engine import Engine, Item
from tests.schedules.faults import DELAYS, EFFECT, Fault, error_of, possible

RECORDS, BUSINESS = "records", "business"
START_MS = 1_800_000_000_000
INVOCATION_MS = 30_000
LEASE_MS = INVOCATION_MS + 1_000  # with the policy's lease margin
EPOCH_MS = 100_000  # more than a lease, every margin and every skew
RECEIVES_MAX = 8
STEPS_MAX = 2_000  # a schedule that is longer does not end
OPERATIONS = ("put_item", "update_item", "delete_item", "get_item", "transact_write_items")


class Violation(BaseException):
    """A rule was broken. Not an Exception, so that the code under test cannot catch it."""


class Choices(Protocol):
    def choose(self, options: int, *, fault: bool) -> int:
        """A number below `options`; 0 is the ordinary one. `fault`: it is asked whether something goes wrong."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How far a search goes. deliveries: messages with the same key. generations: receives of a message that can fail.

    skews_ms: how far each delivery's worker's clock is ahead; overlapping: a stalled worker's message comes again.
    """

    deliveries: int = 2
    faults: int = 2
    generations: int = 1
    skews_ms: Sequence[int] = (0, 0)
    overlapping: bool = False


@dataclass(eq=False, slots=True)
class Message:
    number: int
    receives: int = 0
    comes_at: int | None = START_MS
    ending: Outcome | None = None
    settled: bool = False


@dataclass(eq=False, slots=True)
class Worker:
    """One receive of one message, in a process of its own with a clock of its own."""

    world: World
    message: Message
    generation: int
    skew_ms: int
    thread: Any = None
    operation: str = ""
    after_delay: bool = False
    wakes_at: int = 0
    started_at: int = 0
    stalled: bool = False
    crashed: bool = False
    outcome: Outcome | None = None
    ended: bool = False
    ended_at: int = 0
    acknowledged: bool = False  # its source told the queue to forget the message
    ran: bool = False  # its work was started
    raised: bool = False  # its work ended with an error
    effect: bool = False  # its work's effect was made
    recorded: bool = False  # an outcome of its claim was written to the record
    tokens: int = 0
    faults: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.message.number}.{self.generation}"

    @property
    def lapsed(self) -> bool:
        """Whether it was still at work when its lease was over."""
        until = self.ended_at if self.ended else self.world.now
        return self.stalled or until >= self.started_at + LEASE_MS

    @property
    def out_of_time(self) -> bool:
        """Whether its invocation was too near its end to send anything again."""
        return self.ended_at >= self.started_at + INVOCATION_MS - RETRY_CAP_MS

    # --- the clock of this process ---

    def now_ms(self) -> int:
        return self.world.now + self.skew_ms

    def sleep_ms(self, milliseconds: float) -> None:
        self.wakes_at = self.world.now + int(milliseconds)
        self.world.park("sleep")

    def jitter(self) -> float:
        return 0.5

    def token(self) -> str:
        self.tokens += 1
        token = f"{self.message.number:08x}{self.generation:08x}{self.tokens:016x}"
        self.world.owners[token] = self
        return token

    # --- the seams of this process ---

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        """The worker is its own DynamoDB client."""
        if operation not in OPERATIONS:
            raise AttributeError(operation)
        return lambda **request: self.world.call(self, operation, request)

    def make_effect(self) -> None:
        """The work's effect outside the table. Raises OSError when it was made and the answer is lost."""
        self.world.call(self, EFFECT, {})


class World:
    """One schedule. `run` takes it from two or more deliveries to the end of the last redelivery."""

    def __init__(
        self,
        choices: Choices,
        bounds: Bounds,
        handle: Callable[[Worker], Outcome],
        log: Callable[[str], None] | None = None,
    ) -> None:
        self.now = START_MS
        self.bounds = bounds
        self.faults_left = bounds.faults
        self.owners: dict[str, Worker] = {}
        self.workers: list[Worker] = []
        self.runs: list[Worker] = []
        self.effects: list[Worker] = []
        self.writer: Worker | None = None
        self.messages = [Message(number) for number in range(bounds.deliveries)]
        self.on_record: Callable[[Item | None, Item | None], None] = lambda _before, _after: None
        self.on_start: Callable[[Worker], None] = lambda _worker: None
        self.on_effect: Callable[[Worker], None] = lambda _worker: None
        self.on_end: Callable[[Worker], None] = lambda _worker: None
        self.engine = Engine({RECORDS: ["pk"], BUSINESS: ["pk"]}, now_ms=lambda: self.now, changed=self._changed)
        self._choices = choices
        self._handle = handle
        self._log = log
        self._hub = getcurrent()
        self._late: list[tuple[int, Worker, str, Mapping[str, Any]]] = []

    def run(self) -> None:
        for _ in range(STEPS_MAX):
            self._receive_what_is_due()
            ready = [worker for worker in self.workers if not worker.ended and worker.wakes_at <= self.now]
            if ready:
                self._step(ready)
            elif not self._let_time_pass():
                return
        raise Violation("the schedule does not end")

    @property
    def live(self) -> list[Worker]:
        return [worker for worker in self.workers if not worker.ended]

    # --- choosing ---

    def _step(self, ready: list[Worker]) -> None:
        """Let one worker go on, perhaps with a fault."""
        if not any(worker.generation <= self.bounds.generations for worker in self.live):
            ready = ready[:1]  # only redeliveries are left: they run to the end, one after the other
        local = [worker for worker in ready if worker.operation == EFFECT]
        ready = local[:1] or ready  # an effect meets nobody, so its order does not matter
        late = len(self._late) if not local else 0
        choice = self._choices.choose(len(ready) + late, fault=False) if len(ready) + late > 1 else 0
        if choice >= len(ready):
            self._arrive_late(choice - len(ready))
            return
        worker = ready[choice]
        self._resume(worker, self._fault_for(worker))

    def _fault_for(self, worker: Worker) -> Fault | None:
        if not self.faults_left or worker.generation > self.bounds.generations or worker.operation == "sleep":
            return None
        faults = possible(worker.operation, worker.after_delay)
        choice = self._choices.choose(1 + len(faults), fault=True)
        if not choice:
            return None
        self.faults_left -= 1
        fault = faults[choice - 1]
        worker.faults.append(f"{fault} at {worker.operation}")
        self.note(worker, f"FAULT {fault} at {worker.operation}")
        return fault

    def _resume(self, worker: Worker, fault: Fault | None) -> None:
        if worker.thread is None:
            worker.started_at = self.now
            worker.thread = greenlet(self._live)
            worker.thread.switch(worker)
            if worker.ended:
                return
        worker.thread.switch(fault)

    def _live(self, worker: Worker) -> None:
        """The life of a worker's process."""
        try:
            worker.outcome = self._handle(worker)
        except Crash:
            worker.crashed = True
        worker.ended, worker.ended_at = True, self.now
        self._answer(worker)

    def _answer(self, worker: Worker) -> None:
        """What the queue does with the answer: forget the message, or let it come again."""
        message, outcome = worker.message, worker.outcome
        self.note(worker, f"ends: {'crash' if worker.crashed else outcome}")
        if message.ending is None or not isinstance(message.ending, Done):
            message.ending = outcome
        self.on_end(worker)
        if message.settled or isinstance(outcome, Done):
            message.settled, message.comes_at = True, None
        elif not self._is_final(worker):
            self._comes_again(message)

    def _is_final(self, worker: Worker) -> bool:
        """Whether a redelivery could only bring the same answer once more: it was given to a redelivery, and nobody is at work."""
        asked_again = worker.generation > self.bounds.generations and not worker.crashed
        final = isinstance(worker.outcome, Rejected) or _is_unsettled(worker.outcome)
        return worker.message.receives >= RECEIVES_MAX or (asked_again and final and not self.live and not self._late)

    def _comes_again(self, message: Message) -> None:
        if message.comes_at is None and not message.settled:
            message.comes_at = self._next_epoch()

    # --- time ---

    def _next_epoch(self) -> int:
        return START_MS + ((self.now - START_MS) // EPOCH_MS + 1) * EPOCH_MS

    def _receive_what_is_due(self) -> None:
        for message in self.messages:
            if message.comes_at is not None and message.comes_at <= self.now and message.receives < RECEIVES_MAX:
                message.comes_at = None
                message.receives += 1
                skew = self.bounds.skews_ms[message.number % len(self.bounds.skews_ms)]
                self.workers.append(Worker(self, message, message.receives, skew, operation="put_item"))

    def _let_time_pass(self) -> bool:
        """Go to the next moment at which anything happens; False if there is none."""
        moments = [worker.wakes_at for worker in self.live]
        moments += [message.comes_at for message in self.messages if message.comes_at is not None]
        if not moments:
            return False
        self.now = max(self.now, min(moments))
        self._late = [one for one in self._late if one[0] >= self.now]
        return True

    # --- calls ---

    def park(self, operation: str) -> Fault | None:
        """Stop the worker that is running; goes on when it is chosen, with the fault that was chosen."""
        worker = self.current()
        worker.operation = operation
        fault: Fault | None = self._hub.switch()
        return fault

    def current(self) -> Worker:
        return next(worker for worker in self.workers if worker.thread is getcurrent())

    def call(self, worker: Worker, operation: str, request: Mapping[str, Any]) -> Any:
        """One call of a worker: whatever was chosen for it happens."""
        worker.after_delay = False
        fault = self.park(operation)
        if fault in DELAYS:
            self._delay(worker, fault is Fault.STALL)
            worker.after_delay = True
            fault = self.park(operation)
        match fault:
            case None:
                return self._apply(worker, operation, request)
            case Fault.CRASH_BEFORE:
                raise Crash(operation)
            case Fault.CRASH_AFTER:
                self._apply_unheard(worker, operation, request)
                raise Crash(operation)
            case Fault.RETRIED:
                self._apply_unheard(worker, operation, request)
                self.park("sleep")
                return self._apply(worker, operation, request)
            case Fault.LOST:
                self._apply_unheard(worker, operation, request)
            case Fault.LATE:
                self._late.append((self.now + EPOCH_MS, worker, operation, request))
            case _:
                pass
        if operation == EFFECT:
            raise OSError("the answer to the effect was lost")
        raise error_of(fault, operation, len(request.get("TransactItems", ())))

    def _delay(self, worker: Worker, past_the_lease: bool) -> None:  # noqa: FBT001 - two kinds of one thing
        if past_the_lease:
            worker.stalled = True
            worker.wakes_at = self._next_epoch()
            if self.bounds.overlapping:
                self._comes_again(worker.message)
        else:
            self.now = max(self.now, worker.started_at + LEASE_MS - 1)

    def _apply(self, worker: Worker, operation: str, request: Mapping[str, Any]) -> Any:
        if operation == EFFECT:
            worker.effect = True
            self.note(worker, "makes its effect")
            self.on_effect(worker)
            self.effects.append(worker)
            return None
        self.writer = worker
        answer = getattr(self.engine, operation)(**request)
        self.note(worker, f"{operation}: applied")
        return answer

    def _apply_unheard(self, worker: Worker, operation: str, request: Mapping[str, Any]) -> None:
        """Apply a request whose answer nobody hears, be it a refusal."""
        try:
            self._apply(worker, operation, request)
        except Exception as error:  # noqa: BLE001 - the service's refusal, lost as well
            self.note(worker, f"refused, unheard: {error}")

    def _arrive_late(self, index: int) -> None:
        _, worker, operation, request = self._late.pop(index)
        self.note(worker, f"{operation} arrives late")
        self._apply_unheard(worker, operation, request)

    def _changed(self, table: str, before: Item | None, after: Item | None) -> None:
        if table == RECORDS:
            self.on_record(before, after)
        elif self.writer is not None:
            self.effects.append(self.writer)

    def start(self, worker: Worker) -> int:
        """The work of a worker starts. The number of starts before it."""
        self.note(worker, "starts its work")
        self.on_start(worker)
        worker.ran = True
        self.runs.append(worker)
        return len(self.runs) - 1

    def note(self, worker: Worker, what: str) -> None:
        if self._log:
            self._log(f"{self.now - START_MS:>7} ms  {worker}  {what}")


def _is_unsettled(outcome: Outcome | None) -> bool:
    return isinstance(outcome, Retry) and isinstance(outcome.error, UnsettledWork)
