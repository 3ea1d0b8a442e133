"""The limits of a queue that Lambda reads, and of the records behind it. Only together do they keep the promise."""

from __future__ import annotations

from dataclasses import dataclass

from idem.cdk.errors import LimitError, require_between

DAY = 24 * 3600

TIMEOUTS_PER_VISIBILITY = 6  # AWS's own rule for a queue that Lambda reads
VISIBILITY_MAX_SECONDS = 12 * 3600  # SQS
RECEIVES_LIMITS = (5, 1000)  # AWS's advice for a queue that Lambda reads; SQS
BATCH_MAX = 10_000  # Lambda, standard queue
BATCH_MAX_WITHOUT_WINDOW = 10  # Lambda; also the most a FIFO queue can have
WINDOW_LIMITS_SECONDS = (0, 300)  # Lambda
CONCURRENCY_LIMITS = (2, 1000)  # Lambda, per mapping
RETENTION_LIMITS_SECONDS = (60, 14 * DAY)  # SQS
QUEUE_RETENTION_SECONDS = 14 * DAY
"""SQS's longest, for both queues: on a standard queue a message keeps its age when it moves to the DLQ."""

QUEUE_RECORDS_KEPT_SECONDS = 29 * DAY
"""As `idem.Retention.QUEUE`: 14 days in the queue, 14 in the dead-letter queue, and a day to redrive it."""

LEASE_MARGIN_SECONDS = 1  # `idem.policy.LEASE_MARGIN`: a lease is what is left of the invocation, and this


def visibility_seconds(*, timeout_seconds: int, batch_window_seconds: int) -> int:
    """How long a received message must stay hidden, derived from what may take that long."""
    return TIMEOUTS_PER_VISIBILITY * timeout_seconds + batch_window_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueLimits:
    """The numbers of one consumer; `records_kept_seconds` is None for records that are kept for ever."""

    timeout_seconds: int
    batch_size: int
    batch_window_seconds: int
    receives_max: int
    concurrency_max: int | None
    reserved_concurrency: int | None
    visibility_seconds: int
    queue_retention_seconds: int
    dead_letter_retention_seconds: int
    records_kept_seconds: int | None
    fifo: bool

    def check(self, construct: str) -> None:
        """Raise LimitError for the first number that breaks a limit, named as the prop it came from."""
        self._check_batches(construct)
        self._check_concurrency(construct)
        self._check_visibility(construct)
        self._check_lives(construct)

    def _check_batches(self, construct: str) -> None:
        batch_limits = (1, BATCH_MAX_WITHOUT_WINDOW if self.fifo else BATCH_MAX)
        window, size = self.batch_window_seconds, self.batch_size
        require_between(construct, "batch_window_seconds", window, WINDOW_LIMITS_SECONDS, "Lambda's limits")
        require_between(construct, "batch_size", size, batch_limits, "Lambda's limits for this kind of queue")
        if size > BATCH_MAX_WITHOUT_WINDOW and window == 0:
            raise LimitError(construct, "batch_size", f"is {size}; above 10 set batch_window_seconds to 1 or more")
        if self.fifo and window:
            raise LimitError(construct, "batch_window_seconds", "must be 0: a FIFO queue has no batch window")
        why = "throttled deliveries burn receives too, and so does waiting for another's lease"
        require_between(construct, "receives_max", self.receives_max, RECEIVES_LIMITS, why)

    def _check_concurrency(self, construct: str) -> None:
        if self.concurrency_max is None:
            return
        require_between(construct, "concurrency_max", self.concurrency_max, CONCURRENCY_LIMITS, "Lambda's limits")
        if self.reserved_concurrency is not None and self.concurrency_max > self.reserved_concurrency:
            raise LimitError(
                construct,
                "concurrency_max",
                f"is {self.concurrency_max}, above reserved_concurrency ({self.reserved_concurrency}): what the mapping"
                " starts beyond that is throttled, and each time burns a receive; lower the one or raise the other",
            )

    def _check_visibility(self, construct: str) -> None:
        least = visibility_seconds(timeout_seconds=self.timeout_seconds, batch_window_seconds=self.batch_window_seconds)
        if least > VISIBILITY_MAX_SECONDS:
            raise LimitError(
                construct,
                "timeout_seconds",
                f"makes the visibility 6 x time-out + batch window = {least} s, and SQS ends at"
                f" {VISIBILITY_MAX_SECONDS} s; shorten it",
            )
        why = "6 x time-out + batch window, or a message comes again while Lambda still works on it; SQS ends at 12 h"
        limits = (least, VISIBILITY_MAX_SECONDS)
        require_between(construct, "visibility_seconds", self.visibility_seconds, limits, why)

    def _check_lives(self, construct: str) -> None:
        """The queue forgets before the dead-letter queue does, and the table forgets last."""
        queue, dead, kept = (
            self.queue_retention_seconds,
            self.dead_letter_retention_seconds,
            self.records_kept_seconds,
        )
        require_between(construct, "queue_retention", queue, RETENTION_LIMITS_SECONDS, "SQS's limits")
        if dead < queue:
            raise LimitError(
                construct,
                "dead_letter_retention",
                f"is {dead} s and the queue's {queue} s: a message keeps its age when it moves, so an old one would be"
                " gone from the dead-letter queue before anyone sees it; make it at least as long",
            )
        require_between(construct, "dead_letter_retention", dead, RETENTION_LIMITS_SECONDS, "SQS's limits")
        if kept is None:
            return
        if kept <= self.timeout_seconds + LEASE_MARGIN_SECONDS:
            raise LimitError(
                construct,
                "records_kept",
                f"is {kept} s, not longer than the lease of the work (time-out + {LEASE_MARGIN_SECONDS} s ="
                f" {self.timeout_seconds + LEASE_MARGIN_SECONDS} s): the record would expire while the work runs",
            )
        if kept <= queue + dead:
            raise LimitError(
                construct,
                "records_kept",
                f"is {kept} s, and a message can wait {queue} s in the queue and {dead} s in the dead-letter queue:"
                " a redrive would run its work again; keep records longer than both together, or shorten those",
            )
