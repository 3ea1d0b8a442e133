"""Newest only: an event that is older than what was already applied to its object is acknowledged and not run.

Providers do not keep order, and a retry can be days late: an "updated" of yesterday must not overwrite the one of today.

    newest = NewestOnly(
        positions=DynamoPositions(client, "positions"),
        object_key=keys.field("data.id"),
        position=lambda delivery: delivery.payload["occurred_at"],
    )
    consumer = Consumer(..., work=newest(apply_change))

A position is a number or a text that sorts as time does (ISO 8601 in UTC, always with the same digits); keep to one of the two. It
must come from the signed content. Stripe's `created` counts whole seconds: two events of one second have the same position, and
both are run, in the order in which they come; where that is not enough, fetch the object and write what it is now.

For each object one item keeps the highest position that was applied, and the highest one whose work has begun:

| what was seen of the object | an older event |
|---|---|
| a newer event was applied | is acknowledged and not run |
| a newer event is being worked on | raises NewerInProgress: it comes again, and by then it is known whether it is still wanted |
| a newer event failed, for good or for now | is run |

A position counts as applied when the work has returned. If the work returns a Commit, the position is raised in that very
transaction, and only while nothing newer was applied. Other work can be overtaken while it runs: its effect may come after that of
a newer event which began later; and where the newest of three events fails, the oldest may begin beside the second. A crash leaves
the begun position until the lease of its claim ends; until then older events come again, afterwards they are run, and so is the
crashed one when it is delivered again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from idem.delivery import Delivery, Work
from idem.errors import PROCESS_ENDS, ConfigurationError, IdemError, MissingKeyPart
from idem.flow import is_commit, mistake_in
from idem.functions import is_coroutine_function
from idem.keys import KeyRule, make_key
from idem.log import log_fault
from idem.record import Claim
from idem.wrappers.positions import Position, Positions

OLDER = {"ignored": "older than what was applied to its object"}
"""The result of an event that was not run because of its age."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewestOnly:
    """Runs work only for events that are not older than what was applied to their object.

    object_key: which object an event is about, as a key rule. position: where the event is in that object's life.
    """

    positions: Positions
    object_key: KeyRule
    position: Callable[[Delivery], Any]

    def __call__(self, work: Work) -> Work:
        if is_coroutine_function(work, "NewestOnly"):
            raise ConfigurationError(
                "NewestOnly wraps a plain function: a coroutine function would end before its work does"
            )

        def newest_only(delivery: Delivery, claim: Claim) -> Any:
            object_id = str(make_key(claim.key.operation, self.object_key(delivery)))
            position = self._position(delivery)
            if not self.positions.begin(object_id, position, claim):
                return OLDER
            try:
                value = work(delivery, claim)
            except PROCESS_ENDS:
                raise
            except BaseException:
                self._give_up(object_id, claim)
                raise
            if mistake_in(value):  # it is refused, so its position is not applied
                self._give_up(object_id, claim)
                return value
            write = self.positions.applying(object_id, position) if is_commit(value) else None
            if write is not None:
                return replace(value, writes=[*value.writes, write])
            self.positions.apply(object_id, position, claim)
            return value

        return newest_only

    def _give_up(self, object_id: str, claim: Claim) -> None:
        """The work's own error is what counts; without this note older events only wait for the lease."""
        try:
            self.positions.give_up(object_id, claim)
        except IdemError as error:
            log_fault(f"the position begun by {claim.key} stands until its lease ends", error)

    def _position(self, delivery: Delivery) -> Position:
        try:
            found = self.position(delivery)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise MissingKeyPart(f"the event has no position: {error!r}") from error
        if isinstance(found, bool) or not isinstance(found, int | str) or found == "":
            raise MissingKeyPart(f"the event's position is {found!r}, not a whole number or text")
        return found
