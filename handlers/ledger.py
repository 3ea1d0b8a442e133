"""The business table of the example: each effect is a row of its own, so that a second effect would be seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from idem import Claim, Put


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """One effect on one subject, such as ORDER#1001. amount: in the currency's smallest unit."""

    subject: str
    kind: str
    amount: int
    currency: str


def effect_row(table: str, effect: Effect, claim: Claim) -> Put:
    """The write that adds the effect. Its sort key is random: nothing here hides an effect that happens twice."""
    item: dict[str, Any] = {
        "pk": {"S": effect.subject},
        "sk": {"S": f"EFFECT#{uuid4().hex}"},
        "kind": {"S": effect.kind},
        "amount": {"N": str(effect.amount)},
        "currency": {"S": effect.currency},
        "idempotencyKey": {"S": str(claim.key)},
        "attempt": {"N": str(claim.attempt)},
    }
    return Put(table, item)
