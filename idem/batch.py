"""One invocation's deliveries, from their arrival to their endings: claimed together, worked on in order, recorded together.

    Waiting  --claim-->  Claimed  --work-->  Worked  --record-->  Ending
       |                    |
       |                    '--too late, or its group has stopped: given back
       '--refused: Met, then its ending; a held one may wait until everything else is through

Deliveries go through in chunks of at most `TOGETHER_MAX` different keys: a chunk's claims travel in one call to the store. A chunk
is worked on in lanes: one lane of all of it or, with concurrency, one for each ordered group or delivery. What must come later,
because it waits for another attempt, for its group or for its twin, goes into further rounds, when nothing else can run.

Two deliveries of a batch with the same key and request are twins: the work runs once, and both get its outcome. Ordered groups do
not touch each other: where the first twin was kept back with its own group, the second one runs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from idem.clock import backoff_ms
from idem.delivery import Arrival, Done, Ending, NotStarted, Outcome, Unavailable
from idem.errors import ConfigurationError, IdemError
from idem.flow import TOO_LATE, WAIT_BASE_MS, WAIT_CAP_MS, Flow, Unrecorded, refusal
from idem.lanes import Call, CallEnd, Lane, Late, Raised, Returned
from idem.progress import Claimed, Met, Progress, Waiting, Worked, chunks, predecessors
from idem.record import Answer, Claim, Decided, Held, Key, Request
from idem.recorder import Recorder
from idem.store import Complete, broken, tried
from idem.writes import Commit

LOOKS_MS = 500  # what looking again at held keys may take when patience is over: a last look, but not at thousands


class Batch:
    """Takes the deliveries of one invocation to their endings. One object serves one invocation.

    ends_at: when the invocation ends (epoch ms), None without a Lambda context. plans: the work is a plan whose writes are guarded,
    so nothing is claimed before it. `endings` has one for each arrival, once `close` has returned.
    """

    def __init__(
        self,
        flow: Flow,
        arrivals: Sequence[Arrival],
        *,
        ends_at: int | None,
        plans: bool,
        concurrency: int,
        record_within_ms: float,
    ) -> None:
        self._flow = flow
        self._clock = flow.clock
        self._arrivals = arrivals
        self._ends_at = ends_at
        self._latest_start = math.inf if ends_at is None else ends_at - flow.reserve_ms
        self._plans = plans
        self._concurrency = concurrency
        self._recorder = Recorder(self._record, flow.clock, record_within_ms)
        self._late: list[Progress] = []
        self._patient_until: float | None = None  # set when the first key was held: from then on all wait together
        self._stopping = False
        self._twins: dict[int, int | None] = {}
        self.endings: list[Ending | None] = [None] * len(arrivals)
        self._before = predecessors(arrivals)

    def rounds(self, waiting: Sequence[Waiting]) -> Iterator[list[Lane]]:
        """The lanes to be run now, one round after the other: first all that can start, then what has to come later."""
        self._twins = {one.index: one.twin for one in waiting}
        for chunk in chunks(waiting):
            if self._stopping:
                return
            yield self._lanes(self._claim(chunk))
            self._recorder.catch_up()
        tries = 0
        while self._late and not self._stopping:
            late, self._late = sorted(self._late, key=lambda step: step.waiting.index), []
            if all(map(self._is_blocked, late)):
                tries = self._pause(tries)
                looked = self._clock.now_ms()
                late = [self._asked_again(step, looked) for step in late]
            yield self._lanes(late)
            self._recorder.catch_up()
        for one in waiting:
            if self.endings[one.index] is None and not self._stopping:
                self._share(one)

    def close(self) -> None:
        """Record what has ended. Raises what kept a recording from being made, and is no error of the store's."""
        self._recorder.close()

    def refuse(self, index: int, outcome: Outcome) -> None:
        """End an arrival that has no key."""
        self._end(index, None, outcome)

    # --- claiming ---

    def _claim(self, chunk: Sequence[Waiting]) -> list[Progress]:
        """Claim what the chunk needs, in one call. Twins and plans are not claimed here."""
        if self._plans:
            return list(chunk)
        began = self._clock.now_ms()
        wanting = [
            one for one in chunk if began <= self._latest_start and one.twin is None and not self._is_stopped(one)
        ]
        requests = [self._request(one) for one in wanting]
        answers = self._answers(requests)
        taken = self._clock.now_ms() - began
        steps: dict[int, Progress] = {one.index: one for one in chunk}
        for one, answer in zip(wanting, answers, strict=True):
            steps[one.index] = self._step(one, answer, taken)
        return list(steps.values())

    def _answers(self, requests: Sequence[Request]) -> Sequence[Answer | IdemError]:
        if len(requests) == 1:
            return [tried(partial(self._flow.store.claim, requests[0]))]
        try:
            return self._flow.store.claim_many(requests) if requests else ()
        except Exception as error:  # noqa: BLE001 - of a store of the user's own
            return [error if isinstance(error, IdemError) else broken(error)] * len(requests)

    def _request(self, one: Waiting, asked_at: int | None = None) -> Request:
        return self._flow.request(
            one.key,
            ends_at=self._ends_at,
            request_hash=one.request_hash,
            origin=one.delivery.origin,
            asked_at=asked_at,
        )

    def _step(self, one: Waiting, answer: Answer | IdemError, taken: int) -> Progress:
        if isinstance(answer, Claim):
            return Claimed(waiting=one, claim=answer, claim_ms=taken)
        if isinstance(answer, Held) and self._patient_until is None:
            patient_until = self._clock.now_ms() + self._flow.wait_ms
            self._patient_until = min(patient_until, self._latest_start)
        return Met(waiting=one, answer=answer, claim_ms=taken)

    def _claimed_now(self, one: Waiting) -> Progress:
        """Claim one key by itself, in its turn: what its first twin gave back is given back before."""
        self._recorder.catch_up()
        began = self._clock.now_ms()
        (answer,) = self._answers([self._request(one)])
        return self._step(one, answer, self._clock.now_ms() - began)

    # --- working ---

    def _lanes(self, steps: Sequence[Progress]) -> list[Lane]:
        if self._concurrency == 1:
            return [self._lane(steps)]
        lanes: dict[tuple[str, str | int], list[Progress]] = {}
        for step in steps:
            group = step.waiting.delivery.group
            lanes.setdefault(("one", step.waiting.index) if group is None else ("group", group), []).append(step)
        return [self._lane(lane) for lane in lanes.values()]

    def _lane(self, steps: Sequence[Progress]) -> Lane:
        """Take each delivery to its end, or keep it for a later round."""
        for step in steps:
            if self._stopping:
                return
            one, met = step.waiting, self._clock.now_ms()
            self._record_before(step)
            if self._is_blocked(step):
                self._late.append(step)
            elif self._is_stopped(one):
                self._not_started(step, NotStarted(f"an earlier message of group {one.delivery.group!r} was not done"))
            elif self._shares_with_twin(one):
                self._share(one)
            elif isinstance(step, Met):
                self._refused(step)
            elif isinstance(step, Waiting) and not self._plans and not self._is_over():
                self._late.append(self._claimed_now(step))  # a twin whose first one did not start, in its own turn
            else:
                self._recorder.starting()
                if (ready := self._ready(step)) is None:
                    self._recorder.ended()
                    continue
                began = self._clock.now_ms()
                try:
                    ended = yield self._call(ready)
                except BaseException:
                    self._stopping = True  # the process or the invocation ends: no other lane starts more
                    raise
                self._recorder.ended()
                self._ended(ready, ended, met, began)

    def _call(self, ready: Waiting | Claimed) -> Call:
        if isinstance(ready, Claimed):
            return Call(ready.waiting.delivery, ready.claim, self._flow.latest_start(ready.claim))
        return Call(ready.delivery, None, self._latest_start)

    def _record_before(self, step: Progress) -> None:
        """Record what must be recorded before this step: its group's last one, or all if this may kill the process."""
        before = self._before[step.waiting.index]
        suspect = step.waiting.delivery.receive_count > 1 or (isinstance(step, Claimed) and step.claim.attempt > 1)
        if suspect or step.waiting.twin is not None:
            self._recorder.catch_up()
        elif before is not None:
            self._recorder.catch_up(lambda: self.endings[before] is not None)
        else:
            self._recorder.flush_if_due()

    def _ready(self, step: Waiting | Claimed) -> Waiting | Claimed | None:
        """The step whose work starts now; None if it found another end."""
        if isinstance(step, Waiting):
            if self._plans and not self._is_over():
                return step
            self._not_started(step, TOO_LATE)
            return None
        claim = self._flow.ready(step.claim)
        if isinstance(claim, Claim):
            return step if claim is step.claim else replace(step, claim=claim)
        self._give_back(step, claim.given_back, claim.outcome)
        return None

    def _ended(self, step: Waiting | Claimed, ended: CallEnd, met: int, started: int) -> None:
        """The work has ended: a claimed one is recorded in time, a plan's writes are made now. met: when its turn had come."""
        now_ms = self._clock.now_ms()
        if isinstance(ended, Late):
            self._not_started(step, TOO_LATE, begun=self._flow.counts_starts)
            return
        if isinstance(step, Claimed):
            match ended:
                case Returned(value):
                    unrecorded = self._flow.returned(step.claim, value)
                case Raised(error):
                    unrecorded = self._flow.raised(step.claim, error)
            self._recorder.put(Worked(claimed=step, unrecorded=unrecorded, started=started, ended=now_ms))
        else:
            outcome, not_kept = self._guarded(step, ended, met)
            taken = self._clock.now_ms() - now_ms
            self._end(step.index, step.key, outcome, started=started, ended=now_ms, record_ms=taken, not_kept=not_kept)

    def _guarded(self, one: Waiting, ended: Returned | Raised, met: int) -> tuple[Outcome, str | None]:
        wanted = self._request(one, met)
        match ended:
            case Raised(error):
                return self._flow.reject(wanted, error), None
            case Returned(Commit() as commit):
                return self._flow.guard(wanted, commit)
            case Returned(value):
                wrong = ConfigurationError(f"a plan must return a Commit, not {type(value).__name__}")
                return self._flow.reject(wanted, wrong), None

    # --- what has to come later ---

    def _is_blocked(self, step: Progress) -> bool:
        """Whether the step's turn has not come: another attempt holds its key, or its group or its twin is not through."""
        one = step.waiting
        before = self._before[one.index]
        if (before is not None and self.endings[before] is None) or (
            one.twin is not None and self.endings[one.twin] is None and not self._shares_with_twin(one)
        ):
            return True
        return isinstance(step, Met) and isinstance(step.answer, Held) and self._is_patient()

    def _is_patient(self) -> bool:
        """Whether a held key is still waited for."""
        return self._patient_until is not None and self._clock.now_ms() < self._patient_until

    def _pause(self, tries: int) -> int:
        """Wait a little for the attempts that hold keys; how often that was done."""
        if self._patient_until is None:
            raise AssertionError("nothing is kept for later but by a key that is held")
        pause = backoff_ms(tries, base_ms=WAIT_BASE_MS, cap_ms=WAIT_CAP_MS, jitter=self._clock.jitter())
        self._clock.sleep_ms(max(0, min(pause, self._patient_until - self._clock.now_ms())))
        return tries + 1

    def _asked_again(self, step: Progress, began: int) -> Progress:
        """The step, asked for its key again if that was held and there is time for it in this round."""
        in_time = self._is_patient() or self._clock.now_ms() - began <= LOOKS_MS
        if not (isinstance(step, Met) and isinstance(step.answer, Held) and in_time):
            return step
        answer = tried(partial(self._flow.look_again, self._request(step.waiting)))
        return self._step(step.waiting, answer, step.claim_ms)

    # --- predicates: they ask, and change nothing ---

    def _is_stopped(self, one: Waiting) -> bool:
        """Whether the delivery's ordered group has come to a stop before it."""
        before = self._before[one.index]
        ending = None if before is None else self.endings[before]
        return ending is not None and not isinstance(ending.outcome, Done)

    def _is_over(self) -> bool:
        """Whether too little is left of the invocation to claim anything."""
        return self._clock.now_ms() > self._latest_start

    def _shares_with_twin(self, one: Waiting) -> bool:
        """Whether an earlier twin of the delivery has an ending that speaks for both."""
        earlier = self._ended_twin(one)
        return earlier is not None and not isinstance(earlier.outcome, NotStarted)

    def _ended_twin(self, one: Waiting) -> Ending | None:
        """The ending of the delivery's nearest earlier twin whose work ran or was refused; of its nearest one if none did."""
        found, index = None, one.twin
        while index is not None:
            ending = self.endings[index]
            if ending is not None and not isinstance(ending.outcome, NotStarted):
                return ending
            found, index = found or ending, self._twins[index]
        return found

    # --- endings ---

    def _record(self, items: Sequence[Worked]) -> None:
        began = self._clock.now_ms()
        outcomes = self._flow.record_many([item.unrecorded for item in items])
        taken = self._clock.now_ms() - began
        for item, outcome in zip(items, outcomes, strict=True):
            if item.ran:  # what was given back had its ending before
                self._end_claimed(item.claimed, outcome, worked=item, record_ms=taken)

    def _share(self, one: Waiting) -> None:
        """End a delivery as its twin ended."""
        first = self._ended_twin(one)
        if first is None:
            raise AssertionError(f"delivery {one.delivery.id} was left without an outcome")
        self._end(one.index, one.key, _again(first.outcome), started=first.started, attempt=first.attempt)

    def _refused(self, step: Met) -> None:
        one, answer = step.waiting, step.answer
        if isinstance(answer, IdemError):
            self._end(one.index, one.key, Unavailable(answer, ran=False), claim_ms=step.claim_ms)
        else:
            attempt = answer.record.attempt
            self._end(one.index, one.key, refusal(answer), attempt=attempt, claim_ms=step.claim_ms)

    def _not_started(self, step: Progress, reason: NotStarted, *, begun: bool = False) -> None:
        """End a delivery whose work was not started. Its claim is given back, so that the next delivery can start at once."""
        if isinstance(step, Claimed):
            self._give_back(step, self._flow.given_back(step.claim, reason, begun=begun), reason)
        else:
            self._end(step.waiting.index, step.waiting.key, reason)

    def _give_back(self, step: Claimed, given_back: Unrecorded | None, outcome: Outcome) -> None:
        """End a claimed delivery whose work was not started: its ending is the same whether the giving back succeeds or not."""
        if given_back is not None:
            now_ms = self._clock.now_ms()
            self._recorder.put(Worked(claimed=step, unrecorded=given_back, started=now_ms, ended=now_ms))
        self._end_claimed(step, outcome)

    def _end_claimed(
        self, step: Claimed, outcome: Outcome, *, worked: Worked | None = None, record_ms: int | None = None
    ) -> None:
        finish = worked.unrecorded.finish if worked and isinstance(outcome, Done) else None
        omitted = isinstance(finish, Complete) and finish.result.kind == "omitted"
        self._end(
            step.waiting.index,
            step.waiting.key,
            outcome,
            started=worked.started if worked else None,
            ended=worked.ended if worked else None,
            attempt=step.claim.attempt,
            starts=step.claim.starts,
            claim_ms=step.claim_ms,
            record_ms=record_ms,
            not_kept=finish.result.text if omitted and isinstance(finish, Complete) else None,
            decided=step.claim.decided[-1] if step.claim.decided else None,
        )

    def _end(
        self,
        index: int,
        key: Key | None,
        outcome: Outcome,
        *,
        started: int | None = None,
        ended: int | None = None,
        attempt: int | None = None,
        starts: int | None = None,
        claim_ms: int | None = None,
        record_ms: int | None = None,
        not_kept: str | None = None,
        decided: Decided | None = None,
    ) -> None:
        now_ms = self._clock.now_ms() if started is None or ended is None else 0
        self.endings[index] = Ending(
            operation=self._flow.operation,
            arrival=self._arrivals[index],
            outcome=outcome,
            key=key,
            started=now_ms if started is None else started,
            ended=now_ms if ended is None else ended,
            attempt=outcome.attempt if isinstance(outcome, Done) else attempt,
            starts=starts,
            claim_ms=claim_ms,
            record_ms=record_ms,
            not_kept=not_kept,
            decided=decided,
        )


def _again(first: Outcome) -> Outcome:
    """The outcome of a delivery whose key came earlier in the same batch."""
    return replace(first, replayed=True) if isinstance(first, Done) else first
