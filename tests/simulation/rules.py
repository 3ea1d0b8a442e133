"""The rules, each once, with the sentence that promises it."""

from __future__ import annotations

from enum import Enum


class Rule(Enum):
    """A rule's name, and what the design or the documentation says."""

    RECORDED_IN_TIME = (
        "An ended work is recorded within `record_within` of its own end (at once if that is zero), while the invocation has"
        " time for it, and always before the invocation returns or its exception leaves. (DESIGN 7)"
    )
    RECORDED_BEFORE_A_SUSPECT = (
        "Work that may kill the process, because its message came before or its key was taken over, starts when all that ended"
        " before it is recorded. (batch.py)"
    )
    CLAIMS_END = (
        "What was not started is reported failed and its claims released. (DESIGN 6; DESIGN 7: whatever the ending is)"
    )
    ENDINGS_ARE_APART = (
        "One delivery's ending never touches another's: not its record, not its answer, not its time - whatever the ending"
        " is, an Exception or not. (DESIGN 7)"
    )
    LEASE_LIVES = "No work starts on a lapsed lease. (DESIGN 4)"
    RESERVE_IS_LEFT = "No work starts with less than the reserve left. (DESIGN 4; consumer.py: reserve)"
    ATTEMPTS_RISE = "attempt: rises at every takeover, also of an expired record that is still in progress. (DESIGN 3)"
    LEASE_WITHIN_LIFE = "The record of work in progress never expires before its lease. (DESIGN 4)"
    LEASE_IS_KEPT = "in progress, lease live: Held until `leaseUntil`. (DESIGN 4)"
    FENCED = "A worker whose lease was taken over cannot commit; every write carries `claimToken = mine`. (DESIGN 5)"
    LIFE_FROM_OUTCOME = "retention: how long after its outcome a key answers for the work. (policy.py)"
    ONCE = "The effect is made once, but for the rows of the README's table; with Commit and in guard mode always."
    STARTS_MAX = (
        "starts: how often the work was started; starts_max: how many times the work is started. (DESIGN 3, policy.py)"
    )
    ACKNOWLEDGED_IS_RECORDED = (
        "What is acknowledged is recorded, or was refused for good where the queue's redrive or a failure destination has it."
        " (DESIGN 7)"
    )
    MISMATCH_IS_TOLD = "A mismatch is never silently skipped. (DESIGN 7)"
    ONLY_DONE_IS_SUCCEEDED = "A value that shows that nothing ran, or that writes were meant, is refused. (DESIGN 7)"
    REPLAY_IS_THE_SAME = "What the work returns is either kept, replayed with the same type, or refused. (DESIGN 7)"
    RESULT_IS_WHOLE = "A result comes back as the work returned it: no part of it is lost. (results.py: its table)"
    REASON_FOR_FAILING = (
        "Waiting for an attempt in flight never delays work that could run; FIFO groups are apart from each other, also for"
        " twins: what is reported undone has a reason of its own. (DESIGN 7)"
    )
    WAITING_DELAYS_NOBODY = "Waiting for an attempt in flight never delays work that could run. (DESIGN 7)"
    ANSWER_IS_WELL_FORMED = "reply: always well-formed. (README, How it works)"
    OWN_ERROR_IS_SHOWN = "An error while releasing or failing a claim never hides the work's own error. (DESIGN 5)"
    ENDS_AS_EXPECTED = (
        "Redeliveries do nothing; every message ends done or in the dead-letter queue. (DESIGN 1, issue 12)"
    )
    GROUP_ORDER = (
        "FIFO: per message group, stop at the first failure (DESIGN 6); a later message must not run before an earlier one is"
        " recorded. (README, Decisions)"
    )
    ENDS = "A world that becomes healthy comes to an end."
