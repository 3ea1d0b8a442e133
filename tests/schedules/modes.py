"""The ways of working that are proven."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from idem import Lapsed, Policy, Retention
from idem.errors import WriteRefused
from tests.schedules.mode import (
    Cause,
    Mode,
    Never,
    NotYet,
    always_not_yet,
    commit,
    effect,
    never,
    not_yet,
    plan,
    plan_never,
    refused_commit,
)

DIED = frozenset({Cause.DIED_BEFORE, Cause.DIED_AFTER})
REPEATS = DIED | {Cause.UNRECORDED, Cause.STALLED}
AGAIN = REPEATS | {Cause.UNKNOWN}
UNDONE = frozenset({Cause.DIED_BEFORE, Cause.UNRECORDED, Cause.STALLED})  # of work without an effect of its own
TWICE = frozenset({Cause.DIED_AFTER, Cause.UNRECORDED, Cause.STALLED, Cause.UNKNOWN})
PAIR = ("o-1", "o-2")  # the orders of one message


def policy(**rules: Any) -> Policy:
    return Policy(retention=Retention.QUEUE, **rules)


MODES: Mapping[str, Mode] = {
    mode.name: mode
    for mode in (
        Mode(name="complete", title="claim and complete", work=effect, policy=policy(), starts=AGAIN, effects=TWICE),
        Mode(
            name="hold",
            title="claim and complete, lapsed work held or `starts_max=1`",
            work=effect,
            policy=policy(lapsed=Lapsed.HOLD, permanent=(OSError,)),
            held=REPEATS | {Cause.COUNTED},
            final=frozenset({"succeeded", "failed", "in_progress"}),
        ),
        Mode(
            name="one-start",
            title="one start, whatever becomes of it",
            work=effect,
            policy=policy(starts_max=1),
            held=REPEATS | {Cause.COUNTED},
            final=frozenset({"succeeded", "failed", "in_progress"}),
            starts_max=1,
        ),
        Mode(
            name="commit",
            title="claim and commit",
            work=commit,
            policy=policy(),
            starts=UNDONE,
            writes=True,
        ),
        Mode(name="guard", title="guard", plan=plan, policy=policy(), writes=True),
        Mode(
            name="guard-never",
            title="the plan always fails, for good",
            plan=plan_never,
            policy=policy(permanent=(Never,)),
            final=frozenset({"failed"}),
        ),
        Mode(
            name="wait",
            title="a duplicate waits for the answer",
            work=effect,
            policy=policy(wait=timedelta(seconds=2)),
            starts=AGAIN,
            effects=TWICE,
        ),
        Mode(
            name="expired",
            title="an expired record is still there",
            work=effect,
            policy=policy(),
            starts=AGAIN,
            effects=TWICE,
            expired=True,
        ),
        Mode(
            name="short-lived",
            title="every record's life is over before the message comes again",
            work=effect,
            policy=Policy(retention=timedelta(seconds=30)),
            starts=AGAIN | {Cause.FORGOTTEN},
            effects=TWICE | {Cause.FORGOTTEN},
            final=frozenset({"succeeded", "failed", "in_progress", "absent"}),
        ),
        Mode(
            name="guard-expired",
            title="the same under a guard",
            plan=plan,
            policy=policy(),
            writes=True,
            expired=True,
        ),
        Mode(
            name="batch",
            title="two orders in each message",
            work=effect,
            policy=policy(),
            starts=AGAIN,
            effects=TWICE,
            orders=PAIR,
        ),
        Mode(
            name="batch-forget",
            title="two orders, whose first start fails and is forgotten",
            work=not_yet,
            policy=policy(forget=(NotYet,)),
            starts=AGAIN | {Cause.ASKED},
            effects=TWICE,
            orders=PAIR,
        ),
        Mode(
            name="batch-commit",
            title="two orders in each message, committed",
            work=commit,
            policy=policy(),
            starts=UNDONE,
            writes=True,
            orders=PAIR,
        ),
        Mode(
            name="batch-limit",
            title="two orders in each message, whose work always fails, two attempts",
            work=always_not_yet,
            policy=policy(transient=(NotYet,), starts_max=2),
            starts=UNDONE | {Cause.ASKED},
            held=UNDONE | {Cause.COUNTED},
            final=frozenset({"failed", "in_progress"}),
            starts_max=2,
            orders=PAIR,
        ),
        Mode(
            name="transient",
            title="the first start fails, reclaimable",
            work=not_yet,
            policy=policy(transient=(NotYet,)),
            starts=AGAIN | {Cause.ASKED},
            effects=TWICE,
        ),
        Mode(
            name="forget",
            title="the first start fails, forgotten",
            work=not_yet,
            policy=policy(forget=(NotYet,)),
            starts=AGAIN | {Cause.ASKED},
            effects=TWICE,
        ),
        Mode(
            name="permanent",
            title="the work always fails, for good",
            work=never,
            policy=policy(permanent=(Never,)),
            starts=UNDONE,
            final=frozenset({"failed"}),
        ),
        Mode(
            name="limit",
            title="the work always fails, two attempts",
            work=always_not_yet,
            policy=policy(transient=(NotYet,), starts_max=2),
            starts=UNDONE | {Cause.ASKED},
            held=UNDONE | {Cause.COUNTED},
            final=frozenset({"failed", "in_progress"}),
            starts_max=2,
        ),
        Mode(
            name="refused",
            title="a condition of the work's own writes fails",
            work=refused_commit,
            policy=policy(permanent=(WriteRefused,)),
            starts=UNDONE,
            final=frozenset({"failed"}),
        ),
    )
}
"""Every mode by its name."""
