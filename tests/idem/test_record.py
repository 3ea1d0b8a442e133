"""The life of a record, row by row: what a refused claim means, from the record that refused it."""

from __future__ import annotations

from typing import Any

import pytest

from idem.record import (
    Abandoned,
    Answer,
    Claim,
    Failed,
    Held,
    Mismatch,
    Record,
    Request,
    Status,
    Succeeded,
    TakeOver,
    claimed_record,
    decide,
    differs,
    first_claim,
)
from tests.idem.builders import NOW, NOW_S, RECLAIMABLE, lapsed, record, request

MARGIN_MS = 1_000
SUCCEEDED = record(Status.SUCCEEDED, request_hash="v1:aa")
FAILED = record(Status.FAILED)
AGAIN = record(Status.FAILED, failure=RECLAIMABLE)
OTHER = {"request_hash": "v1:bb"}
LONG_AGO = NOW_S - 60


@pytest.mark.parametrize(
    ("found", "wanted", "answer"),
    [
        (SUCCEEDED, request(), Succeeded(SUCCEEDED)),
        (FAILED, request(), Failed(FAILED)),
        (AGAIN, request(starts_max=2), Failed(AGAIN)),
        (record(), request(), Held(record(), NOW + 30_000)),
        (record(expires_at=LONG_AGO), request(), Held(record(expires_at=LONG_AGO), NOW + 30_000)),
        (record(), request(skew_margin_ms=MARGIN_MS), Held(record(), NOW + 30_000 + MARGIN_MS)),
        (SUCCEEDED, request(**OTHER), Mismatch(SUCCEEDED)),
        (record(request_hash="v1:aa"), request(**OTHER), Mismatch(record(request_hash="v1:aa"))),
        (record(Status.FAILED, request_hash="v1:aa"), request(**OTHER), Mismatch(record(Status.FAILED, request_hash="v1:aa"))),
        (lapsed(request_hash="v1:aa"), request(**OTHER), Mismatch(lapsed(request_hash="v1:aa"))),
    ],
    ids=str,
)  # fmt: skip
def test_a_record_that_stands_in_the_way_is_the_answer(found: Record, wanted: Request, answer: Answer) -> None:
    assert decide(found, wanted, NOW) == answer


@pytest.mark.parametrize(
    ("found", "attempt"),
    [
        (lapsed(), 3),
        (AGAIN, 3),
        (lapsed(expires_at=LONG_AGO), 3),
        (record(Status.SUCCEEDED, expires_at=LONG_AGO), 1),
        (record(Status.FAILED, expires_at=LONG_AGO), 1),
        (record(Status.SUCCEEDED, expires_at=LONG_AGO, **OTHER), 1),
    ],
    ids=str,
)
def test_a_record_whose_time_is_over_is_taken_over_exactly_as_it_was_found(found: Record, attempt: int) -> None:
    answer = decide(found, request(request_hash="v1:aa"), NOW)
    assert isinstance(answer, TakeOver)
    assert answer.found == found
    assert (answer.successor.token, answer.successor.attempt) == ("mine", attempt)


@pytest.mark.parametrize(
    "rules",
    [{"hold_lapsed": True}, {"starts_max": 2}, {"hold_lapsed": True, "starts_max": 99}],
    ids=str,
)
def test_work_that_never_ended_is_left_to_a_person_by_policy_or_when_no_starts_are_left(rules: dict[str, Any]) -> None:
    answer = decide(lapsed(), request(**rules), NOW)
    assert isinstance(answer, Abandoned)
    assert answer.record == lapsed()


@pytest.mark.parametrize("rules", [{"hold_lapsed": True}, {"starts_max": 1}], ids=str)
def test_work_that_never_started_is_left_to_nobody(rules: dict[str, Any]) -> None:
    answer = decide(lapsed(starts=0), request(**rules), NOW)
    assert isinstance(answer, TakeOver)
    assert (answer.successor.attempt, answer.successor.starts) == (3, 0)


def test_a_later_attempt_that_never_started_is_left_to_nobody() -> None:
    assert isinstance(decide(lapsed(starts=1, unstarted=True), request(hold_lapsed=True), NOW), TakeOver)


def test_a_start_whose_end_is_not_known_stays_known_as_one() -> None:
    """A policy that takes over may become one that holds: what was taken over had started, and never ended."""
    answer = decide(lapsed(starts=1), request(starts_max=9), NOW)
    assert isinstance(answer, TakeOver)
    assert not answer.successor.unstarted
    again = decide(lapsed(starts=1, unstarted=True), request(starts_max=9), NOW)
    assert isinstance(again, TakeOver)
    assert again.successor.unstarted


def test_a_lease_and_a_life_end_one_margin_later() -> None:
    wanted = request(skew_margin_ms=MARGIN_MS)
    held, old = record(lease_until=NOW), record(Status.SUCCEEDED, expires_at=NOW_S)
    before, after = NOW + MARGIN_MS - 1, NOW + MARGIN_MS
    assert [type(decide(found, wanted, before)) for found in (held, old)] == [Held, Succeeded]
    assert [type(decide(found, wanted, after)) for found in (held, old)] == [TakeOver, TakeOver]


def test_my_own_token_in_progress_is_my_own_claim_whatever_else_the_record_says() -> None:
    claim = first_claim(request(), NOW)
    for wanted in (request(), request(**OTHER), request(hold_lapsed=True)):
        for now in (NOW, NOW + 10_000_000):
            assert decide(claimed_record(claim), wanted, now) == claim
    assert isinstance(decide(record(Status.SUCCEEDED, claim_token="mine"), request(), NOW), Succeeded)


@pytest.mark.parametrize(
    ("stored", "wanted", "told"),
    [
        ("v1:aa", "v1:aa", False),
        ("v1:aa", "v1:bb", True),
        ("v1:aa", "v2:bb", False),
        (None, "v1:aa", False),
        ("v1:aa", None, False),
        (None, None, False),
    ],
)
def test_only_hashes_of_one_rule_can_differ(stored: str | None, wanted: str | None, *, told: bool) -> None:
    assert differs(stored, wanted) is told


def test_a_first_claim_is_in_progress_under_its_token_until_its_lease_ends() -> None:
    claim = first_claim(request(), NOW)
    stored = claimed_record(claim)
    assert isinstance(claim, Claim)
    assert (stored.status, stored.claim_token, stored.attempt) == (Status.IN_PROGRESS, "mine", 1)
    assert (stored.lease_until, stored.expires_at) == (NOW + 60_000, NOW_S + 3600)
