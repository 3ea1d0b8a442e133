"""Losing a race means deciding again from what is there now, a bounded number of times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from idem.dynamo.store import ROUNDS_MAX
from idem.errors import ClaimLost, StoreUnavailable
from idem.record import Held, Status, Succeeded, claimed_record
from tests.idem.benches import DynamoBench, store_on
from tests.idem.builders import KEY, LATER, NOW, RECLAIMABLE, RESULT, lapsed, record, request, won
from tests.idem.clients import Interfering, Silent
from tests.idem.clocks import TestClock


@pytest.mark.parametrize("verb", ["claim", "guard"])
def test_of_two_takeovers_the_first_wins_and_the_other_is_held(
    dynamo: DynamoBench, clock: TestClock, verb: str
) -> None:
    dynamo.place(lapsed())
    write = "put_item" if verb == "claim" else "transact_write_items"
    client = Interfering(dynamo.client, {(write, 2): lambda: dynamo.store.claim(request("rival"))})
    store = store_on(client, dynamo, clock)
    answer = store.claim(request()) if verb == "claim" else store.guard(request(), RESULT, [dynamo.put_order("o-1")])
    assert isinstance(answer, Held)
    assert (answer.record.claim_token, answer.record.attempt) == ("rival", 3)
    assert dynamo.order("o-1") is None


def test_a_takeover_that_lost_to_a_finished_rival_gets_its_result(dynamo: DynamoBench, clock: TestClock) -> None:
    dynamo.place(lapsed())

    def rival() -> None:
        dynamo.store.complete(won(dynamo.store.claim(request("rival"))), RESULT, LATER)

    answer = store_on(Interfering(dynamo.client, {("put_item", 2): rival}), dynamo, clock).claim(request())
    assert isinstance(answer, Succeeded)
    assert answer.record.claim_token == "rival"


@pytest.mark.parametrize("verb", ["claim", "guard"])
def test_a_slow_first_attempt_that_records_just_before_a_takeover_is_not_overwritten(
    dynamo: DynamoBench, clock: TestClock, verb: str
) -> None:
    slow = won(dynamo.store.claim(request("slow", lease_until=NOW - 1)))
    write = "put_item" if verb == "claim" else "transact_write_items"
    client = Interfering(dynamo.client, {(write, 2): lambda: dynamo.store.complete(slow, RESULT, LATER)})
    store = store_on(client, dynamo, clock)
    answer = store.claim(request()) if verb == "claim" else store.guard(request(), RESULT, [dynamo.put_order("o-1")])
    assert isinstance(answer, Succeeded)
    assert answer.record.claim_token == "slow"
    assert dynamo.store.get(KEY) == answer.record
    assert dynamo.order("o-1") is None


def test_a_takeover_names_the_version_it_saw_also_after_a_rivals_failure(dynamo: DynamoBench, clock: TestClock) -> None:
    dynamo.place(lapsed())

    def rival() -> None:
        dynamo.store.fail(won(dynamo.store.claim(request("rival"))), RECLAIMABLE, LATER)

    claim = won(store_on(Interfering(dynamo.client, {("put_item", 2): rival}), dynamo, clock).claim(request()))
    assert (claim.attempt, claim.starts) == (4, 4)
    assert dynamo.store.get(KEY) == claimed_record(claim)


def test_a_start_that_was_counted_meanwhile_is_not_forgotten_by_a_takeover(
    dynamo: DynamoBench, clock: TestClock
) -> None:
    slow = won(dynamo.store.claim(request("slow", starts_max=9, lease_until=NOW - 1)))
    client = Interfering(dynamo.client, {("put_item", 2): lambda: dynamo.store.begin(slow)})
    claim = won(store_on(client, dynamo, clock).claim(request()))
    assert claim.starts == 2


@pytest.mark.parametrize("engine", [lambda client: client, Silent], ids=["sends the item", "sends no item"])
def test_a_record_that_vanishes_in_between_is_claimed_from_the_start(
    dynamo: DynamoBench, clock: TestClock, engine: Callable[[Any], Any]
) -> None:
    stored = lapsed()
    dynamo.place(stored)

    def vanish() -> None:
        dynamo.client.delete_item(TableName=dynamo.table, Key={"pk": {"S": f"IDEMPOTENCY#{KEY}"}})

    client = engine(Interfering(dynamo.client, {("put_item", 2): vanish}))
    claim = won(store_on(client, dynamo, clock).claim(request()))
    assert (claim.attempt, claim.starts) == (1, 1)
    assert dynamo.store.get(KEY) == claimed_record(claim)


@pytest.mark.parametrize("verb", ["claim", "guard"])
def test_a_key_that_never_stands_still_is_given_up_after_some_rounds(
    dynamo: DynamoBench, clock: TestClock, verb: str
) -> None:
    dynamo.place(lapsed(claim_token="rival-0"))
    write = "put_item" if verb == "claim" else "transact_write_items"
    acts = {
        (write, number): lambda number=number: dynamo.place(lapsed(claim_token=f"rival-{number}"))
        for number in range(1, 99)
    }
    client = Interfering(dynamo.client, acts)
    store = store_on(client, dynamo, clock)
    with pytest.raises(StoreUnavailable):
        store.claim(request()) if verb == "claim" else store.guard(request(), RESULT, [])
    assert client.count(write) == ROUNDS_MAX
    stored = dynamo.store.get(KEY)
    assert stored is not None
    assert stored.claim_token != "mine"


@pytest.mark.parametrize("status", list(Status))
def test_a_commit_overtaken_at_the_last_moment_writes_nothing(
    dynamo: DynamoBench, clock: TestClock, status: Status
) -> None:
    claim = won(dynamo.store.claim(request()))
    client = Interfering(dynamo.client, {("transact_write_items", 1): lambda: dynamo.place(record(status))})
    with pytest.raises(ClaimLost):
        store_on(client, dynamo, clock).complete(claim, RESULT, LATER, [dynamo.put_order("o-1")])
    assert dynamo.store.get(KEY) == record(status)
    assert dynamo.order("o-1") is None
