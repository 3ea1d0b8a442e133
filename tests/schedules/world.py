"""One thread, several workers: the real code on a small DynamoDB, interleaved at every call by a list of choices.

Each worker is a greenlet that stops before every call to the table and before its work's effect. The world then chooses which
worker goes on and what goes wrong. The same choices always give the same run: time, tokens and order are the world's.

Time stands still while a worker can go on. It moves in small steps for back-offs, and to the next *epoch* for everything that
takes longer than a lease: redeliveries, and workers that stalled. So whatever can meet at an epoch does meet there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

from greenlet import getcurrent, greenlet

from idem import Done
from idem.testing import Crash
from tests.schedules.faults import BATCH, DELAYS, EFFECT, Fault, error_of, partly_of, possible
from tests.schedules.table_model import Engine, Item
from tests.schedules.worker import LEASE_MS, Message, Part, Worker, is_final

RECORDS, BUSINESS = "records", "business"
START_MS = 1_800_000_000_000
EPOCH_MS = 100_000  # more than a lease, every margin and every skew
RECEIVES_MAX = 8
STEPS_MAX = 2_000  # a schedule that is longer does not end


class Violation(BaseException):
    """A rule was broken. Work that raises it has ended like any other, so the world keeps it and ends the schedule itself."""


class Choices(Protocol):
    def choose(self, options: int, *, fault: bool) -> int:
        """A number below `options`; 0 is the ordinary one. `fault`: it is asked whether something goes wrong."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How far a search goes. deliveries: messages with the same key. generations: receives of a message that can fail.

    skews_ms: how far each delivery's worker's clock is ahead; overlapping: a stalled worker's message comes again.
    tokens: the engine honours client request tokens. They are an extra layer, so the rules must hold without them.
    """

    deliveries: int = 2
    faults: int = 2
    generations: int = 1
    skews_ms: Sequence[int] = (0, 0)
    overlapping: bool = False
    tokens: bool = False


class World:
    """One schedule. `run` takes it from two or more deliveries to the end of the last redelivery.

    handle: what a worker's process does. orders: what each message is about; `runs` and `effects` are kept for each of them.
    """

    def __init__(
        self,
        choices: Choices,
        bounds: Bounds,
        handle: Callable[[Worker], None],
        orders: Sequence[str],
        log: Callable[[str], None] | None = None,
    ) -> None:
        self.now = START_MS
        self.steps = 0
        self.bounds = bounds
        self.faults_left = bounds.faults
        self.orders = orders
        self.workers: list[Worker] = []
        self.runs: dict[str, list[Part]] = {order: [] for order in orders}
        self.effects: dict[str, list[Part]] = {order: [] for order in orders}
        self.writer: Worker | None = None
        self.messages = [Message(number, START_MS) for number in range(bounds.deliveries)]
        self.on_record: Callable[[Item | None, Item | None], None] = lambda _before, _after: None
        self.on_start: Callable[[Part], None] = lambda _part: None
        self.on_effect: Callable[[Part], None] = lambda _part: None
        self.on_end: Callable[[Worker], None] = lambda _worker: None
        self.engine = Engine({RECORDS: ["pk"], BUSINESS: ["pk"]}, now_ms=lambda: self.now, changed=self._changed)
        self.engine.remembers_tokens = bounds.tokens
        self._choices = choices
        self._handle = handle
        self._log = log
        self._hub = getcurrent()
        self._late: list[tuple[int, Worker, str, Mapping[str, Any]]] = []
        self._broken: Violation | None = None

    def run(self) -> None:
        """Raises Violation."""
        for self.steps in range(STEPS_MAX):
            if self._broken:
                raise self._broken
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
            worker.started_at, worker.first_step = self.now, self.steps
            worker.thread = greenlet(self._live)
            worker.thread.switch(worker)
            if worker.ended:
                return
        worker.thread.switch(fault)

    def _live(self, worker: Worker) -> None:
        """The life of a worker's process."""
        try:
            self._handle(worker)
        except Crash:
            if self._broken:
                return
        worker.ended, worker.ended_at, worker.last_step = True, self.now, self.steps
        self._answer(worker)

    def _answer(self, worker: Worker) -> None:
        """What the queue does with the answer: forget the message, or let it come again."""
        message = worker.message
        for part in worker.parts.values():
            self.note(worker, f"{part.order} ends: {'crash' if worker.crashed else part.outcome}")
            if not isinstance(message.endings.get(part.order), Done):
                message.endings[part.order] = part.outcome
        self._judge(self.on_end, worker)
        if all(isinstance(ending, Done) for ending in message.endings.values()):
            message.settled, message.comes_at = True, None
        elif not self._is_final(worker):
            self._comes_again(message)

    def _is_final(self, worker: Worker) -> bool:
        """Whether a redelivery could only bring the same answer once more: it was given to a redelivery on its own."""
        alone = all(one.ended and (one is worker or one.last_step < worker.first_step) for one in self.workers)
        asked_again = worker.generation > self.bounds.generations and alone and not self._late
        final = asked_again and all(is_final(part.outcome) for part in worker.parts.values())
        return final or worker.message.receives >= RECEIVES_MAX

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
                worker = Worker(self, message, message.receives, skew)
                worker.parts = {order: Part(worker, order) for order in self.orders}
                self.workers.append(worker)

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
        if self._broken or worker.crashed:
            raise Crash("a process that is dead does nothing more")
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
                self._crash(worker, operation)
            case Fault.CRASH_AFTER:
                self._apply_unheard(worker, operation, request)
                self._crash(worker, operation)
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
        if operation == BATCH and fault in (Fault.THROTTLED, Fault.CONFLICT):
            applied = self._apply(worker, operation, {"Statements": request["Statements"][:-1]})
            return partly_of(fault, applied)
        raise error_of(fault, operation, len(request.get("TransactItems", ())))

    def _crash(self, worker: Worker, operation: str) -> NoReturn:
        """End the process: what it still does while the error goes up has no effect."""
        worker.crashed = True
        raise Crash(operation)

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
            part = worker.parts[request["order"]]
            self.note(worker, f"{part.order}: makes its effect")
            part.effect = True
            self._judge(self.on_effect, part)
            self.effects[part.order].append(part)
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
            self._judge(self.on_record, before, after)
        elif self.writer is not None and after is not None:
            order = after["order"]["S"]
            self.effects[order].append(self.writer.parts[order])

    def _judge(self, rules: Callable[..., None], *about: Any) -> None:
        """Ask the referee. What is broken ends the schedule, also where the code under test goes on."""
        try:
            rules(*about)
        except Violation as violation:
            self._broken = self._broken or violation
            raise

    def start(self, part: Part) -> int:
        """The work on an order starts. The number of starts before it."""
        self.note(part.worker, f"{part.order}: starts its work")
        self._judge(self.on_start, part)
        part.ran = True
        self.runs[part.order].append(part)
        return len(self.runs[part.order]) - 1

    def note(self, worker: Worker, what: str) -> None:
        if self._log:
            self._log(f"{self.now - START_MS:>7} ms  {worker}  {what}")
