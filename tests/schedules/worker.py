"""Who takes part in a schedule: messages, the workers that receive them, and a part of a worker for each order in its message."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from idem import Done, Outcome, Rejected
from idem.delivery import Unsettled
from idem.dynamo.sender import RETRY_CAP_MS
from idem.flow import ANSWER_MS
from tests.schedules.faults import EFFECT

INVOCATION_MS = 30_000
LEASE_MS = INVOCATION_MS + 1_000  # with the policy's lease margin
OPERATIONS = frozenset(
    {
        "put_item",
        "update_item",
        "delete_item",
        "get_item",
        "transact_write_items",
        "batch_execute_statement",
        "batch_get_item",
    }
)


class World(Protocol):
    """What a worker sees of its world."""

    now: int

    def start(self, part: Part) -> int: ...

    def park(self, operation: str) -> Any: ...

    def call(self, worker: Worker, operation: str, request: Mapping[str, Any]) -> Any: ...


@dataclass(eq=False, slots=True)
class Message:
    """A message for one or more orders. It is settled when all of them are done."""

    number: int
    comes_at: int | None
    receives: int = 0
    endings: dict[str, Outcome | None] = field(default_factory=dict)
    settled: bool = False


@dataclass(eq=False, slots=True)
class Worker:
    """One receive of one message, in a process of its own with a clock of its own."""

    world: World
    message: Message
    generation: int
    skew_ms: int
    parts: dict[str, Part] = field(default_factory=dict)
    thread: Any = None
    operation: str = "put_item"
    after_delay: bool = False
    wakes_at: int = 0
    started_at: int = 0
    stalled: bool = False
    crashed: bool = False
    ended: bool = False
    ended_at: int = 0
    first_step: int = 0
    last_step: int = 0
    drawn: list[str] = field(default_factory=list)
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
        return self.ended_at >= self.started_at + INVOCATION_MS - RETRY_CAP_MS - ANSWER_MS

    # --- the clock of this process ---

    def now_ms(self) -> int:
        return self.world.now + self.skew_ms

    def sleep_ms(self, milliseconds: float) -> None:
        self.wakes_at = self.world.now + int(milliseconds)
        self.world.park("sleep")

    def later(self, milliseconds: float, action: Callable[[], None]) -> Callable[[], None]:  # noqa: ARG002
        """Never: in a schedule time passes only at calls, and outcomes that wait for each other are what is looked for."""
        return lambda: None

    def jitter(self) -> float:
        return 0.5

    def token(self) -> str:
        self.drawn.append(f"{self.message.number:08x}{self.generation:08x}{len(self.drawn):016x}")
        return self.drawn[-1]

    # --- the seams of this process ---

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        """The worker is its own DynamoDB client."""
        if operation not in OPERATIONS:
            raise AttributeError(operation)
        return lambda **request: self.world.call(self, operation, request)


@dataclass(eq=False, slots=True)
class Part:
    """One order in a worker's hands: the attempt that the rules are about."""

    worker: Worker
    order: str
    counted: bool = False  # its start was counted by itself
    ran: bool = False  # its work was started
    raised: bool = False  # its work ended with an error
    effect: bool = False  # its work's effect was made
    worked_until: int = 0  # when its work had ended
    recorded: bool = False  # an outcome of its claim was written to the record
    acknowledged: bool = False  # its source told the queue to forget it
    outcome: Outcome | None = None

    def __str__(self) -> str:
        return f"{self.worker}/{self.order}"

    def make_effect(self) -> None:
        """The work's effect outside the table. Raises OSError when it was made and the answer is lost."""
        self.worker.world.call(self.worker, EFFECT, {"order": self.order})


def is_final(outcome: Outcome | None) -> bool:
    """Whether a redelivery could only be answered in the same way, as long as nobody is at work."""
    return isinstance(outcome, Done | Rejected | Unsettled)
