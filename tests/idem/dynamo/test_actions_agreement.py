"""`decide` and DynamoDB's conditions are one truth in two spellings: here they agree over every combination."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from idem.dynamo.schema import from_item, primary_key, to_item
from idem.dynamo.store import DynamoStore
from idem.record import (
    Abandoned,
    Claim,
    Failed,
    Failure,
    Held,
    Key,
    Mismatch,
    Record,
    Request,
    Status,
    Succeeded,
    TakeOver,
    claimed_record,
    decide,
)
from tests.idem.benches import Locked, create_table
from tests.idem.builders import NOW, NOW_S, RESULT
from tests.idem.clocks import TestClock

MARGIN_MS = 2_000
LEASES = {"live": NOW + 30_000, "in the margin": NOW - 1_000, "just over": NOW - MARGIN_MS}
EXPIRIES = {"none": None, "future": NOW_S + 60, "in the margin": NOW_S - 1, "just past": NOW_S - 2}
TOKENS = ("mine", "theirs")
HASHES: dict[str, tuple[str | None, str | None]] = {
    "none": (None, None),
    "same": ("v1:aa", "v1:aa"),
    "other": ("v1:aa", "v1:bb"),
    "other version": ("v0:aa", "v1:bb"),
}
RULES = tuple(itertools.product((2, 3), (False, True)))  # starts_max against two starts; hold_lapsed


def states() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every state with what only it has: a lease, a result, or an error that may be reclaimed or not."""
    for name, lease in LEASES.items():
        yield f"in progress, lease {name}", {"status": Status.IN_PROGRESS, "lease_until": lease}
    yield "succeeded", {"status": Status.SUCCEEDED, "result": RESULT, "finished_at": NOW_S - 30}
    for reclaimable in (False, True):
        failure = Failure(type="E", message="m", reclaimable=reclaimable)
        yield f"failed, {reclaimable=}", {"status": Status.FAILED, "failure": failure, "finished_at": NOW_S - 30}


def combinations() -> Iterator[tuple[str, Record, Request]]:
    numbers = itertools.count()
    for (state, own), (life, expires_at), token, (hashes, (stored, wanted)), (limit, hold) in itertools.product(
        states(), EXPIRIES.items(), TOKENS, HASHES.items(), RULES
    ):
        key = Key("agreement", str(next(numbers)))
        record = Record(
            key=key,
            claim_token=token,
            attempt=4,
            starts=2,
            claimed_at=NOW_S - 90,
            expires_at=expires_at,
            request_hash=stored,
            **own,
        )
        request = Request(
            key=key,
            token="mine",
            lease_until=NOW + 60_000,
            deadline=NOW + 50_000,
            expires_at=NOW_S + 3_600,
            request_hash=wanted,
            starts_max=limit,
            hold_lapsed=hold,
            skew_margin_ms=MARGIN_MS,
        )
        yield f"{state}; expiry {life}; token {token}; hash {hashes}; {limit=}; {hold=}", record, request


def place_all(client: Any, table: str, records: list[Record]) -> None:
    for start in range(0, len(records), 25):
        puts = [{"PutRequest": {"Item": to_item(record)}} for record in records[start : start + 25]]
        client.batch_write_item(RequestItems={table: puts})


def read_all(client: Any, table: str, keys: list[Key]) -> dict[Key, Record]:
    found: dict[Key, Record] = {}
    for start in range(0, len(keys), 100):
        part = {primary_key(key)["pk"]["S"]: key for key in keys[start : start + 100]}
        answer = client.batch_get_item(RequestItems={table: {"Keys": [primary_key(key) for key in part.values()]}})
        for item in answer["Responses"][table]:
            key = part[item["pk"]["S"]]
            found[key] = from_item(item, key)
    return found


@pytest.mark.parametrize("engine", ["moto_client", pytest.param("account_client", marks=pytest.mark.e2e)])
def test_what_the_engine_allows_is_what_decide_says(request: pytest.FixtureRequest, engine: str) -> None:
    client = Locked(request.getfixturevalue(engine), 0)
    table = f"agreement-{engine}".replace("_", "-")
    create_table(client, table, "pk")
    store = DynamoStore(client, table, clock=TestClock())
    cases = list(combinations())
    place_all(client, table, [record for _, record, _ in cases])
    answers = {wanted.key: store.claim(wanted) for _, _, wanted in cases}
    held = read_all(client, table, [wanted.key for _, _, wanted in cases])
    kinds = set()
    for name, stored, wanted in cases:
        said = decide(stored, wanted, NOW)
        expected = said.successor if isinstance(said, TakeOver) else said
        assert answers[wanted.key] == expected, name
        after = claimed_record(said.successor) if isinstance(said, TakeOver) else stored
        assert held[wanted.key] == after, name
        kinds.add(type(said))
    assert kinds == {TakeOver, Claim, Succeeded, Failed, Held, Mismatch, Abandoned}
