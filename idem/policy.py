"""What a consumer promises about its work: how long it remembers, what a failure means, and what happens in between."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from typing import Final

from idem.arguments import check_count, check_duration, check_errors, check_function, told
from idem.errors import ConfigurationError


class Retention:
    """How long a record is kept: longer than the longest way back that a duplicate can take.

    SYNC_API   1 hour: a client that retries does so within minutes.
    QUEUE      29 days: 14 days in the queue, 14 more in the dead-letter queue, and a day to redrive it.
    WEBHOOK    35 days: providers let people resend events by hand for up to 30 days.
    FINANCIAL  400 days: a year's books, and the month in which they are closed.
    FOREVER    no end: a signup bonus, a one-time award.
    """

    SYNC_API: Final = timedelta(hours=1)
    QUEUE: Final = timedelta(days=29)
    WEBHOOK: Final = timedelta(days=35)
    FINANCIAL: Final = timedelta(days=400)
    FOREVER: Final = None


class Kind(Enum):
    """What an error of the work means for its record."""

    TRANSIENT = "transient"  # stored as reclaimable: the next delivery tries again
    PERMANENT = "permanent"  # stored: every later delivery gets the same error, and the work does not run
    FORGET = "forget"  # not stored: the key is as if it had never been claimed, and attempts count from 1 again


class Lapsed(Enum):
    """What to do with an attempt whose lease lapsed before it recorded an outcome."""

    TAKE_OVER = "take_over"  # run the work again
    HOLD = "hold"  # a person decides, before the record expires: for effects that must not be made twice and cannot be looked up


Errors = tuple[type[Exception], ...]

DEFAULT_LEASE = timedelta(minutes=15)  # without a Lambda context nothing says when an attempt ends: longer than most do
LEASE_MARGIN = timedelta(seconds=1)  # a write sent in an invocation's last moment may land after it
SKEW_MARGIN = timedelta(seconds=2)  # hosts with a time service differ by milliseconds; this is far above
RESULT_BYTES_MAX = 4096  # a refused claim is billed by the stored item's size, one write unit per KB

RESULT_BYTES_LIMIT = 300_000  # an item holds 400 KB, and the record has other attributes


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The rules of one consumer. Checked when it is built; raises ConfigurationError.

    retention: how long after its outcome a key answers for the work; None is for ever.
    transient, permanent, forget: error types of each kind; the nearest class in the error's own order wins.
    classify: asked first; may return None to leave the decision to the types. otherwise: the kind of all other errors.
    starts_max: how many times the work is started before a reclaimable failure becomes final, None for no limit.
    wait: how long a duplicate waits for an attempt in flight before it is told to come back; zero tells it at once.
    lapsed: what a lapsed lease means. lease: used when there is no Lambda context to say how long an attempt can last.
    lease_margin, skew_margin: see the constants. result_bytes_max: larger results are not kept, and a replay says so.
    """

    retention: timedelta | None
    transient: Errors = ()
    permanent: Errors = ()
    forget: Errors = ()
    classify: Callable[[Exception], Kind | None] | None = None
    otherwise: Kind = Kind.TRANSIENT
    starts_max: int | None = None
    wait: timedelta = timedelta(0)
    lapsed: Lapsed = Lapsed.TAKE_OVER
    lease: timedelta = DEFAULT_LEASE
    lease_margin: timedelta = LEASE_MARGIN
    skew_margin: timedelta = SKEW_MARGIN
    result_bytes_max: int = RESULT_BYTES_MAX

    def __post_init__(self) -> None:
        self._check_types()
        listed = [error for group in (self.transient, self.permanent, self.forget) for error in group]
        if twice := {error.__name__ for error in listed if listed.count(error) > 1}:
            raise ConfigurationError(
                f"{', '.join(sorted(twice))}: listed under two kinds; an error type can have only one"
            )
        if self.lease <= timedelta(0) or self.wait < timedelta(0) or self.lease_margin < timedelta(0):
            raise ConfigurationError("lease must be above zero, and wait and lease_margin not below it")
        if self.wait >= self.lease:
            raise ConfigurationError(f"wait ({self.wait}) must be shorter than the lease ({self.lease})")
        if not 0 <= self.result_bytes_max <= RESULT_BYTES_LIMIT:
            raise ConfigurationError(
                f"result_bytes_max is {self.result_bytes_max}: it must be from 0 to {RESULT_BYTES_LIMIT}, because a larger"
                " record could not be written"
            )
        if self.skew_margin < timedelta(0):
            raise ConfigurationError("skew_margin must not be below zero")
        if self.retention is not None and self.retention <= timedelta(0):
            raise ConfigurationError(
                f"retention is {self.retention}: it must be above zero, or None to keep records for ever"
            )

    def _check_types(self) -> None:
        check_duration("retention", self.retention, optional="to keep records for ever")
        for name in ("wait", "lease", "lease_margin", "skew_margin"):
            check_duration(name, getattr(self, name))
        for name in ("transient", "permanent", "forget"):
            check_errors(name, getattr(self, name))
        if self.classify is not None:
            check_function("classify", self.classify, "the error", give="a function such as kind_of(error)")
        if self.starts_max is not None:
            check_count("starts_max", self.starts_max)
        for name, kind in (("otherwise", Kind), ("lapsed", Lapsed)):
            if not isinstance(value := getattr(self, name), kind):
                listed = ", ".join(f"{kind.__name__}.{one.name}" for one in kind)
                raise ConfigurationError(f"{name} is {told(value)}: give one of {listed}")

    def kind_of(self, error: Exception) -> Kind:
        """What `error` means: the function's answer, then the nearest listed class, then `otherwise`.

        Raises ConfigurationError if the function gives something that is no Kind.
        """
        if self.classify and (answer := self.classify(error)) is not None:
            if not isinstance(answer, Kind):
                raise ConfigurationError(
                    f"classify gave {answer!r}: it must give a Kind, or None to let the types decide"
                )
            return answer
        for candidate in type(error).__mro__:
            for kind, listed in self._lists():
                if candidate in listed:
                    return kind
        return self.otherwise

    def _lists(self) -> tuple[tuple[Kind, Errors], ...]:
        return (Kind.TRANSIENT, self.transient), (Kind.PERMANENT, self.permanent), (Kind.FORGET, self.forget)
