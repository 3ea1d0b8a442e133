"""A consumer: event -> deliveries -> key -> claim -> work -> record -> outcomes -> Lambda's answer."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from idem.canonical import request_hash
from idem.clock import Clock, SystemClock, new_token
from idem.delivery import (
    Arrival,
    Delivery,
    Done,
    Ending,
    NotStarted,
    Outcome,
    Rejected,
    Source,
    Unavailable,
    Unreadable,
)
from idem.errors import CorruptRecord, InputRefused, MissingKeyPart, StoreUnavailable
from idem.flow import Flow, refusal
from idem.keys import KeyRule, check_operation, make_key
from idem.policy import Policy
from idem.record import Claim, Key
from idem.store import Store

RESERVE = timedelta(
    milliseconds=500
)  # work that starts later than this before the invocation's end could not be recorded

Work = Callable[[Delivery, Claim], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Consumer:
    """Runs `work` once for each key, and is the Lambda handler: `consumer(event, context)`.

    operation: the name of the kind of work; part of every key, so it outlives any renaming of code.
    source: what reads the event and answers it. key: which deliveries are the same work. store: where records are kept.
    work: called with the delivery and the claim; what it returns is the result, or a Commit to write in one transaction.
    check: what of the payload must be equal whenever the key is; a difference is refused.
    observe: told how each delivery ended. reserve: no work is started later than this before the invocation's end.
    """

    operation: str
    source: Source
    key: KeyRule
    work: Work
    policy: Policy
    store: Store
    check: Callable[[Delivery], object] | None = None
    observe: Callable[[Ending], None] | None = None
    reserve: timedelta = RESERVE
    clock: Clock = field(default_factory=SystemClock)
    token: Callable[[], str] = new_token

    def __post_init__(self) -> None:
        check_operation(self.operation)

    def __call__(self, event: Any, context: Any = None) -> Any:
        """Lambda's entry. Raises WrongEvent for an event that is not this source's."""
        ends_at = self._ends_at(context)
        arrivals = self.source.read(event, self.clock.now_ms())
        return self.source.reply(self._run_all(arrivals, ends_at), self.clock.now_ms())

    def _run_all(self, arrivals: Sequence[Arrival], ends_at: int | None) -> list[Ending]:
        """One ending for each arrival, in order. A group stops at its first failure; a key runs once in a batch."""
        stopped: set[str] = set()
        seen: dict[tuple[Key, str | None], Outcome] = {}
        endings: list[Ending] = []
        for arrival in arrivals:
            started = self.clock.now_ms()
            reason = self._not_started(arrival, ends_at, stopped)
            key, outcome = (None, reason) if reason else self._run_one(arrival, ends_at, seen)
            if arrival.group is not None and not isinstance(outcome, Done):
                stopped.add(arrival.group)
            ending = Ending(
                operation=self.operation,
                arrival=arrival,
                outcome=outcome,
                key=key,
                started=started,
                ended=self.clock.now_ms(),
            )
            self._tell(ending)
            endings.append(ending)
        return endings

    def _not_started(self, arrival: Arrival, ends_at: int | None, stopped: set[str]) -> NotStarted | None:
        if arrival.group is not None and arrival.group in stopped:
            return NotStarted(f"an earlier message of group {arrival.group!r} was not done")
        if ends_at is not None and self.clock.now_ms() + self.reserve.total_seconds() * 1000 > ends_at:
            return NotStarted("the invocation ends too soon to start it")
        return None

    def _run_one(
        self, arrival: Arrival, ends_at: int | None, seen: dict[tuple[Key, str | None], Outcome]
    ) -> tuple[Key | None, Outcome]:
        if isinstance(arrival, Unreadable):
            return None, Rejected(arrival.error, recorded=False)
        try:
            key, checked = self.key_of(arrival), self._request_hash(arrival)
        except InputRefused as error:
            return None, Rejected(error, recorded=False)
        outcome = _again(seen.get((key, checked))) or self._claim_and_work(arrival, key, checked, ends_at)
        seen[key, checked] = outcome
        return key, outcome

    def _claim_and_work(self, delivery: Delivery, key: Key, checked: str | None, ends_at: int | None) -> Outcome:
        flow = self._flow()
        try:
            answer = flow.claim(key, ends_at=ends_at, request_hash=checked, origin=delivery.origin)
        except (StoreUnavailable, CorruptRecord) as error:
            return Unavailable(error, ran=False)
        if not isinstance(answer, Claim):
            return refusal(answer)
        try:
            value = self.work(delivery, answer)
        except Exception as error:  # noqa: BLE001 - the user's work may raise anything; its policy says what that means
            return flow.record_error(answer, error)
        return flow.record(answer, value)

    def key_of(self, delivery: Delivery) -> Key:
        """The key of a delivery. Raises InputRefused if it has none."""
        return make_key(self.operation, _ask("key", self.key, delivery))

    def _request_hash(self, delivery: Delivery) -> str | None:
        return request_hash(_ask("check", self.check, delivery)) if self.check else None

    def _flow(self) -> Flow:
        return Flow(operation=self.operation, store=self.store, policy=self.policy, clock=self.clock, token=self.token)

    def _ends_at(self, context: Any) -> int | None:
        """When this invocation ends, in epoch ms; None without a Lambda context."""
        remaining = getattr(context, "get_remaining_time_in_millis", None)
        return self.clock.now_ms() + int(remaining()) if remaining else None

    def _tell(self, ending: Ending) -> None:
        """Tell the observer. What it raises is logged: the outcome is recorded, and the rest of the batch must be answered."""
        if self.observe:
            try:
                self.observe(ending)
            except Exception:
                logging.getLogger(__name__).exception("the observer of %s failed", self.operation)


def _again(outcome: Outcome | None) -> Outcome | None:
    """The outcome of a delivery whose key ended earlier in the same batch."""
    return Done(outcome.result, replayed=True, attempt=outcome.attempt) if isinstance(outcome, Done) else outcome


def _ask(name: str, rule: Callable[[Delivery], Any], delivery: Delivery) -> Any:
    """Ask a rule of the user's. What it raises is an unusable delivery, and must not take the batch with it."""
    try:
        return rule(delivery)
    except InputRefused:
        raise
    except Exception as error:
        raise MissingKeyPart(f"the {name} rule failed on delivery {delivery.id}: {error!r}") from error
