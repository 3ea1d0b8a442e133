"""What a world is made of, as values: messages, invocations, and runs of the work. The referee's log points at them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.simulation.choices import Kind

UNREADABLE = "unreadable"
NO_KEY = "none"


@dataclass(eq=False, slots=True)
class Message:
    """One message, event or call. Times are epoch ms.

    content: which of two contents its key comes with, or that it cannot be read and so has no key. visible_at: when it may be
    delivered (again). buried: the consumer sent it to the dead-letter queue itself. state: waiting, done (acknowledged) or dead
    (in the dead-letter queue).
    """

    number: int
    key: str
    content: str
    group: str
    visible_at: float
    receives: int = 0
    state: str = "waiting"
    buried: bool = False
    moved: bool = False

    def __str__(self) -> str:
        return f"m{self.number}"

    @property
    def body(self) -> str:
        return "{" if self.content == UNREADABLE else json.dumps({"k": self.key, "c": self.content})

    @property
    def over(self) -> bool:
        return self.state != "waiting"


@dataclass(eq=False, slots=True)
class Invocation:
    """One invocation of the function with its batch.

    receives: how often each message came, as the event says. ends_at: when Lambda ends it, None if nothing does. troubled: what
    went wrong at its calls. waits: spans in which it waited for an attempt in flight.
    """

    number: int
    environment: Any
    messages: Sequence[Message]
    receives: Sequence[int]
    started_at: float
    ends_at: float | None
    calls: int = 0
    troubled: list[str] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)
    blocked: list[list[float]] = field(default_factory=list)  # a coroutine kept the loop from going on
    waits: list[tuple[float, float, str | None]] = field(default_factory=list)
    answered: bool = False
    ended_at: float | None = None
    killed: bool = False
    stalled: bool = False
    interrupted: bool = False  # work raised what ends the process
    call: str = "plain"
    undone: set[int] = field(default_factory=set)

    def __str__(self) -> str:
        return f"i{self.number}"


@dataclass(eq=False, slots=True)
class Run:
    """One start of the work: by which claim, and what became of it."""

    key: str
    number: int
    content: str
    invocation: Invocation
    token: str | None
    attempt: int
    lease_until: float | None
    started_at: float
    ending: str = ""
    ended_at: float | None = None
    error: BaseException | None = None
    done: bool = False  # it ended well: what it returned is a result
    never_ran: bool = False  # what it returned shows that nothing of it ran
    effect_at: float | None = None
    sent_at: float | None = None  # when its outcome was first sent to the table
    recorded: str | None = None  # the status of the record that its token was last seen with, once it ended
    recorded_at: float | None = None
    died_at: float | None = None
    lease_ends_at: float | None = None  # by the world's clock

    def __str__(self) -> str:
        return f"{self.key}/{self.number}"

    @property
    def raised(self) -> bool:
        return self.ended_at is not None and not self.done


@dataclass(eq=False, slots=True)
class Success:
    """A record that became succeeded."""

    key: str
    token: str
    at: float
    expires_at: float | None
    content: str | None
    run: Run | None
    result: str | None = None


@dataclass(slots=True)
class Tally:
    """What was looked at."""

    worlds: int = 0
    invocations: int = 0
    runs: int = 0
    calls: int = 0
    deaths: int = 0
    features: dict[str, int] = field(default_factory=dict)
    again: dict[str, int] = field(default_factory=dict)  # why effects were made again, by rows of the README's table

    def met(self, taken: Mapping[str, tuple[Kind, str]]) -> None:
        """Count every feature of a world once."""
        for feature in {f"{kind.name}={label}" for kind, label in taken.values()}:
            self.features[feature] = self.features.get(feature, 0) + 1

    def add(self, other: Tally) -> None:
        self.worlds += other.worlds
        self.invocations += other.invocations
        self.runs += other.runs
        self.calls += other.calls
        self.deaths += other.deaths
        for mine, others in ((self.features, other.features), (self.again, other.again)):
            for name, times in others.items():
                mine[name] = mine.get(name, 0) + times


def text_of(answer: Any) -> str | None:
    """An answer as text that two can be compared by; None for one that is too deep."""
    try:
        return repr(answer)
    except RecursionError:
        return None
