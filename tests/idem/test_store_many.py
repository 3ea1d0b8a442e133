"""Many claims and many outcomes in one call are answered exactly as one after the other, however they travel."""

from __future__ import annotations

from dataclasses import replace

import pytest

from idem.dynamo.statements import Together
from idem.errors import ClaimLost
from idem.record import (
    Answer,
    Claim,
    Record,
    Status,
    Succeeded,
    TakeOver,
    claimed_record,
    decide,
    first_claim,
)
from idem.store import Complete, Fail, Finish, Release, failed, succeeded
from tests.idem.benches import Bench
from tests.idem.builders import (
    ENDINGS,
    FAILURE,
    LATER,
    NOW,
    NOW_S,
    RECLAIMABLE,
    RESULT,
    asked,
    key,
    lapsed,
    record,
    won,
)
from tests.idem.clocks import TestClock
from tests.idem.conftest import make_bench

WAYS = [
    "memory",
    *[f"moto-{way.value}{table}" for way in Together for table in ("", "-single-table")],
    *[
        pytest.param(f"account-{way.value}{table}", marks=pytest.mark.e2e)
        for way in (Together.STATEMENTS, Together.THREADS)
        for table in ("", "-single-table")
    ],
]
FOUND: dict[str, Record | None] = {
    "absent": None,
    "held": record(),
    "lapsed": lapsed(),
    "succeeded": record(Status.SUCCEEDED),
    "failed": record(Status.FAILED),
    "reclaimable": record(Status.FAILED, failure=RECLAIMABLE),
    "expired": record(Status.SUCCEEDED, expires_at=NOW_S - 1),
    "mismatch": record(Status.SUCCEEDED, request_hash="v1:bb"),
    "mine": record(claim_token="mine-mine"),
}


@pytest.fixture(params=WAYS)
def bench(request: pytest.FixtureRequest, clock: TestClock) -> Bench:
    return make_bench(request, clock, request.param)


def expected(name: str, found: Record | None) -> Answer:
    if found is None:
        return first_claim(asked(name), NOW)
    said = decide(replace(found, key=key(name)), asked(name), NOW)
    return said.successor if isinstance(said, TakeOver) else said


def test_each_key_gets_the_answer_that_a_single_claim_gives(bench: Bench) -> None:
    for name, found in FOUND.items():
        if found:
            bench.place(replace(found, key=key(name)))
    answers = bench.store.claim_many([asked(name) for name in FOUND])
    for (name, found), answer in zip(FOUND.items(), answers, strict=True):
        assert answer == expected(name, found), name
        stored = found and replace(found, key=key(name))
        after = claimed_record(answer) if isinstance(answer, Claim) else stored
        assert bench.store.get(key(name)) == after, name


def test_more_keys_than_one_request_can_hold_are_all_claimed_and_recorded(bench: Bench) -> None:
    names = [f"k-{number}" for number in range(30)]
    claims = [won(answer) for answer in bench.store.claim_many([asked(name) for name in names])]
    assert [claim.key for claim in claims] == [key(name) for name in names]
    assert bench.store.finish_many([Complete(claim, RESULT, LATER) for claim in claims]) == [None] * 30
    again = bench.store.claim_many([replace(asked(name), token=f"next-{name}") for name in names])
    assert [type(answer) for answer in again] == [Succeeded] * 30


def test_nothing_asked_is_nothing_answered(bench: Bench) -> None:
    assert bench.store.claim_many([]) == []
    assert bench.store.finish_many([]) == []


def test_each_outcome_is_recorded_as_its_single_verb_records_it(bench: Bench, clock: TestClock) -> None:
    names = ("done", "failed", "released")
    done, broken, released = (won(answer) for answer in bench.store.claim_many([asked(name) for name in names]))
    recordings: list[Finish] = [Complete(done, RESULT, None), Fail(broken, FAILURE, LATER), Release(released)]
    assert bench.store.finish_many(recordings) == [None, None, None]
    assert bench.store.get(done.key) == succeeded(claimed_record(done), RESULT, None, NOW)
    assert bench.store.get(broken.key) == failed(claimed_record(broken), FAILURE, LATER, NOW)
    assert bench.raw(released.key) is None
    before = [bench.raw(key(name)) for name in names]
    clock.pass_ms(5_000)
    assert bench.store.finish_many(recordings) == [None, None, None]
    assert [bench.raw(key(name)) for name in names] == before


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_lost_claim_among_many_changes_nothing_and_stops_no_other(bench: Bench, ending: str) -> None:
    lost, kept, gone = (won(one) for one in bench.store.claim_many([asked(name) for name in ("lost", "kept", "gone")]))
    successor = record(key=lost.key)
    bench.place(successor)
    bench.store.release(gone)
    errors = bench.store.finish_many([ENDINGS[ending](claim) for claim in (lost, kept, gone)])
    assert isinstance(errors[0], ClaimLost)
    assert errors[0].found == successor
    assert errors[1] is None
    assert errors[2] is None if ending == "release" else isinstance(errors[2], ClaimLost)
    assert bench.store.get(lost.key) == successor
    stored = bench.store.get(kept.key)
    assert stored is None or stored.status is not Status.IN_PROGRESS
    assert bench.raw(gone.key) is None
