"""Every store answers a claim alike: one suite over memory, moto and the local account, each with and without a sort key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from idem.record import Abandoned, Claim, Failed, Held, Key, Mismatch, Record, Status, Succeeded, claimed_record
from tests.idem.benches import Bench
from tests.idem.builders import FAILURE, KEY, NOW, NOW_S, RECLAIMABLE, RESULT, lapsed, record, request, won
from tests.idem.clocks import TestClock

IN_ANY_STATE: list[Callable[..., Record]] = [
    record,
    lapsed,
    lambda **changes: record(Status.SUCCEEDED, **changes),
    lambda **changes: record(Status.FAILED, **changes),
    lambda **changes: record(Status.FAILED, failure=RECLAIMABLE, **changes),
]
in_any_state = pytest.mark.parametrize(
    "made", IN_ANY_STATE, ids=["live", "lapsed", "succeeded", "failed", "reclaimable"]
)


def test_the_first_claim_wins_and_is_recorded_as_asked(bench: Bench) -> None:
    wanted = request(request_hash="v1:aa")
    claim = won(bench.store.claim(wanted))
    assert (claim.attempt, claim.starts, claim.token) == (1, 1, "mine")
    assert bench.store.get(KEY) == Record(
        key=KEY,
        status=Status.IN_PROGRESS,
        claim_token="mine",
        attempt=1,
        starts=1,
        claimed_at=NOW_S,
        lease_until=wanted.lease_until,
        expires_at=wanted.expires_at,
        request_hash="v1:aa",
        origin=wanted.origin,
    )


def test_a_claim_under_a_live_lease_is_held_until_its_end_plus_the_margin(bench: Bench) -> None:
    bench.place(record())
    before = bench.raw(KEY)
    answer = bench.store.claim(request(skew_margin_ms=2_000))
    assert answer == Held(record(), NOW + 32_000)
    assert bench.raw(KEY) == before


def test_a_lease_is_over_only_after_the_margin(bench: Bench, clock: TestClock) -> None:
    bench.place(record(lease_until=NOW - 1_999))
    assert isinstance(bench.store.claim(request(skew_margin_ms=2_000)), Held)
    clock.pass_ms(1)
    assert isinstance(bench.store.claim(request(skew_margin_ms=2_000)), Claim)


def test_a_claim_repeated_with_its_token_is_the_same_claim(bench: Bench) -> None:
    first = bench.store.claim(request())
    before = bench.raw(KEY)
    assert bench.store.claim(request()) == first
    assert bench.raw(KEY) == before


def test_a_lapsed_lease_is_taken_over_with_the_next_attempt_number(bench: Bench) -> None:
    bench.place(lapsed())
    claim = won(bench.store.claim(request()))
    assert (claim.attempt, claim.starts) == (3, 3)
    assert bench.store.get(KEY) == claimed_record(claim)


def test_finished_work_answers_with_its_result(bench: Bench) -> None:
    stored = record(Status.SUCCEEDED)
    bench.place(stored)
    before = bench.raw(KEY)
    assert bench.store.claim(request()) == Succeeded(stored)
    assert bench.raw(KEY) == before


def test_a_final_failure_answers_with_its_error(bench: Bench) -> None:
    stored = record(Status.FAILED, failure=FAILURE)
    bench.place(stored)
    before = bench.raw(KEY)
    assert bench.store.claim(request()) == Failed(stored)
    assert bench.raw(KEY) == before


def test_a_reclaimable_failure_is_taken_over_and_its_error_is_gone(bench: Bench) -> None:
    bench.place(record(Status.FAILED, failure=RECLAIMABLE))
    claim = won(bench.store.claim(request()))
    assert (claim.attempt, claim.starts) == (3, 3)
    assert bench.store.get(KEY) == claimed_record(claim)


def test_a_reclaimable_failure_is_final_once_the_attempts_are_used_up(bench: Bench) -> None:
    stored = record(Status.FAILED, failure=RECLAIMABLE, starts=3)
    bench.place(stored)
    assert bench.store.claim(request(starts_max=3)) == Failed(stored)
    assert isinstance(bench.store.claim(request(starts_max=4)), Claim)


def test_work_that_never_ended_is_unsettled_once_the_attempts_are_used_up(bench: Bench) -> None:
    bench.place(lapsed(starts=3))
    before = bench.raw(KEY)
    assert isinstance(bench.store.claim(request(starts_max=3)), Abandoned)
    assert bench.raw(KEY) == before


def test_the_attempts_limit_counts_starts_and_not_attempts(bench: Bench) -> None:
    bench.place(lapsed(attempt=9, starts=1))
    claim = won(bench.store.claim(request(starts_max=2)))
    assert (claim.attempt, claim.starts, bench.store.begin(claim).starts) == (10, 1, 2)


def test_a_lapsed_lease_is_unsettled_where_the_policy_holds_it(bench: Bench) -> None:
    bench.place(lapsed())
    before = bench.raw(KEY)
    answer = bench.store.claim(request(hold_lapsed=True))
    assert isinstance(answer, Abandoned)
    assert answer.record == lapsed()
    assert bench.raw(KEY) == before


@in_any_state
def test_an_expired_record_is_taken_over_from_the_start(bench: Bench, made: Callable[..., Record]) -> None:
    """The number of an attempt that never ended is not given away again, though: whoever holds it may still be at work."""
    found = made(expires_at=NOW_S - 1, request_hash="v1:aa")
    bench.place(found)
    answer = bench.store.claim(request(request_hash="v1:bb", hold_lapsed=True, starts_max=1))
    if found.lease_until is not None and found.lease_until > NOW:
        assert isinstance(answer, Mismatch)  # a lease that lives keeps its record alive
        return
    claim = won(answer)
    assert (claim.attempt, claim.starts) == (3 if found.status is Status.IN_PROGRESS else 1, 0)
    assert bench.store.get(KEY) == claimed_record(claim)


def test_a_record_is_expired_only_after_the_margin(bench: Bench, clock: TestClock) -> None:
    bench.place(record(Status.SUCCEEDED, expires_at=NOW_S - 1))
    assert isinstance(bench.store.claim(request(skew_margin_ms=1_001)), Succeeded)
    clock.pass_ms(1)
    assert isinstance(bench.store.claim(request(skew_margin_ms=1_001)), Claim)


def test_a_permanent_record_never_expires(bench: Bench, clock: TestClock) -> None:
    stored = record(Status.SUCCEEDED, expires_at=None)
    bench.place(stored)
    clock.pass_ms(100 * 365 * 86_400_000)
    assert bench.store.claim(request()) == Succeeded(stored)


def test_a_permanent_key_is_stored_without_an_expiry(bench: Bench) -> None:
    bench.store.claim(request(expires_at=None))
    stored = bench.store.get(KEY)
    assert stored is not None
    assert stored.expires_at is None


@in_any_state
def test_another_request_is_a_mismatch_before_anything_else(bench: Bench, made: Callable[..., Record]) -> None:
    stored = made(request_hash="v1:aa")
    bench.place(stored)
    before = bench.raw(KEY)
    assert bench.store.claim(request(request_hash="v1:bb", hold_lapsed=True, starts_max=1)) == Mismatch(stored)
    assert bench.raw(KEY) == before


@pytest.mark.parametrize(
    ("stored", "wanted"), [(None, "v1:aa"), ("v1:aa", None), ("v0:aa", "v1:bb"), ("v1:aa", "v1:aa")]
)
def test_hashes_are_compared_only_with_hashes_of_the_same_rule(
    bench: Bench, stored: str | None, wanted: str | None
) -> None:
    bench.place(record(Status.SUCCEEDED, request_hash=stored))
    assert isinstance(bench.store.claim(request(request_hash=wanted)), Succeeded)


def test_my_token_on_finished_work_is_not_a_claim(bench: Bench) -> None:
    stored = record(Status.SUCCEEDED, claim_token="mine")
    bench.place(stored)
    assert bench.store.claim(request()) == Succeeded(stored)


def test_attempts_and_starts_rise_from_attempt_to_attempt(bench: Bench) -> None:
    counted = []
    for token in ("a", "b", "c"):
        claim = won(bench.store.claim(request(token)))
        counted.append((claim.attempt, claim.starts))
        bench.store.fail(claim, RECLAIMABLE, claim.expires_at)
    assert counted == [(1, 1), (2, 2), (3, 3)]


def test_a_claim_that_does_not_start_the_work_counts_no_start_until_it_begins(bench: Bench) -> None:
    claim = won(bench.store.claim(request(starts_max=9)))
    assert (claim.attempt, claim.starts, claim.unstarted) == (1, 0, True)
    assert bench.store.get(KEY) == claimed_record(claim)
    started = bench.store.begin(claim)
    assert started == replace(claim, starts=1, unstarted=False)
    assert bench.store.get(KEY) == claimed_record(started)


def test_keys_of_other_operations_and_identities_are_independent(bench: Bench) -> None:
    bench.place(record(Status.SUCCEEDED))
    for key in (Key("orders.refund", KEY.identity), Key(KEY.operation, "o-2")):
        assert won(bench.store.claim(request(key=key))).key == key


def test_reading_gives_the_record_even_when_it_is_expired(bench: Bench) -> None:
    assert bench.store.get(KEY) is None
    stored = record(Status.SUCCEEDED, expires_at=NOW_S - 1, result=RESULT)
    bench.place(stored)
    assert bench.store.get(KEY) == stored
