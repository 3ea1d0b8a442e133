"""Why a table of records stays in one Region, and what must be said to have it in several all the same."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from idem.cdk.errors import GuaranteeError, LimitError


class Consistency(Enum):
    """How the replicas of a global table agree. It cannot be changed later."""

    EVENTUAL = "EVENTUAL"
    STRONG = "STRONG"


STRONG_REPLICAS = 2  # DynamoDB: a strongly consistent global table has exactly three Regions (or two and a witness)

REASONS = {
    Consistency.EVENTUAL: (
        (
            "an eventually consistent global table copies a record after it was written, and a condition sees the local"
            " copy only: two Regions can win the same key within about a second and both do its work"
        ),
        (
            "Give each Region a table of its own and send each key to one Region only. If your keys already have one home"
            " each, say how in `acknowledged`: a replica is then a standby"
        ),
    ),
    Consistency.STRONG: (
        (
            "a strongly consistent global table has no TTL, so that records stay for ever, and no transactions, so that"
            " every Commit and every plan fails"
        ),
        (
            "Keep the table in one Region. If no consumer commits or plans, and something else deletes what has expired,"
            " say so in `acknowledged`"
        ),
    ),
}
"""What each kind takes away, and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replicas:
    """The other Regions of a table. `acknowledged`: why the loss that REASONS names does not matter here."""

    regions: tuple[str, ...]
    consistency: Consistency = Consistency.EVENTUAL
    acknowledged: str = ""


def check_replicas(construct: str, replicas: Replicas, *, has_customer_key: bool) -> None:
    """Raise GuaranteeError unless the loss is acknowledged, LimitError for what DynamoDB or CDK would refuse."""
    if not replicas.acknowledged.strip():
        raise GuaranteeError(construct, *REASONS[replicas.consistency])
    if not replicas.regions:
        raise LimitError(construct, "replicas", "names no Region; leave it out for a table in one Region")
    if replicas.consistency is Consistency.STRONG and len(replicas.regions) != STRONG_REPLICAS:
        raise LimitError(
            construct,
            "replicas",
            f"names {len(replicas.regions)} other Regions; strong consistency takes exactly {STRONG_REPLICAS}",
        )
    if has_customer_key:
        raise LimitError(construct, "encryption_key", "is one Region's; replicas use AWS's own keys, leave it out")
