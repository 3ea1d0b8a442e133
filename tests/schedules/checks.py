"""The rules that every schedule keeps, written down a second time and without the code that they judge.

While it runs: every change of a record is one of the arrows, made by who may make it. At the end: every delivery was answered,
and whatever happened more than once has one of the causes that its mode names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

from idem import Busy, Done, Outcome, Rejected, Retry, Unavailable
from idem.errors import ClaimLost, UnsettledWork
from tests.schedules.engine import Item
from tests.schedules.faults import Fault
from tests.schedules.modes import Cause, Mode
from tests.schedules.world import RECORDS, Violation, Worker, World


@dataclass(slots=True)
class Tally:
    """What happened in the schedules of a mode: how many there were, and what they started or made again, held or rejected."""

    schedules: int = 0
    starts: Counter[Cause] = field(default_factory=Counter)
    effects: Counter[Cause] = field(default_factory=Counter)
    held: Counter[Cause] = field(default_factory=Counter)
    rejected: Counter[Cause] = field(default_factory=Counter)

    def add(self, other: Tally) -> None:
        self.schedules += other.schedules
        self.starts += other.starts
        self.effects += other.effects
        self.held += other.held
        self.rejected += other.rejected


class Watch:
    """Sits in a world and raises Violation at the first rule that is broken."""

    def __init__(self, world: World, mode: Mode, tally: Tally) -> None:
        self._world = world
        self._mode = mode
        self._tally = tally
        world.on_record = self._changed
        world.on_start = self._started
        world.on_effect = self._effect
        world.on_end = self._ended

    # --- every change of the record ---

    def _changed(self, before: Item | None, after: Item | None) -> None:
        was, now = _status(before), _status(after)
        match was, now:
            case "absent", "in_progress":
                _demand(_number(after, "attempt") == 1, "a first claim is attempt 1")
            case "absent", "succeeded":
                _demand(self._mode.plan is not None, "only a guard succeeds without a claim")
            case "in_progress", "succeeded" | "failed" | "absent":
                self._by_its_owner(before, after)
            case "in_progress", "in_progress":
                self._taken_over_from_the_lapsed(before, after)
            case "failed", "in_progress":
                self._taken_over_from_the_failed(before, after)
            case _:
                raise Violation(f"{was} became {now}: {before} -> {after}")

    def _by_its_owner(self, before: Item | None, after: Item | None) -> None:
        owner = self._owner(before)
        _demand(self._world.writer is owner, f"{self._world.writer} wrote on the record of {owner}")
        owner.recorded = True
        if after is not None:
            _demand(_token(after) == _token(before), "an outcome keeps its token")
            _demand(_number(after, "attempt") == _number(before, "attempt"), "an outcome keeps its attempt")
            _demand("leaseUntil" not in after, "an outcome has no lease")

    def _taken_over_from_the_lapsed(self, before: Item | None, after: Item | None) -> None:
        owner = self._owner(before)
        left = _number(before, "leaseUntil") - owner.now_ms()
        _demand(
            left <= 0, f"{self._world.writer} took over from {owner}, whose lease lasts {left} ms more by its own clock"
        )
        _demand(not self._mode.held or self._mode.starts_max is not None, "held work is not taken over")
        self._next_attempt(before, after)

    def _taken_over_from_the_failed(self, before: Item | None, after: Item | None) -> None:
        reclaimable = before is not None and before["error"]["M"]["reclaimable"]["BOOL"]
        _demand(bool(reclaimable), "a permanent failure is final")
        self._next_attempt(before, after)

    def _next_attempt(self, before: Item | None, after: Item | None) -> None:
        _demand(_token(after) != _token(before), "a takeover has a token of its own")
        for name in ("attempt", "starts"):
            _demand(_number(after, name) == _number(before, name) + 1, f"a takeover raises {name} by one")

    def _owner(self, item: Item | None) -> Worker:
        return self._world.owners[_token(item)]

    # --- starts and effects ---

    def _started(self, worker: Worker) -> None:
        _demand(not worker.ran, "one delivery starts its work once")
        if self._mode.starts_max is not None:
            _demand(len(self._world.runs) < self._mode.starts_max, "more starts than the limit allows")
        if self._world.runs:
            self._again("start", self._mode.starts, self._tally.starts, self._world.runs[-1])

    def _effect(self, worker: Worker) -> None:
        """Called before the effect is noted, so an effect in the list is another one."""
        earlier = [run for run in self._world.runs if run.effect and run is not worker]
        if earlier:
            overtaken = self._world.runs.index(worker) < self._world.runs.index(earlier[-1])
            self._again("effect", self._mode.effects, self._tally.effects, worker if overtaken else earlier[-1])

    def _again(self, what: str, allowed: AbstractSet[Cause], counted: Counter[Cause], earlier: Worker) -> None:
        cause = cause_of(earlier)
        if cause is None or cause not in allowed:
            raise Violation(f"a second {what} that nothing explains: {cause or 'no cause'}, after {earlier}")
        counted[cause] += 1

    # --- the end of each delivery, and of the schedule ---

    def _ended(self, worker: Worker) -> None:
        record = self._record()
        match worker.outcome:
            case Done(result, replayed, _):
                _demand(worker.acknowledged, "what is done is acknowledged")
                _demand(_status(record) == "succeeded", f"acknowledged, but the record is {_status(record)}")
                winner = self._owner(record)
                _demand(result == str(winner), f"the result is {winner}'s, not {result!r}")
                _demand(replayed == (winner is not worker), "a replay says so")
                return
            case Rejected(_, recorded):
                _demand(recorded and _status(record) == "failed", f"rejected, but the record is {_status(record)}")
                if worker.effect:
                    self._tally.rejected[Cause.UNKNOWN] += 1
            case Busy(until):
                _demand(_status(record) == "in_progress", f"busy, but the record is {_status(record)}")
                _demand(until > worker.now_ms(), "busy until a moment that is over")
                _demand(self._owner(record) is not worker, f"{worker} waits for its own claim")
            case Retry(UnsettledWork()):
                self._again("unsettled record", self._mode.held, self._tally.held, self._owner(record))
            case Retry(ClaimLost()):
                _demand(worker.lapsed, f"{worker} lost its claim although its lease never lapsed")
            case _:
                pass
        _demand(not worker.acknowledged, "what is not done is not acknowledged")

    def finish(self) -> None:
        """The rules of the end."""
        self._tally.schedules += 1
        record = self._record()
        status = _status(record)
        _demand(status in self._mode.final, f"in the end the record is {status}")
        for message in self._world.messages:
            _demand(
                _ended_as(message.ending) == status,
                f"after {message.receives} receives a delivery ended as {message.ending}, the record is {status}",
            )
        if self._mode.writes or "succeeded" not in self._mode.final:
            expected = int(status == "succeeded")
            _demand(len(self._world.effects) == expected, f"{len(self._world.effects)} effects, record {status}")
        if not any(worker.faults for worker in self._world.workers):
            _demand(
                len(self._world.runs) == self._mode.clean_starts,
                f"{len(self._world.runs)} starts although nothing failed",
            )

    def _record(self) -> Item | None:
        return next(iter(self._world.engine.tables[RECORDS].values()), None)


def _ended_as(outcome: Outcome | None) -> str | None:
    """The status of the record that an ending speaks of."""
    match outcome:
        case Done():
            return "succeeded"
        case Rejected(recorded=True):
            return "failed"
        case Retry(UnsettledWork()):
            return "in_progress"
        case _:
            return None


def cause_of(earlier: Worker) -> Cause | None:
    """What became of an earlier attempt, so that another one could start. None if nothing did."""
    if not earlier.ran:
        return Cause.NOT_STARTED
    if earlier.recorded:
        if not earlier.raised:
            return None
        return Cause.UNKNOWN if earlier.effect else Cause.ASKED
    if earlier.crashed:
        return Cause.DIED_AFTER if earlier.effect else Cause.DIED_BEFORE
    if _missed(earlier.outcome) and (earlier.out_of_time or any(Fault.DENIED in fault for fault in earlier.faults)):
        return Cause.UNRECORDED
    return Cause.STALLED if earlier.lapsed else None


def _missed(outcome: Outcome | None) -> bool:
    """Whether the work had ended, and the table was not told."""
    return isinstance(outcome, Unavailable) or (isinstance(outcome, Retry) and not isinstance(outcome.error, ClaimLost))


def _demand(holds: bool, rule: str) -> None:  # noqa: FBT001 - reads as a sentence
    if not holds:
        raise Violation(rule)


def _status(item: Item | None) -> str:
    return str(item["status"]["S"]) if item is not None else "absent"


def _token(item: Any) -> str:
    return str(item["claimToken"]["S"])


def _number(item: Any, name: str) -> int:
    return int(item[name]["N"])
