"""Keeps its own log of what was delivered, started, ended, written and acknowledged, and says which rule was broken.

It never asks the code under test. Its own facts: the world's time, the table's items as they change, and the runs of the work.
"""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from greenlet import getcurrent

from idem.policy import Kind
from tests.simulation.fibers import START_MS
from tests.simulation.parts import UNREADABLE, Invocation, Message, Run, Success
from tests.simulation.rules import Rule
from tests.simulation.works import EITHER, ForgottenError, PermanentError, TransientError

if TYPE_CHECKING:
    from tests.simulation.environment import Environment
    from tests.simulation.world import World

LAST_RECEIVES, LAST_PAUSE_MS = 8, 120_000  # a probe that is received again and again takes no longer
ONLY_BEGUN = {"begin"}  # a start that could not be counted, and nothing else went wrong
SLACK_MS = 1  # two things of one moment have no order
TURN_MS = 10  # near the end a lane may send the outcome of another one first
RECORDS_BEFORE_END_MS = (
    1_000  # however long outcomes may wait for each other: a throttled recording can be repeated then
)
STOPS_REPEATING_MS = 1_500  # the store gives up so long before an invocation's end: pauses and an answer must fit


@dataclass(frozen=True, slots=True)
class Breach:
    """A rule that was broken in a world, and how."""

    rule: Rule
    what: str

    def __str__(self) -> str:
        return f"{self.rule.name}: {self.what}"


class Referee:
    """Sits in one world. `breach` is the first rule that was broken."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.breach: Breach | None = None
        self.runs: dict[str, list[Run]] = {}
        self.successes: dict[str, list[Success]] = {}
        self.rejected: dict[str, list[float]] = {}
        self._rejections: dict[str, list[tuple[float, str | None]]] = {}  # the same with the content that was rejected
        self.contents: dict[str, str] = {}  # request hash -> content
        self._drawn: dict[str, Invocation] = {}
        self._by_token: dict[str, Run] = {}
        self._claimed_at: dict[str, float] = {}
        self._life_from: dict[str, int] = {}  # how many runs there were when the life of a key's record began
        self._claimed_content: dict[str, set[str]] = {}
        self._open: dict[Environment, dict[str, Run]] = {}
        self._troubled: set[str] = set()
        self._counted: dict[str, list[str]] = {}  # tokens whose claim has counted the start of its work
        self._asked: dict[str, set[str]] = {}  # what was asked with a token since its invocation met trouble
        self._deleted: set[str] = set()
        self._effects: dict[str, list[Run | Success]] = {}
        self._spans: dict[str, list[list[Any]]] = {}  # key -> spans in which it was in progress: from, to, token, lease
        self._last_success: Success | None = None

    def broken(self, rule: Rule, what: str) -> None:
        if self.breach is None:
            self.breach = Breach(rule, what)
            self.world.hub.stopped = True

    @property
    def _now(self) -> float:
        return self.world.hub.now

    @property
    def _blurred(self) -> bool:
        """Whether the clocks differ by more than the margin: then times say nothing."""
        return self.world.settings.clocks == "outside the margin"

    # --- what the process does ---

    def token_drawn(self, token: str, invocation: Invocation) -> None:
        self._drawn[token] = invocation
        invocation.tokens.append(token)

    def sent(
        self, environment: Environment, invocation: Invocation, operation: str, request: Mapping[str, Any], fault: str
    ) -> bool:
        """A request leaves a process; whether it carries the outcome of a run."""
        open_runs = self._open.get(environment)
        if not open_runs and fault == "none" and not invocation.troubled:
            return False
        text = repr(request)
        for token in invocation.tokens:
            if token in text:
                begins = operation == "update_item" and "status" not in request["UpdateExpression"]
                self._asked.setdefault(token, set()).add("begin" if begins else operation)
        if fault not in {"none", "slow", "slow answer"}:
            self._troubled.update(token for token in self._drawn if token in text)
        for token, run in list((open_runs or {}).items()):
            if open_runs is not None and token in text:
                del open_runs[token]
                run.sent_at = self._now
                self._in_time(run)
        return any(run.token is not None and run.ended_at is not None and run.token in text for run in invocation.runs)

    def _in_time(self, run: Run) -> None:
        """Whether an outcome is sent, or lost with its process, no later than it should have been sent."""
        if run.ended_at is None:
            return
        due = run.ended_at + self.world.settings.record_within
        if run.lease_ends_at is not None:
            due = min(due, max(run.lease_ends_at, run.ended_at))
        if run.invocation.ends_at is not None:
            due = min(due, max(run.invocation.ends_at - RECORDS_BEFORE_END_MS, run.ended_at + TURN_MS))
        environment = run.invocation.environment
        of_its_fiber = environment.table.recordings.get(getcurrent(), ())  # of one flush, sent one after the other
        # A loop that is blocked hears of an end only afterwards: its time to be recorded counts from there.
        blocked = [(begun, ended + self.world.settings.record_within) for begun, ended in run.invocation.blocked]
        for begun, ended in sorted([*map(tuple, environment.frozen_spans), *blocked, *map(tuple, of_its_fiber)]):
            if begun <= due + SLACK_MS:
                due = max(due, ended)
        if self._now > due + SLACK_MS:
            late = self._now - run.ended_at
            self.broken(
                Rule.RECORDED_IN_TIME,
                f"{run} ended {late:.0f} ms ago and its outcome was not sent before; record_within is"
                f" {self.world.settings.record_within} ms",
            )

    def started(self, key: str, content: str, claim: Any, invocation: Invocation) -> Run:
        runs = self.runs.setdefault(key, [])
        skew = invocation.environment.clock.skew_ms
        run = Run(
            key=key,
            number=len(runs) + 1,
            content=content,
            invocation=invocation,
            token=claim.token if claim is not None else None,
            attempt=claim.attempt if claim is not None else 0,
            lease_until=claim.lease_until if claim is not None else None,
            started_at=self._now,
        )
        if claim is not None:
            run.lease_ends_at = claim.lease_until - skew
            self._by_token[claim.token] = run
        runs.append(run)
        invocation.runs.append(run)
        self.world.tally.runs += 1
        self.world.note(invocation, f"{run} starts, attempt {run.attempt}")
        self._may_start(run)
        return run

    def _may_start(self, run: Run) -> None:
        settings, invocation = self.world.settings, run.invocation
        if run.lease_ends_at is not None and self._now >= run.lease_ends_at:
            self.broken(
                Rule.LEASE_LIVES, f"{run} starts {self._now - run.lease_ends_at:.0f} ms after its lease was over"
            )
        if settings.timeout is not None and settings.source != "once" and invocation.ends_at is not None:
            left = invocation.ends_at - self._now
            if left < settings.reserve - SLACK_MS:
                self.broken(
                    Rule.RESERVE_IS_LEFT,
                    f"{run} starts {left:.0f} ms before the end; the reserve is {settings.reserve}",
                )
        most = settings.policy.starts_max
        if most is not None and run.token is not None and not self._blurred and self._starts_of_life(run.key) > most:
            self.broken(Rule.STARTS_MAX, f"{run} is a start more than the limit of {most}")
        self._not_held_up(run)
        self._behind_records(run)
        if settings.grouped and settings.mode != "guard":  # a plan may be called for a duplicate, and raise
            self._in_order(run)

    def _behind_records(self, run: Run) -> None:
        """One at a time, what may kill the process starts when the others are recorded: it came before, or was taken over."""
        invocation = run.invocation
        came = [
            count
            for message, count in zip(invocation.messages, invocation.receives, strict=True)
            if message.key == run.key
        ]
        if self.world.settings.concurrency > 1 or not (run.attempt > 1 or (came and min(came) > 1)):
            return
        for one in invocation.runs:
            if one.token is not None and one.ended_at is not None and one.sent_at is None:
                self.broken(
                    Rule.RECORDED_BEFORE_A_SUSPECT,
                    f"{run} starts, which may kill the process, and {one} is not recorded",
                )

    def _in_order(self, run: Run) -> None:
        """In a batch, nothing of a group starts behind what was not done or is not recorded."""
        invocation = run.invocation
        own = [message for message in invocation.messages if message.key == run.key]
        groups = {message.group: message for message in reversed(own)}
        if len(groups) != 1:
            return  # twins of several groups: which of them it runs for is not seen from here
        first = own[0]
        earlier = {
            message.key
            for message in invocation.messages
            if message.group == first.group and invocation.messages.index(message) < invocation.messages.index(first)
        }
        for one in invocation.runs:
            if one.key not in earlier or one.ended_at is None or self.rejected.get(one.key):
                continue
            if not one.done:
                self.broken(Rule.GROUP_ORDER, f"{run} starts, and {one} before it in group {first.group} was not done")
            elif one.token is not None and one.sent_at is None:
                self.broken(
                    Rule.GROUP_ORDER, f"{run} starts, and {one} before it in group {first.group} is not recorded"
                )

    def _starts_of_life(self, key: str) -> int:
        """The starts of a key since its record was forgotten or its life was over."""
        return len(self.runs.get(key, ())) - self._life_from.get(key, 0)

    def _starts_at_most(self, key: str) -> int:
        """The same with those that were counted, and whose process or whose table failed before the work could start."""
        unheard = [token for token in self._counted.get(key, ()) if token not in self._by_token]
        return self._starts_of_life(key) + sum(
            bool(one.troubled or one.stalled or one.killed) for one in map(self._drawn.__getitem__, unheard)
        )

    def _not_held_up(self, run: Run) -> None:
        invocation = run.invocation
        claimed = self._claimed_at.get(run.token or "")
        if claimed is None or invocation.troubled or self.world.settings.grouped:
            return
        for begun, ended, key in invocation.waits:
            if claimed > begun or ended > self._now or key == run.key:
                continue
            idle = not any(
                one is not run and one.started_at < ended and (one.ended_at or self._now) > begun
                for one in invocation.runs
            )
            if idle:
                self.broken(
                    Rule.WAITING_DELAYS_NOBODY,
                    f"{run} was claimed and could start, while {invocation} waited {ended - begun:.0f} ms for {key}",
                )

    def ended(self, run: Run, *, done: bool, error: BaseException | None = None, never_ran: bool = False) -> None:
        if run.ended_at is not None:
            return
        run.ended_at, run.done, run.error, run.never_ran = self._now, done, error, never_ran
        run.invocation.interrupted |= isinstance(error, KeyboardInterrupt)
        if run.invocation.interrupted and isinstance(error, KeyboardInterrupt | CancelledError):
            run.died_at = self._now  # the process ends by it: how the work would have ended, nobody knows
        elif run.token is not None:
            self._open.setdefault(run.invocation.environment, {})[run.token] = run
        self.world.note(run.invocation, f"{run} ends: {run.ending}" + (f" ({type(error).__name__})" if error else ""))

    def effect(self, run: Run) -> None:
        """The effect of work in claim mode is made now."""
        self.world.note(run.invocation, f"{run} makes its effect")
        run.effect_at = self._now
        for earlier in self.runs[run.key]:
            if earlier is not run and earlier.effect_at is not None:
                self._may_be_made_again(earlier, run)

    def _may_be_made_again(self, earlier: Run, run: Run) -> None:
        """Whether a row of the README's table allows the effects of these two runs, of which the second is made now."""
        first, second = (earlier, run) if self._claim_of(earlier) <= self._claim_of(run) else (run, earlier)
        why = self._why_again(first, self._claim_of(second))
        if why is None:
            self.broken(Rule.ONCE, f"{run} makes the effect that {earlier} has made; no row of the table allows it")
        else:
            self.world.tally.again[why] = self.world.tally.again.get(why, 0) + 1

    def _claim_of(self, run: Run) -> float:
        return self._claimed_at.get(run.token or "", run.started_at)

    def _why_again(self, first: Run, claimed: float) -> str | None:
        """Why a key could be claimed at this time, after `first` had started: None if nothing allows it."""
        if self._blurred:
            return "clocks further apart than the margin"
        if first.recorded_at is not None and first.recorded_at <= claimed:
            if self._life_is_over(first, claimed):
                return "its life was over"
            if first.recorded == "succeeded" or not self._may_be_tried_again(first):
                return None
            return "it raised, and may be tried again"
        if first.raised:
            return "it raised, and may be tried again"
        if first.died_at is not None:
            return "its process died"
        if first.token in self._troubled:
            return "the table missed its recording"
        if first.lease_ends_at is not None and claimed >= first.lease_ends_at:
            return "its lease was over"
        return None

    def _life_is_over(self, run: Run, at: float) -> bool:
        retention = self.world.settings.retention
        return (
            retention is not None
            and run.ended_at is not None
            and at >= run.ended_at + retention - self.world.settings.margin
        )

    def _may_be(self, run: Run, kind: Kind) -> bool:
        """Whether how a run ended may mean this to its record."""
        policy, error = self.world.settings.policy, run.error
        if not isinstance(error, Exception):
            return kind in {policy.otherwise, Kind.TRANSIENT}  # what is no Exception, and what shows that nothing ran
        classified = self.world.choices.taken["classify"][1]
        if classified == "raises":
            return kind is policy.otherwise
        listed = LISTED.get(type(error), policy.otherwise)
        return kind is listed or (classified == "junk" and kind is policy.otherwise)

    def _may_be_tried_again(self, run: Run) -> bool:
        return self._may_be(run, Kind.TRANSIENT) or self._may_be(run, Kind.FORGET)

    def forgotten(self, key: str, item: Mapping[str, Any]) -> None:
        """TTL has deleted a record whose life was over."""
        self._closed(key, item)
        self._deleted.add(_text(item, "claimToken"))

    def process_died(self, environment: Environment) -> None:
        for run in environment.busy.runs if environment.busy else ():
            if run.recorded is None and run.died_at is None:
                run.died_at = self._now
                if run.sent_at is None and run.token is not None:
                    self._in_time(run)
        self._open.pop(environment, None)

    # --- what the table holds ---

    def record_changed(self, key: str, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> None:
        token = _text(after, "claimToken") or _text(before, "claimToken")
        status = _text(after, "status")
        if status == "in_progress":
            self._claimed(key, before, after or {}, token)
        else:
            self._closed(key, before)
            self._outcome(key, token, status, before, after)

    def _claimed(self, key: str, before: Mapping[str, Any] | None, after: Mapping[str, Any], token: str) -> None:
        attempt, lease = int(_number(after, "attempt")), _number(after, "leaseUntil")
        expires = _number(after, "expiresAt")
        renewed = before is not None and _text(before, "claimToken") == token
        if expires and expires * 1000 < lease:
            self.broken(
                Rule.LEASE_WITHIN_LIFE, f"the record of {key} expires {lease - expires * 1000:.0f} ms before its lease"
            )
        if renewed:
            if _number(after, "starts") > _number(before, "starts"):
                self._counted.setdefault(key, []).append(token)
            return
        self._claimed_at[token] = self._now
        if before is None or (_number(before, "expiresAt") and _number(before, "expiresAt") * 1000 <= self._now):
            self._life_from[key] = len(self.runs.get(key, ()))
        content = self.contents.get(_text(after, "requestHash"))
        if content is not None:
            self._claimed_content.setdefault(key, set()).add(content)
        if before is not None and _text(before, "status") == "in_progress":
            if attempt <= _number(before, "attempt"):
                self.broken(
                    Rule.ATTEMPTS_RISE, f"{key}: attempt {attempt} took over attempt {_number(before, 'attempt'):.0f}"
                )
            holder = self._drawn.get(_text(before, "claimToken"))
            if holder is not None and not self._blurred:
                left = _number(before, "leaseUntil") - (self._now + holder.environment.clock.skew_ms)
                if left > 0:
                    self.broken(Rule.LEASE_IS_KEPT, f"{key} was taken over {left:.0f} ms before its lease was over")
        self._closed(key, before)
        self._spans.setdefault(key, []).append([self._now, float("inf"), token, lease])

    def _closed(self, key: str, before: Mapping[str, Any] | None) -> None:
        if before is not None and self._spans.get(key):
            self._spans[key][-1][1] = min(self._spans[key][-1][1], self._now)

    def _outcome(
        self, key: str, token: str, status: str, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None
    ) -> None:
        run = self._by_token.get(token)
        if run is not None:
            run.recorded, run.recorded_at = status or "absent", self._now
        over_another = before is not None and after is not None and _text(before, "claimToken") != token
        if over_another and self.world.settings.mode != "guard":
            self.broken(Rule.FENCED, f"{key}: an outcome was written over another claim's record")
        if run is None and self.world.settings.mode == "guard":
            run = self._planned(key, token)
        expires = _number(after, "expiresAt") if after is not None else 0
        if status == "succeeded":
            if run is not None and not run.done:
                self.broken(Rule.ONLY_DONE_IS_SUCCEEDED, f"{run} is recorded as succeeded; it ended with {run.ending}")
            content = run.content if run is not None else None
            success = Success(key, token, self._now, expires * 1000 if expires else None, content, run)
            self.successes.setdefault(key, []).append(success)
            self._last_success = success
        if status == "failed" and after is not None:
            most = self.world.settings.policy.starts_max
            used_up = most is not None and _number(after, "starts") >= most
            if used_up or not after["error"]["M"]["reclaimable"]["BOOL"]:
                self.rejected.setdefault(key, []).append(self._now)
                content = self.contents.get(_text(after, "requestHash"))
                self._rejections.setdefault(key, []).append((self._now, content))
        if status in {"succeeded", "failed"} and run is not None and run.ended_at is not None:
            self._lives_long_enough(run, expires)

    def _planned(self, key: str, token: str) -> Run | None:
        """The run of a plan whose transaction carries this token."""
        invocation = self._drawn.get(token)
        runs = [run for run in invocation.runs if run.key == key] if invocation is not None else []
        return runs[-1] if runs else None

    def _lives_long_enough(self, run: Run, expires: float) -> None:
        retention = self.world.settings.retention
        if retention is None or run.ended_at is None or not expires:
            return
        wanted = run.ended_at + run.invocation.environment.clock.skew_ms + retention
        if expires * 1000 < wanted - SLACK_MS:
            self.broken(
                Rule.LIFE_FROM_OUTCOME,
                f"the record of {run} ends {(wanted - expires * 1000) / 1000:.1f} s earlier than its outcome and the retention say",
            )

    def committed(self, key: str) -> None:
        """The effect of a transaction is written now, together with the record that changed just before."""
        success = self._last_success
        if success is None or success.key != key or success.at != self._now:
            self.broken(Rule.FENCED, f"a write for {key} was committed without its record")
            return
        if success.run is not None:
            success.run.effect_at = self._now
        for earlier in self._effects.setdefault(key, []):
            if isinstance(earlier, Success) and not self._is_over(earlier):
                self.broken(
                    Rule.ONCE, f"the effect of {key} is committed again by {success.run}, first by {earlier.run}"
                )
        self._effects[key].append(success)

    def _is_over(self, success: Success) -> bool:
        """Whether the life of a success is over by some clock, so that its work may be done again."""
        if success.expires_at is None:
            return False
        skew = 40_000 if self._blurred else 2 * self.world.settings.margin
        return self._now + skew >= success.expires_at

    # --- what the sender gets ---

    def returned(self, invocation: Invocation, error: BaseException | None) -> None:
        """The handler has returned or raised."""
        self._left_open(invocation)
        if error is not None:
            self._may_leave(invocation, error)

    def _left_open(self, invocation: Invocation) -> None:
        open_runs = self._open.get(invocation.environment, {})
        for run in list(open_runs.values()):
            if run.invocation is invocation:
                self.broken(
                    Rule.RECORDED_IN_TIME, f"{invocation} is over, and the outcome of {run} was not sent to the table"
                )
        if invocation.stalled or invocation.interrupted or self._blurred:
            return
        if invocation.ends_at is not None and invocation.ends_at - self._now < STOPS_REPEATING_MS:
            return
        for token in invocation.tokens:
            held_by = self._by_token.get(token)
            begun_in_vain = held_by is None and len(invocation.troubled) == 1 and self._asked.get(token) == ONLY_BEGUN
            begun_in_vain &= self.world.settings.mode != "guard"  # a plan has no start that is counted
            if invocation.troubled and not begun_in_vain:
                continue  # who knows what became of the claim, or of what ends it
            what = (
                f"after {held_by} ended with {held_by.ending}"
                if held_by is not None
                else "and its work was not started"
            )
            for key, spans in self._spans.items():
                if spans and spans[-1][2] == token and spans[-1][1] == float("inf"):
                    self.broken(
                        Rule.CLAIMS_END, f"{invocation} is over, its claim on {key} is still in progress, {what}"
                    )

    def _may_leave(self, invocation: Invocation, error: BaseException) -> None:
        """Whether this error may leave the handler."""
        settings = self.world.settings
        if settings.source == "once":
            self._own_error(invocation, error)
            return
        if isinstance(error, KeyboardInterrupt) and invocation.interrupted:
            return  # the process ends by it, and what had ended was recorded
        if settings.source == "invoke" and type(error).__name__ == "Undone":
            return
        self.broken(
            Rule.ENDINGS_ARE_APART,
            f"{type(error).__name__} left the handler of {invocation}, {[str(one) for one in invocation.messages]}: {_said(error)}",
        )

    def _own_error(self, invocation: Invocation, error: BaseException) -> None:
        """What a call of a function raises is its work's own error, if that ran and raised."""
        runs = [run for run in invocation.runs if run.error is not None]
        if not runs:
            return
        own = runs[-1].error
        wrapped = isinstance(own, StopIteration) and own in {error.__cause__, error.__context__}  # by a coroutine
        if wrapped or isinstance(error, TimeoutError) or type(error) is type(own):
            return
        self.broken(
            Rule.OWN_ERROR_IS_SHOWN, f"{runs[-1]} raised {type(own).__name__}, and the call raised {_said(error)}"
        )

    def acknowledged(self, message: Message, invocation: Invocation, *, rejected_too: bool) -> None:
        """The sender will not send this again. rejected_too: a recorded rejection may be acknowledged."""
        self.world.note(invocation, f"{message} is acknowledged")
        if message.buried:
            return
        lives = [one for one in self.successes.get(message.key, ()) if self._lived(one, invocation)]
        if any(one.content in {None, message.content} or not self.world.settings.check for one in lives):
            return
        since = max((one.at for one in lives), default=0)
        if rejected_too and any(
            at > since and content == message.content for at, content in self._rejections.get(message.key, ())
        ):
            return  # what it is answered by is of its own content, and newer than what was done with another one
        if self.world.settings.check and self._answered_for_another(message, lives):
            self.broken(
                Rule.MISMATCH_IS_TOLD,
                f"{message} came with another content than its key had before, and was acknowledged; nobody is told",
            )
            return
        if rejected_too and self.rejected.get(message.key):
            return
        self.broken(
            Rule.ACKNOWLEDGED_IS_RECORDED,
            f"{message} is acknowledged, and no record of {message.key} says that it is done",
        )

    def _lived(self, success: Success, invocation: Invocation) -> bool:
        skew = 40_000 if self._blurred else 2 * self.world.settings.margin
        return success.expires_at is None or success.expires_at + skew >= invocation.started_at

    def undone(self, message: Message, invocation: Invocation) -> None:
        """The function reported a message as undone."""
        invocation.undone.add(message.number)
        self.world.note(invocation, f"{message} is reported undone")
        if not self._reason(message, invocation):
            self.broken(
                Rule.REASON_FOR_FAILING,
                f"{message} ({message.key}, {message.group}) is reported undone by {invocation}, and nothing was in its way",
            )

    def _reason(self, message: Message, invocation: Invocation) -> str | None:
        settings = self.world.settings
        if message.content == UNREADABLE:
            return "it cannot be read"
        if invocation.troubled or invocation.stalled or self._blurred:
            return "trouble"
        if any(run.key == message.key and (not run.done or run.ending in EITHER) for run in invocation.runs):
            return "its work did not end well"
        if settings.timeout is not None and invocation.ends_at is not None:
            if invocation.ends_at - self._now < settings.reserve + STOPS_REPEATING_MS:
                return "the time was too short"
        elif self._now - invocation.started_at > settings.horizon - settings.reserve - STOPS_REPEATING_MS:
            return "the lease was over"
        if settings.check and (self._other_content(message, invocation) or self._claimed_with_other_content(message)):
            return "another content"
        lost = self._deleted | self._taken_over(message.key)
        if any(run.key == message.key and run.token in lost for run in invocation.runs):
            return "its claim was lost"
        if self.rejected.get(message.key) and self._finally(message):
            return "a stored failure"
        return self._in_its_way(message, invocation)

    def _in_its_way(self, message: Message, invocation: Invocation) -> str | None:
        settings = self.world.settings
        for begun, ended, token, lease in self._spans.get(message.key, ()):
            if self._drawn.get(token) is invocation or ended < invocation.started_at or begun > self._now:
                continue
            lapsed = lease + self._skew_of(token) + 2 * settings.margin + 2_000
            if lapsed >= invocation.started_at:
                return "another attempt was at work on it"
            if self._is_held():
                return "held"
            if (
                settings.policy.starts_max is not None
                and self._starts_at_most(message.key) >= settings.policy.starts_max
            ):
                return "no starts are left"
        if settings.grouped:
            for other in invocation.messages:
                if other is message:
                    return None
                if other.group == message.group and self._failed(other, invocation):
                    return "an earlier one of its group"
        return None

    def _failed(self, message: Message, invocation: Invocation) -> bool:
        return (
            message.number in invocation.undone
            or message.buried
            or message.state == "dead"  # meanwhile, because it was not done in time
            or bool(self.rejected.get(message.key))
            or any(run.key == message.key and not run.done for run in invocation.runs)
        )

    def _skew_of(self, token: str) -> float:
        holder = self._drawn.get(token)
        return -holder.environment.clock.skew_ms if holder is not None else 0

    def _is_held(self) -> bool:
        return self.world.settings.policy.lapsed.value == "hold"

    def _taken_over(self, key: str) -> set[str]:
        return {span[2] for span in self._spans.get(key, ())[:-1]}

    def _finally(self, message: Message) -> bool:
        """Whether a stored failure of its key is right to be final."""
        runs = self.runs.get(message.key, [])
        most = self.world.settings.policy.starts_max
        return any(run.raised and self._may_be(run, Kind.PERMANENT) for run in runs) or (
            most is not None and self._starts_at_most(message.key) >= most
        )

    def _other_content(self, message: Message, invocation: Invocation) -> bool:
        contents = {run.content for run in self.runs.get(message.key, ())}
        contents |= {one.content for one in invocation.messages if one.key == message.key}
        return bool(contents - {message.content})

    def _answered_for_another(self, message: Message, lives: Sequence[Success]) -> bool:
        """Whether the key says something of another content, and nothing of this message's."""
        if lives:
            return True
        ran = any(run.content == message.content for run in self.runs.get(message.key, ()))
        return not ran and self._claimed_with_other_content(message)

    def _claimed_with_other_content(self, message: Message) -> bool:
        return any(content != message.content for content in self._claimed_content.get(message.key, ()))

    def result_shown(self, key: str, shown: str, invocation: Invocation) -> None:
        """A sender was shown the result of a key. Results that are not kept are shown as such."""
        lives = [one for one in self.successes.get(key, ()) if self._lived(one, invocation)]
        if not lives or lives[-1].run is None:
            return
        success = lives[-1]
        if "resultOmitted" in shown or "NotKept" in shown:
            return
        if success.result is None:
            success.result = shown
            if success.run is not None and success.run.ending == "names that meet" and "number" not in shown:
                self.broken(Rule.RESULT_IS_WHOLE, f"{success.run} returned two members, and the answer is {shown}")
            return
        run = success.run
        if success.result != shown and run is not None and run.ending in KEPT:
            self.broken(Rule.REPLAY_IS_THE_SAME, f"{key} was answered with {success.result} and now with {shown}")

    # --- the end ---

    def done_for(self, key: str) -> int:
        """How much was done for a key: starts of its work or, of a plan, that may be called for a duplicate, its successes."""
        return len((self.successes if self.world.settings.mode == "guard" else self.runs).get(key, ()))

    def expected_to_run(self, key: str, item: Mapping[str, Any] | None) -> bool | None:
        """Whether one more delivery in a healthy and quiet world runs the work; None where both are right."""
        settings = self.world.settings
        if self._blurred or self._leaves_no_time():
            return None
        if item is None:
            return True
        expires = _number(item, "expiresAt")
        if expires and expires * 1000 <= self._now:
            return True if expires * 1000 + settings.margin + 10_000 < self._now else None
        if expires and expires * 1000 < self._now + LAST_RECEIVES * max(settings.visibility, LAST_PAUSE_MS):
            return None
        runs = self.runs.get(key, [])
        most = settings.policy.starts_max
        match _text(item, "status"):
            case "succeeded":
                return False
            case "failed":
                if most is not None and self._starts_at_most(key) >= most:
                    return None
                return None if any(run.raised and self._may_be(run, Kind.PERMANENT) for run in runs) else True
            case _:
                begun = _number(item, "starts") and "unstarted" not in item
                if self._is_held() and (begun or _text(item, "claimToken") in self._by_token):
                    return False
                if most is not None and self._starts_at_most(key) >= most:
                    return None
                return True

    def _leaves_no_time(self) -> bool:
        """Whether the reserve is as long as an invocation, so that nothing can ever start."""
        settings = self.world.settings
        return settings.source != "once" and settings.reserve + 200 >= settings.horizon


LISTED: Mapping[type[Exception], Kind] = {
    TransientError: Kind.TRANSIENT,
    PermanentError: Kind.PERMANENT,
    ForgottenError: Kind.FORGET,
}
KEPT = frozenset({"ok", "None", "text", "tuple", "result id", "http shape", "names that meet", "commit"})


def _text(item: Mapping[str, Any] | None, name: str) -> str:
    return str(item[name]["S"]) if item is not None and name in item else ""


def _number(item: Mapping[str, Any] | None, name: str) -> float:
    return float(item[name]["N"]) if item is not None and name in item else 0


def _said(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"[:200]
    except Exception:  # noqa: BLE001 - an error whose text raises
        return type(error).__name__


def since(at: float) -> str:
    return f"{(at - START_MS) / 1000:.3f} s"
