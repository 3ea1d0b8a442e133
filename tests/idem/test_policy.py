"""What an error means, and which policies make sense."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from idem import Kind, Policy, Retention
from idem.errors import ConfigurationError
from idem.text import ERROR_CHARS_MAX
from tests.idem.clocks import TestClock
from tests.idem.consumers import DAY, Bench, raising


class Base(Exception):
    pass


class Child(Base):
    pass


class Grandchild(Child):
    pass


class Mixed(Child, KeyError):
    pass


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (Base(), Kind.PERMANENT),
        (Child(), Kind.TRANSIENT),
        (Grandchild(), Kind.TRANSIENT),
        (Mixed(), Kind.TRANSIENT),
        (KeyError(), Kind.FORGET),
        (LookupError(), Kind.TRANSIENT),
        (ExceptionGroup("x", [Base()]), Kind.TRANSIENT),
    ],
    ids=repr,
)
def test_the_nearest_listed_class_wins(error: Exception, kind: Kind) -> None:
    policy = Policy(retention=DAY, permanent=(Base,), transient=(Child,), forget=(KeyError,))
    assert policy.kind_of(error) is kind


@pytest.mark.parametrize(
    ("answer", "kind"), [(Kind.PERMANENT, Kind.PERMANENT), (Kind.FORGET, Kind.FORGET), (None, Kind.TRANSIENT)]
)
def test_a_function_is_asked_first_and_may_leave_it_to_the_types(answer: Kind | None, kind: Kind) -> None:
    policy = Policy(retention=DAY, transient=(ValueError,), otherwise=Kind.PERMANENT, classify=lambda _error: answer)
    assert policy.kind_of(ValueError()) is kind


def test_a_function_that_fails_hides_nothing(clock: TestClock) -> None:
    def classify(_error: Exception) -> Kind:
        raise ZeroDivisionError

    error = ValueError("the work's own")
    bench = Bench(clock, raising(error), policy=Policy(retention=DAY, classify=classify))
    outcome = bench.one()
    assert getattr(outcome, "error", None) is error
    assert any("ZeroDivisionError" in note for note in error.__notes__)


@pytest.mark.parametrize(
    "wrong",
    [
        {"transient": (ValueError,), "permanent": (ValueError,)},
        {"permanent": (ValueError, ValueError)},
        {"starts_max": 0},
        {"starts_max": -1},
        {"lease": timedelta(0)},
        {"wait": timedelta(seconds=-1)},
        {"wait": timedelta(hours=1)},
        {"lease_margin": timedelta(seconds=-1)},
        {"skew_margin": timedelta(seconds=-1)},
        {"retention": timedelta(0)},
        {"retention": timedelta(seconds=-1)},
        {"result_bytes_max": -1},
        {"result_bytes_max": 400_000},
    ],
    ids=repr,
)
def test_a_policy_that_contradicts_itself_is_refused_when_it_is_built(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        Policy(**{"retention": DAY} | wrong)


def test_retention_is_longer_than_the_longest_way_back_of_a_duplicate() -> None:
    assert timedelta(days=14 + 14) < Retention.QUEUE
    assert timedelta(days=30) < Retention.WEBHOOK
    assert timedelta(days=365) < Retention.FINANCIAL
    assert Retention.FOREVER is None
    for retention in (Retention.SYNC_API, Retention.QUEUE, Retention.WEBHOOK, Retention.FINANCIAL, Retention.FOREVER):
        assert Policy(retention=retention).retention == retention


class Hostile(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("short"), "short"),
        (ValueError("x" * 10_000), "x" * (ERROR_CHARS_MAX - 1) + "\u2026"),
        (ValueError("a\ud800b"), "a?b"),
        (ValueError(), ""),
    ],
    ids=["short", "long", "surrogate", "empty"],
)
def test_a_stored_error_is_bounded_and_can_be_written(clock: TestClock, error: Exception, message: str) -> None:
    bench = Bench(clock, raising(error), policy=Policy(retention=DAY, permanent=(ValueError,)))
    bench.one()
    (stored,) = bench.memory.records.values()
    assert stored.failure is not None
    assert (stored.failure.type, stored.failure.message, stored.failure.reclaimable) == ("ValueError", message, False)


def test_an_error_whose_text_cannot_be_read_is_still_recorded(clock: TestClock) -> None:
    bench = Bench(clock, raising(Hostile()), policy=Policy(retention=DAY, permanent=(Hostile,)))
    bench.one()
    (stored,) = bench.memory.records.values()
    assert stored.failure is not None
    assert stored.failure.type == "Hostile"
