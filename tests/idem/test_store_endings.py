"""Every store records an outcome only for the claim that holds the key; whoever lost it changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from idem.errors import ClaimLost
from idem.record import Claim, Record, Status, StoredResult
from idem.store import Store, failed, succeeded
from tests.idem.benches import Bench
from tests.idem.builders import FAILURE, KEY, LATER, NOW, OTHER_RESULT, RECLAIMABLE, RESULT, record, request, won
from tests.idem.clocks import TestClock

Verb = Callable[[Store, Claim], object]
VERBS: dict[str, Verb] = {
    "begin": lambda store, claim: store.begin(claim),
    "complete": lambda store, claim: store.complete(claim, RESULT, LATER),
    "fail": lambda store, claim: store.fail(claim, RECLAIMABLE, LATER),
    "release": lambda store, claim: store.release(claim),
    "commit": lambda store, claim: store.complete(claim, RESULT, LATER, ()),
}
every_verb = pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
WRITING = {name: verb for name, verb in VERBS.items() if name != "release"}
every_writing_verb = pytest.mark.parametrize("verb", WRITING.values(), ids=WRITING)

SUCCESSORS: dict[str, Record] = {
    "in progress": record(attempt=2),
    "succeeded": record(Status.SUCCEEDED),
    "failed": record(Status.FAILED),
}


def claimed(bench: Bench) -> tuple[Claim, Record]:
    claim = won(bench.store.claim(request(request_hash="v1:aa")))
    stored = bench.store.get(KEY)
    assert stored is not None
    return claim, stored


@pytest.mark.parametrize(
    "result", [RESULT, StoredResult("id", "ord-7"), StoredResult("omitted", "too large"), StoredResult("json", "null")]
)
def test_completing_keeps_the_result_and_everything_else_of_the_record(
    bench: Bench, clock: TestClock, result: StoredResult
) -> None:
    claim, stored = claimed(bench)
    clock.pass_ms(5_000)
    bench.store.complete(claim, result, LATER)
    assert bench.store.get(KEY) == succeeded(stored, result, LATER, NOW + 5_000)


def test_failing_keeps_the_error_and_everything_else_of_the_record(bench: Bench, clock: TestClock) -> None:
    claim, stored = claimed(bench)
    clock.pass_ms(5_000)
    bench.store.fail(claim, FAILURE, LATER)
    assert bench.store.get(KEY) == failed(stored, FAILURE, LATER, NOW + 5_000)


@pytest.mark.parametrize(
    "verb", [VERBS["complete"], VERBS["fail"], VERBS["commit"]], ids=["complete", "fail", "commit"]
)
def test_an_outcome_moves_the_end_of_the_record(bench: Bench, verb: Verb) -> None:
    claim, _ = claimed(bench)
    verb(bench.store, claim)
    stored = bench.store.get(KEY)
    assert stored is not None
    assert (stored.expires_at, stored.lease_until) == (LATER, None)


def test_an_outcome_can_make_a_record_permanent(bench: Bench) -> None:
    claim, _ = claimed(bench)
    bench.store.complete(claim, RESULT, None)
    stored = bench.store.get(KEY)
    assert stored is not None
    assert stored.expires_at is None


def test_a_released_key_is_as_if_it_had_never_been_claimed(bench: Bench) -> None:
    claim, _ = claimed(bench)
    bench.store.release(claim)
    assert bench.raw(KEY) is None
    again = won(bench.store.claim(request("next")))
    assert (again.attempt, again.starts) == (1, 1)


@every_verb
@pytest.mark.parametrize("successor", SUCCESSORS.values(), ids=SUCCESSORS)
def test_a_claim_that_was_taken_over_changes_nothing(bench: Bench, verb: Verb, successor: Record) -> None:
    claim, _ = claimed(bench)
    bench.place(successor)
    before = bench.raw(KEY)
    with pytest.raises(ClaimLost) as lost:
        verb(bench.store, claim)
    assert (lost.value.key, lost.value.found) == (KEY, successor)
    assert bench.raw(KEY) == before


@every_writing_verb
def test_a_record_that_is_gone_is_never_created_again(bench: Bench, verb: Verb) -> None:
    claim, _ = claimed(bench)
    bench.store.release(claim)
    with pytest.raises(ClaimLost) as lost:
        verb(bench.store, claim)
    assert lost.value.found is None
    assert bench.raw(KEY) is None


def test_releasing_a_record_that_is_gone_is_fine(bench: Bench) -> None:
    claim, _ = claimed(bench)
    bench.store.release(claim)
    bench.store.release(claim)
    assert bench.raw(KEY) is None


@pytest.mark.parametrize(
    ("ended", "verb"),
    [
        (ended, verb)
        for ended in ("complete", "fail")
        for verb in VERBS
        if (ended, verb) not in {("complete", "complete"), ("complete", "commit"), ("fail", "fail")}
    ],
)
def test_an_outcome_is_never_changed_by_its_own_claim(bench: Bench, ended: str, verb: str) -> None:
    claim, _ = claimed(bench)
    VERBS[ended](bench.store, claim)
    before = bench.raw(KEY)
    with pytest.raises(ClaimLost):
        VERBS[verb](bench.store, claim)
    assert bench.raw(KEY) == before


@pytest.mark.parametrize("verb", ["complete", "fail", "commit"])
def test_a_repeated_outcome_succeeds_and_changes_nothing(bench: Bench, clock: TestClock, verb: str) -> None:
    claim, _ = claimed(bench)
    VERBS[verb](bench.store, claim)
    before = bench.raw(KEY)
    clock.pass_ms(9_000)  # the repetition is not the same request: another finishedAt
    VERBS[verb](bench.store, claim)
    assert bench.raw(KEY) == before


def test_a_repeated_outcome_never_replaces_the_first_result(bench: Bench) -> None:
    claim, stored = claimed(bench)
    bench.store.complete(claim, RESULT, LATER)
    bench.store.complete(claim, OTHER_RESULT, LATER)
    assert bench.store.get(KEY) == succeeded(stored, RESULT, LATER, NOW)


def test_beginning_twice_with_one_claim_counts_one_start(bench: Bench) -> None:
    claim = won(bench.store.claim(request(starts_max=9)))
    assert bench.store.begin(claim) == bench.store.begin(claim) == replace(claim, starts=1, unstarted=False)
    stored = bench.store.get(KEY)
    assert stored is not None
    assert stored.starts == 1


def test_a_late_finisher_is_refused_at_every_step_after_a_takeover(bench: Bench, clock: TestClock) -> None:
    first = won(bench.store.claim(request("first")))
    clock.pass_ms(61_000)
    second = won(bench.store.claim(request("second", lease_until=NOW + 200_000)))
    before = bench.raw(KEY)
    for verb in VERBS.values():
        with pytest.raises(ClaimLost):
            verb(bench.store, first)
    assert bench.raw(KEY) == before
    bench.store.complete(second, RESULT, LATER)
    before = bench.raw(KEY)
    for verb in VERBS.values():
        with pytest.raises(ClaimLost):
            verb(bench.store, first)
    assert bench.raw(KEY) == before


def test_a_late_finisher_may_record_while_nobody_took_over(bench: Bench, clock: TestClock) -> None:
    claim, stored = claimed(bench)
    clock.pass_ms(600_000)
    bench.store.complete(claim, RESULT, LATER)
    assert bench.store.get(KEY) == succeeded(stored, RESULT, LATER, NOW + 600_000)
