"""Deliveries on their way to an outcome, and how a batch of them is cut into chunks.

Two deliveries of a batch with the same key and request are twins: the work runs once, and both get its outcome.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from idem.delivery import Arrival, Done, Outcome
from idem.record import Claim, Key, Request

CHUNK = 25  # the most statements that DynamoDB takes in one BatchExecuteStatement


@dataclass(slots=True, kw_only=True)
class Task:
    """One arrival on its way to an outcome. Times are epoch ms.

    wanted: what to claim; None if the arrival has its outcome already. twin: an earlier task of the batch with the same key and
    request, whose outcome this one shares.
    """

    arrival: Arrival
    key: Key | None = None
    wanted: Request | None = None
    twin: Task | None = None
    claim: Claim | None = None
    outcome: Outcome | None = None
    started: int = 0
    ended: int = 0


@dataclass(frozen=True, slots=True)
class Result:
    """How a task's work ended: its value, or its error."""

    value: Any = None
    error: Exception | None = None


def again(first: Task) -> Outcome | None:
    """The outcome of a delivery whose key came earlier in the same batch."""
    done = first.outcome
    return Done(done.result, replayed=True, attempt=done.attempt) if isinstance(done, Done) else done


def chunks(tasks: Sequence[Task]) -> Iterator[list[Task]]:
    """The tasks in order, cut so that no chunk is longer than CHUNK or holds a key twice. Twins without order are left out."""
    chunk: list[Task] = []
    held: set[Key | None] = set()
    for task in tasks:
        if task.twin is not None and task.arrival.group is None:
            continue
        if len(chunk) == CHUNK or (task.key is not None and task.key in held):
            yield chunk
            chunk, held = [], set()
        chunk.append(task)
        held.add(task.key)
    if chunk:
        yield chunk


def share_with_twins(tasks: Sequence[Task]) -> None:
    """Give the twins that were left out their outcome."""
    for task in tasks:
        if task.outcome is None and task.twin is not None:
            task.outcome, task.started, task.ended = again(task.twin), task.twin.started, task.twin.ended
