"""The stored shape is frozen: a change here is a new schema version, and old code and old records meet it in production."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idem.dynamo.schema import VERSION, from_item, primary_key, to_item
from idem.errors import CorruptRecord
from idem.record import Decided, Failure, Key, Record, Status, StoredResult

KEY = Key("orders.fulfil", "o-1")
IN_PROGRESS = {
    "pk": {"S": "IDEMPOTENCY#orders.fulfil#o-1"},
    "schema": {"N": "1"},
    "status": {"S": "in_progress"},
    "operation": {"S": "orders.fulfil"},
    "claimToken": {"S": "token"},
    "attempt": {"N": "2"},
    "starts": {"N": "1"},
    "claimedAt": {"N": "1800000000"},
    "leaseUntil": {"N": "1800000030000"},
    "expiresAt": {"N": "1800003600"},
    "requestHash": {"S": "v1:aa"},
    "origin": {"M": {"source": {"S": "sqs"}, "messageId": {"S": "m-1"}}},
}
ENDED = {name: value for name, value in IN_PROGRESS.items() if name != "leaseUntil"} | {
    "finishedAt": {"N": "1800000009"}
}
SUCCEEDED = ENDED | {"status": {"S": "succeeded"}}
ITEMS: dict[str, dict[str, Any]] = {
    "in progress": IN_PROGRESS,
    "succeeded": SUCCEEDED | {"result": {"S": '{"a":1}'}},
    "succeeded with an id": SUCCEEDED | {"resultId": {"S": "ord-7"}},
    "succeeded without its result": SUCCEEDED | {"resultOmitted": {"S": "it has 5000 bytes"}},
    "in progress and not begun": IN_PROGRESS | {"unstarted": {"BOOL": True}},
    "failed": ENDED
    | {
        "status": {"S": "failed"},
        "error": {"M": {"type": {"S": "E"}, "message": {"S": "m"}, "reclaimable": {"BOOL": True}}},
    },
}
ITEMS["decided about"] = ITEMS["failed"] | {
    "decided": {
        "L": [
            {
                "M": {
                    "decision": {"S": "release"},
                    "by": {"S": "ada"},
                    "at": {"N": "1800000009"},
                    "why": {"S": "ticket 7"},
                    "attempt": {"N": "2"},
                }
            }
        ]
    }
}
SMALLEST = {
    name: IN_PROGRESS[name]
    for name in ("pk", "schema", "status", "operation", "claimToken", "attempt", "starts", "claimedAt")
}


def base(status: Status, **more: Any) -> Record:
    return Record(
        key=KEY,
        status=status,
        claim_token="token",
        attempt=2,
        starts=1,
        claimed_at=1_800_000_000,
        lease_until=1_800_000_030_000 if status is Status.IN_PROGRESS else None,
        finished_at=None if status is Status.IN_PROGRESS else 1_800_000_009,
        expires_at=1_800_003_600,
        request_hash="v1:aa",
        origin={"source": "sqs", "messageId": "m-1"},
        **more,
    )


RECORDS = {
    "in progress": base(Status.IN_PROGRESS),
    "in progress and not begun": base(Status.IN_PROGRESS, unstarted=True),
    "succeeded": base(Status.SUCCEEDED, result=StoredResult("json", '{"a":1}')),
    "succeeded with an id": base(Status.SUCCEEDED, result=StoredResult("id", "ord-7")),
    "succeeded without its result": base(Status.SUCCEEDED, result=StoredResult("omitted", "it has 5000 bytes")),
    "failed": base(Status.FAILED, failure=Failure(type="E", message="m", reclaimable=True)),
}

RELEASED = Decided(decision="release", by="ada", at=1_800_000_009, why="ticket 7", attempt=2)
RECORDS["decided about"] = replace(RECORDS["failed"], decided=(RELEASED,))


@pytest.mark.parametrize("name", ITEMS)
def test_the_stored_shape_of_version_1_never_changes(name: str) -> None:
    assert VERSION == 1
    assert to_item(RECORDS[name]) == ITEMS[name]
    assert from_item(ITEMS[name], KEY) == RECORDS[name]


def test_in_a_single_table_a_record_has_one_constant_sort_key() -> None:
    assert primary_key(KEY, "IDEMPOTENCY") == {"pk": IN_PROGRESS["pk"], "sk": {"S": "IDEMPOTENCY"}}
    assert to_item(RECORDS["in progress"], "IDEMPOTENCY") == IN_PROGRESS | {"sk": {"S": "IDEMPOTENCY"}}
    assert from_item(IN_PROGRESS | {"sk": {"S": "IDEMPOTENCY"}}, KEY) == RECORDS["in progress"]


def test_what_has_no_value_is_not_stored() -> None:
    smallest = Record(
        key=KEY, status=Status.IN_PROGRESS, claim_token="token", attempt=2, starts=1, claimed_at=1_800_000_000
    )
    assert to_item(smallest) == SMALLEST
    assert from_item(SMALLEST, KEY) == smallest


def test_the_end_of_life_is_a_number_of_seconds_and_the_lease_of_milliseconds() -> None:
    """DynamoDB's TTL ignores text, and takes milliseconds for a year far away."""
    item = to_item(RECORDS["in progress"])
    assert len(item["expiresAt"]["N"]) == 10
    assert len(item["leaseUntil"]["N"]) == 13


def test_attributes_of_later_additions_are_ignored() -> None:
    assert from_item(IN_PROGRESS | {"note": {"S": "x"}}, KEY) == RECORDS["in progress"]


@pytest.mark.parametrize("name", SMALLEST.keys() - {"pk", "operation"})
def test_an_item_without_what_every_record_has_is_not_decided_on(name: str) -> None:
    with pytest.raises(CorruptRecord) as corrupt:
        from_item({other: value for other, value in IN_PROGRESS.items() if other != name}, KEY)
    assert corrupt.value.key == KEY


@pytest.mark.parametrize(
    "change",
    [
        {"schema": {"N": "2"}},
        {"schema": {"S": "1"}},
        {"status": {"S": "unknown"}},
        {"status": {"N": "1"}},
        {"attempt": {"N": "many"}},
        {"leaseUntil": {"S": "soon"}},
        {"expiresAt": {"N": "1.5"}},
        {"expiresAt": {"NULL": True}},
        {"origin": {"M": {"source": {"N": "1"}}}},
        {"origin": {"L": []}},
        {"error": {"M": {"type": {"S": "E"}}}},
        {"error": {"S": "E"}},
        {"result": {"N": "1"}},
        {"requestHash": {"NULL": True}},
        {"decided": {"S": "release"}},
        {"unstarted": {"S": "yes"}},
        {"decided": {"L": [{"S": "release"}]}},
    ],
    ids=repr,
)
def test_an_item_that_cannot_be_read_in_full_is_not_decided_on(change: dict[str, Any]) -> None:
    with pytest.raises(CorruptRecord):
        from_item(IN_PROGRESS | change, KEY)


ANY_TEXT = st.text(max_size=10)
RECORD = st.builds(
    Record,
    key=st.just(KEY),
    status=st.sampled_from(Status),
    claim_token=ANY_TEXT,
    attempt=st.integers(1, 10**6),
    starts=st.integers(0, 10**6),
    claimed_at=st.integers(0, 10**11),
    finished_at=st.none() | st.integers(0, 10**11),
    lease_until=st.none() | st.integers(0, 10**14),
    expires_at=st.none() | st.integers(0, 10**11),
    request_hash=st.none() | ANY_TEXT,
    result=st.none() | st.builds(StoredResult, kind=st.sampled_from(["json", "id", "omitted"]), text=ANY_TEXT),
    failure=st.none() | st.builds(Failure, type=ANY_TEXT, message=ANY_TEXT, reclaimable=st.booleans()),
    origin=st.dictionaries(ANY_TEXT, ANY_TEXT, max_size=3),
    unstarted=st.booleans(),
    decided=st.builds(
        tuple,
        st.lists(
            st.builds(
                Decided,
                decision=ANY_TEXT,
                by=ANY_TEXT,
                at=st.integers(0, 10**11),
                why=ANY_TEXT,
                attempt=st.integers(1, 10**6),
            ),
            max_size=3,
        ),
    ),
)


@given(RECORD)
def test_a_record_comes_back_from_its_item_as_it_was(record: Record) -> None:
    assert from_item(to_item(record), KEY) == record
