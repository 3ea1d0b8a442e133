"""A cancelled transaction says why, in request order: the record's own reason is the first."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ParamValidationError

from idem.dynamo.schema import to_item
from idem.dynamo.store import DynamoStore
from idem.dynamo.transactions import CallerRefused, Impossible, RecordRefused, TryAgain, read_reasons
from idem.errors import StoreUnavailable, TransactionRefused, WriteRefused
from idem.record import Status, Succeeded
from tests.idem.benches import DynamoBench, store_on
from tests.idem.builders import KEY, LATER, NOW, RESULT, record, request, won
from tests.idem.clients import Raising, cancelled, client_error
from tests.idem.clocks import TestClock

OK = {"Code": "None"}
CONFLICT = {"Code": "TransactionConflict", "Message": "made up"}
THROTTLE = {"Code": "ThrottlingError", "Message": "made up"}
CAPACITY = {"Code": "ProvisionedThroughputExceeded", "Message": "made up"}
CHECK = {"Code": "ConditionalCheckFailed", "Message": "made up"}
ITEM = {"pk": {"S": "IDEMPOTENCY#x"}}


@pytest.mark.parametrize(
    ("reasons", "meaning"),
    [
        ([CHECK, OK], RecordRefused(None)),
        ([CHECK | {"Item": ITEM}, OK], RecordRefused(ITEM)),
        ([CHECK | {"Item": {}}, OK], RecordRefused(None)),
        ([CHECK | {"Item": ITEM}, CHECK], RecordRefused(ITEM)),
        ([CHECK | {"Item": ITEM}, CONFLICT, THROTTLE], RecordRefused(ITEM)),
        ([OK, CHECK], CallerRefused(0, None)),
        ([OK, OK, CHECK | {"Item": ITEM}], CallerRefused(1, ITEM)),
        ([OK, CONFLICT, CHECK], CallerRefused(1, None)),
        ([OK, CHECK | {"Item": ITEM}, CHECK], CallerRefused(0, ITEM)),
        ([CONFLICT], TryAgain()),
        ([OK, CONFLICT, OK], TryAgain()),
        ([THROTTLE, CONFLICT, CAPACITY], TryAgain()),
    ],
)
def test_reasons_are_read_in_order_and_a_failed_condition_decides(
    reasons: list[dict[str, Any]], meaning: object
) -> None:
    assert read_reasons(reasons) == meaning


@pytest.mark.parametrize(
    "reasons",
    [
        [OK, {"Code": "ValidationError", "Message": "item too large"}],
        [OK, {"Code": "ItemCollectionSizeLimitExceeded"}],
        [CONFLICT, {"Code": "ValidationError"}],
        [OK, {"Code": "SomethingNew"}],
        [OK, OK],
        [],
    ],
)
def test_any_other_reason_is_final(reasons: list[dict[str, Any]]) -> None:
    assert isinstance(read_reasons(reasons), Impossible)


@pytest.mark.parametrize("verb", ["commit", "guard"])
@pytest.mark.parametrize("reason", [CONFLICT, THROTTLE, CAPACITY])
def test_a_transaction_in_conflict_is_repeated(
    dynamo: DynamoBench, clock: TestClock, verb: str, reason: dict[str, Any]
) -> None:
    client = Raising(dynamo.client, "transact_write_items", *[cancelled(OK, reason)] * 3)
    run(store_on(client, dynamo, clock), verb)
    stored = dynamo.store.get(KEY)
    assert stored is not None
    assert stored.status is Status.SUCCEEDED
    assert clock.slept == [25, 50, 100]


@pytest.mark.parametrize("verb", ["commit", "guard"])
def test_a_transaction_is_not_repeated_beyond_the_deadline(dynamo: DynamoBench, clock: TestClock, verb: str) -> None:
    client = Raising(dynamo.client, "transact_write_items", *[cancelled(CONFLICT, OK)] * 99)
    with pytest.raises(StoreUnavailable):
        run(store_on(client, dynamo, clock), verb, deadline=NOW + 400)
    assert NOW + 100 < clock.now_ms() < NOW + 400


@pytest.mark.parametrize("verb", ["commit", "guard"])
def test_a_final_reason_is_raised_and_nothing_is_written(dynamo: DynamoBench, clock: TestClock, verb: str) -> None:
    error = cancelled(OK, {"Code": "ValidationError", "Message": "item too large"})
    client = Raising(dynamo.client, "transact_write_items", error)
    with pytest.raises(TransactionRefused, match="ValidationError"):
        run(store_on(client, dynamo, clock), verb)
    assert client.count("transact_write_items") == 1


@pytest.mark.parametrize("verb", ["commit", "guard"])
@pytest.mark.parametrize(
    "error", [client_error("ValidationException"), ParamValidationError(report="made up")], ids=["engine", "client"]
)
def test_a_transaction_that_cannot_be_sent_is_refused_for_good(
    dynamo: DynamoBench, clock: TestClock, verb: str, error: Exception
) -> None:
    client = Raising(dynamo.client, "transact_write_items", error)
    with pytest.raises(TransactionRefused):
        run(store_on(client, dynamo, clock), verb)
    assert client.count("transact_write_items") == 1


@pytest.mark.parametrize("verb", ["commit", "guard"])
def test_the_callers_refused_write_is_named_with_its_item(dynamo: DynamoBench, clock: TestClock, verb: str) -> None:
    client = Raising(dynamo.client, "transact_write_items", cancelled(OK, OK, CHECK | {"Item": ITEM}))
    with pytest.raises(WriteRefused) as refused:
        run(store_on(client, dynamo, clock), verb)
    assert (refused.value.key, refused.value.index, refused.value.item) == (KEY, 1, ITEM)


def test_a_record_refused_together_with_the_callers_write_is_a_duplicate(dynamo: DynamoBench, clock: TestClock) -> None:
    stored = record(Status.SUCCEEDED)
    client = Raising(dynamo.client, "transact_write_items", cancelled(CHECK | {"Item": to_item(stored)}, CHECK))
    assert run(store_on(client, dynamo, clock), "guard") == Succeeded(stored)


def run(store: DynamoStore, verb: str, deadline: int = NOW + 50_000) -> object:
    wanted = request(deadline=deadline)
    if verb == "guard":
        return store.guard(wanted, RESULT, ())
    store.complete(won(store.claim(wanted)), RESULT, LATER, ())
    return None


def test_a_callers_refusal_waits_while_the_record_itself_met_a_conflict() -> None:
    # The rival may be doing this very work: its success makes the caller's condition fail, and the record says so next time.
    assert read_reasons([CONFLICT, {"Code": "ConditionalCheckFailed"}]) == TryAgain()
    assert read_reasons([OK, {"Code": "ConditionalCheckFailed"}, CONFLICT]) == CallerRefused(0, None)
