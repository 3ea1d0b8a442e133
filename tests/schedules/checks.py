"""The rules that every schedule keeps, written down a second time and without the code that they judge.

While it runs: every change of a record is one of the arrows, made by who may make it. At the end: every delivery was answered,
and whatever happened more than once has one of the causes that its mode names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

from idem import Busy, Done, Lapsed, Outcome, Rejected, Retry, Unavailable
from idem.delivery import Overtaken, Unsettled
from idem.dynamo.schema import primary_key, to_item
from idem.keys import make_key
from idem.record import Record, Status
from tests.schedules.faults import Fault
from tests.schedules.mode import OPERATION, Cause, Mode
from tests.schedules.table_model import Item
from tests.schedules.worker import INVOCATION_MS, Part, Worker
from tests.schedules.world import RECORDS, START_MS, Violation, World

RESERVE_MS = 500  # what a consumer leaves by default for recording


def earlier_item(order: str) -> Item:
    """A record whose life is over by every clock."""
    long_ago = START_MS // 1000 - 200
    return to_item(
        Record(
            key=make_key(OPERATION, [order]),
            status=Status.SUCCEEDED,
            claim_token="earlier",
            attempt=7,
            starts=7,
            claimed_at=long_ago,
            finished_at=long_ago,
            expires_at=long_ago + 100,
        )
    )


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
        for order in mode.orders if mode.expired else ():
            world.engine.put_item(TableName=RECORDS, Item=earlier_item(order))
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
            case "in_progress", "in_progress" if _token(before) == _token(after):
                self._begun(before, after)
            case "in_progress", "in_progress":
                self._taken_over_from_the_lapsed(before, after)
            case "succeeded", "in_progress" | "succeeded" if self._is_over(before):
                _demand(_number(after, "attempt") == 1, "after its life a key begins anew")
            case "failed", "in_progress" if self._is_over(before) and _number(after, "attempt") == 1:
                pass
            case "failed", "in_progress":
                self._taken_over_from_the_failed(before, after)
            case _:
                raise Violation(f"{was} became {now}: {before} -> {after}")

    def _is_over(self, before: Item | None) -> bool:
        """Whether the record's life is over."""
        return _number(before, "expiresAt") * 1000 < self._world.now

    def _by_its_owner(self, before: Item | None, after: Item | None) -> None:
        owner = self._owner(before)
        _demand(self._world.writer is owner.worker, f"{self._world.writer} wrote on the record of {owner}")
        owner.recorded = True
        if not owner.ran and self._mode.plan is None:
            self._given_back(owner, before, after)
        if after is not None:
            _demand(_token(after) == _token(before), "an outcome keeps its token")
            _demand(_number(after, "attempt") == _number(before, "attempt"), "an outcome keeps its attempt")
            _demand("leaseUntil" not in after, "an outcome has no lease")

    def _given_back(self, owner: Part, before: Item | None, after: Item | None) -> None:
        """Work that was not started leaves no start behind, and a number that the next attempt's must be above."""
        if after is None:
            _demand(_number(before, "attempt") == 1, "only a first attempt that never ran leaves nothing behind")
            return
        counted = owner.counted or not self._mode.counts_starts
        left = _number(before, "starts") - int(counted)
        _demand(_status(after) == "failed", f"work that never ran is {_status(after)}")
        _demand(_number(after, "starts") == left, f"{owner} never ran, and {_number(after, 'starts')} starts are left")

    def _begun(self, before: Item | None, after: Item | None) -> None:
        """Where starts are counted by themselves, that is done when the work's turn comes."""
        owner = self._owner(before)
        _demand(self._mode.counts_starts, "the claim counts the start, and nothing else does")
        _demand(self._world.writer is owner.worker, "only its owner counts the start of a claim")
        counted = _number(after, "starts") - _number(before, "starts")
        _demand(counted in {0, 1}, f"a start counts {counted}")  # none, when the SDK repeats it
        owner.counted = True

    def _taken_over_from_the_lapsed(self, before: Item | None, after: Item | None) -> None:
        owner = self._owner(before)
        left = _number(before, "leaseUntil") - owner.worker.now_ms()
        _demand(
            left <= 0, f"{self._world.writer} took over from {owner}, whose lease lasts {left} ms more by its own clock"
        )
        held = self._mode.policy.lapsed is Lapsed.HOLD and not self._is_over(before)
        _demand(not held or not owner.counted, "held work that has begun is not taken over")
        self._next_attempt(before, after)

    def _taken_over_from_the_failed(self, before: Item | None, after: Item | None) -> None:
        reclaimable = before is not None and before["error"]["M"]["reclaimable"]["BOOL"]
        _demand(bool(reclaimable), "a permanent failure is final")
        self._next_attempt(before, after)

    def _next_attempt(self, before: Item | None, after: Item | None) -> None:
        _demand(_token(after) != _token(before), "a takeover has a token of its own")
        _demand(_number(after, "attempt") == _number(before, "attempt") + 1, "a takeover raises the attempt by one")
        earlier = {_number(before, "starts")} | ({0} if self._is_over(before) else set())
        counted = _number(after, "starts") - int(not self._mode.counts_starts)
        _demand(
            counted in earlier, f"a takeover of {_number(before, 'starts')} starts makes {_number(after, 'starts')}"
        )

    def _owner(self, item: Any) -> Part:
        """The attempt whose token a record carries."""
        return self._attempt(_token(item), item["pk"]["S"].rpartition("#")[2])

    def _attempt(self, token: str, order: str) -> Part:
        for worker in self._world.workers:
            if token in worker.drawn:
                return worker.parts[order]
        raise Violation(f"nobody drew the token {token}")

    # --- starts and effects ---

    def _started(self, part: Part) -> None:
        runs = self._world.runs[part.order]
        left = part.worker.started_at + INVOCATION_MS - self._world.now
        _demand(not part.ran, "one delivery starts its work once")
        _demand(left >= RESERVE_MS, f"{part} starts {left} ms before its invocation's end")
        if self._mode.counts_starts:
            _demand(part.counted, f"the start of {part} is not counted")
        if self._mode.starts_max is not None:
            _demand(len(runs) < self._mode.starts_max, "more starts than the limit allows")
        if runs:
            self._again("start", self._mode.starts, self._tally.starts, runs[-1])

    def _effect(self, part: Part) -> None:
        """Called before the effect is noted, so an effect in the list is another one."""
        runs = self._world.runs[part.order]
        earlier = [run for run in runs if run.effect and run is not part]
        if earlier:
            overtaken = runs.index(part) < runs.index(earlier[-1])
            self._again("effect", self._mode.effects, self._tally.effects, part if overtaken else earlier[-1])

    def _again(
        self,
        what: str,
        allowed: AbstractSet[Cause],
        counted: Counter[Cause],
        earlier: Part,
        *,
        recorded: bool | None = None,
    ) -> None:
        """`recorded`: whether the earlier attempt was, when it was met; in a batch others move on before the delivery ends."""
        recorded = earlier.recorded if recorded is None else recorded
        cause = cause_of(earlier, recorded=recorded)
        if cause is None and recorded and self._world.now >= earlier.worked_until + self._mode.life_ms:
            cause = Cause.FORGOTTEN
        if cause is None or cause not in allowed:
            raise Violation(f"a second {what} that nothing explains: {cause or 'no cause'}, after {earlier}")
        counted[cause] += 1

    # --- the end of each delivery, and of the schedule ---

    def _ended(self, worker: Worker) -> None:
        for part in worker.parts.values():
            self._part_ended(part, self._record(part.order))

    def _part_ended(self, part: Part, record: Item | None) -> None:
        match part.outcome:
            case Done(result, replayed, _):
                _demand(part.acknowledged, "what is done is acknowledged")
                _demand(_status(record) == "succeeded", f"acknowledged, but the record is {_status(record)}")
                winner = self._owner(record)
                _demand(result == str(winner), f"the result is {winner}'s, not {result!r}")
                _demand(replayed == (winner is not part), "a replay says so")
                return
            case Rejected(_, recorded):
                _demand(recorded and _status(record) == "failed", f"rejected, but the record is {_status(record)}")
                if part.effect:
                    self._tally.rejected[Cause.UNKNOWN] += 1
            case Busy(until):
                alone = len(part.worker.parts) == 1  # in a batch others may move on before it ends
                _demand(not alone or _status(record) == "in_progress", f"busy, but the record is {_status(record)}")
                _demand(not alone or until > part.worker.now_ms(), "busy until a moment that is over")
                _demand(not alone or self._owner(record) is not part, f"{part} waits for its own claim")
            case Unsettled(error):
                alone = len(part.worker.parts) == 1
                _demand(
                    not alone or _status(record) == "in_progress", f"unsettled, but the record is {_status(record)}"
                )
                met = self._attempt(error.record.claim_token, part.order)
                self._again("unsettled record", self._mode.held, self._tally.held, met, recorded=False)
            case Overtaken():
                _demand(part.worker.lapsed, f"{part} lost its claim although its lease never lapsed")
            case _:
                pass
        _demand(not part.acknowledged, "what is not done is not acknowledged")

    def finish(self) -> None:
        """The rules of the end."""
        self._tally.schedules += 1
        for order in self._world.orders:
            self._finish(order, _status(self._record(order)))

    def _finish(self, order: str, status: str) -> None:
        _demand(status in self._mode.final, f"in the end the record is {status}")
        if Cause.FORGOTTEN in self._mode.starts:
            return  # what the deliveries were told may be of an earlier life
        for message in self._world.messages:
            ending = message.endings[order]
            _demand(
                _ended_as(ending) == status,
                f"after {message.receives} receives a delivery ended as {ending}, the record is {status}",
            )
        runs, effects = self._world.runs[order], self._world.effects[order]
        if self._mode.writes or "succeeded" not in self._mode.final:
            _demand(len(effects) == int(status == "succeeded"), f"{len(effects)} effects, record {status}")
        if not any(worker.faults for worker in self._world.workers):
            _demand(len(runs) == self._mode.clean_starts, f"{len(runs)} starts although nothing failed")

    def _record(self, order: str) -> Item | None:
        key = primary_key(make_key(OPERATION, [order]))["pk"]["S"]
        return self._world.engine.tables[RECORDS].get((key,))


def _ended_as(outcome: Outcome | None) -> str | None:
    """The status of the record that an ending speaks of."""
    match outcome:
        case Done():
            return "succeeded"
        case Rejected(recorded=True):
            return "failed"
        case Unsettled():
            return "in_progress"
        case _:
            return None


def cause_of(earlier: Part, *, recorded: bool) -> Cause | None:
    """What became of an earlier attempt, so that another one could start. None if nothing did."""
    worker = earlier.worker
    if not earlier.ran:
        return Cause.COUNTED if earlier.counted else Cause.NOT_STARTED
    if recorded:
        if not earlier.raised:
            return None
        return Cause.UNKNOWN if earlier.effect else Cause.ASKED
    if worker.crashed:
        return Cause.DIED_AFTER if earlier.effect else Cause.DIED_BEFORE
    if _missed(earlier.outcome) and (worker.out_of_time or any(Fault.DENIED in fault for fault in worker.faults)):
        return Cause.UNRECORDED
    return Cause.STALLED if worker.lapsed else None


def _missed(outcome: Outcome | None) -> bool:
    """Whether the work had ended, and the table was not told."""
    return isinstance(outcome, Unavailable | Retry)


def _demand(holds: bool, rule: str) -> None:  # noqa: FBT001 - reads as a sentence
    if not holds:
        raise Violation(rule)


def _status(item: Item | None) -> str:
    return str(item["status"]["S"]) if item is not None else "absent"


def _token(item: Any) -> str:
    return str(item["claimToken"]["S"])


def _number(item: Any, name: str) -> int:
    return int(item[name]["N"])
