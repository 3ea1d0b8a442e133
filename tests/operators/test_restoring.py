"""Records that a backup does not have are written again from the rows that prove their work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from idem.operators.connection import Connection
from idem.operators.record_text import parse_key, request_for
from idem.operators.restoring import prove, remember, rows_of
from idem.record import Record, Succeeded
from tests.operators.conftest import Cli
from tests.operators.records_in_every_state import EVERY, STUCK, SUCCEEDED, put

LEDGER = "ledger"
DAYS = timedelta(days=35)
NEW, OTHER = "orders.fulfil#1001", "payments.credit#evt_1"


@pytest.fixture
def ledger(connection: Connection) -> str:
    """A table of effects, whose rows name the key of their work."""
    connection.dynamodb.create_table(
        TableName=LEDGER,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    )
    return LEDGER


def effect(connection: Connection, subject: str, key: Mapping[str, Any] | str | None) -> None:
    value = {"S": key} if isinstance(key, str) else key
    row = {"pk": {"S": subject}, "sk": {"S": "EFFECT"}} | ({"doneFor": value} if value else {})
    connection.dynamodb.put_item(TableName=LEDGER, Item=row)


def read(connection: Connection) -> Iterator[tuple[str, Mapping[str, Any] | None]]:
    return rows_of(connection.dynamodb, LEDGER, "doneFor")


@pytest.mark.usefixtures("ledger")
def test_a_key_is_done_only_by_a_record_that_succeeded_and_is_alive(connection: Connection) -> None:
    put(connection.dynamodb, connection.table, *EVERY)
    for number, key in enumerate([NEW, NEW, *(str(one.key) for one in EVERY)]):
        effect(connection, f"ORDER#{number}", key)
    proof = prove(connection.store(), read(connection))
    seen = {one.key: one for one in EVERY if one is not SUCCEEDED}
    assert proof.not_done == seen | {parse_key(NEW): None}
    assert (proof.rows, proof.silent, proof.unreadable) == (2 + len(EVERY), 0, [])


@pytest.mark.usefixtures("ledger")
def test_a_row_that_cannot_be_read_does_not_take_its_neighbours(connection: Connection) -> None:
    odd = {"pk": {"S": "IDEMPOTENCY#orders.fulfil#odd"}, "colour": {"S": "red"}}
    connection.dynamodb.put_item(TableName=connection.table, Item=odd)
    bad: list[Mapping[str, Any] | str] = [{"N": "7"}, "no key", "orders.fulfil#", {"NULL": True}, "orders.fulfil#odd"]
    for number, key in enumerate(bad):
        effect(connection, f"BAD#{number}", key)
    effect(connection, "CUSTOMER#1", None)
    effect(connection, "ORDER#1", NEW)
    effect(connection, "PAYMENT#1", OTHER)
    proof = prove(connection.store(), read(connection))
    assert sorted(str(key) for key in proof.not_done) == [NEW, OTHER]
    assert len(proof.unreadable) == len(bad)
    assert all("BAD#" in one.where and one.wrong for one in proof.unreadable)
    assert (proof.rows, proof.silent) == (8, 1)


def test_work_that_is_remembered_is_not_run_again(connection: Connection) -> None:
    store, key = connection.store(), parse_key(NEW)
    assert list(remember(connection, {key: None}, DAYS)) == [key]
    answer = store.claim(request_for(key))
    assert isinstance(answer, Succeeded)
    assert answer.record.origin == {"source": "restore"}
    assert answer.record.expires_at is not None
    lives = answer.record.expires_at - (answer.record.finished_at or 0)
    assert timedelta(seconds=lives) - DAYS in {timedelta(0), timedelta(seconds=1)}  # whole seconds, rounded up


@pytest.mark.parametrize("found", [one for one in EVERY if one is not SUCCEEDED], ids=lambda one: one.key.identity)
def test_a_record_that_does_not_know_of_its_effect_is_settled(connection: Connection, found: Record) -> None:
    put(connection.dynamodb, connection.table, found)
    store = connection.store()
    assert list(remember(connection, {found.key: store.get(found.key)}, DAYS)) == [found.key]
    answer = store.claim(request_for(found.key))
    assert isinstance(answer, Succeeded)
    assert answer.record.failure is None
    assert answer.record.claim_token != found.claim_token


@pytest.mark.parametrize("seen", [None, STUCK], ids=["absent", "of another attempt"])
def test_a_record_that_came_meanwhile_stays_as_it_is(connection: Connection, seen: Record | None) -> None:
    there = replace(STUCK, claim_token="b" * 32, attempt=3)
    put(connection.dynamodb, connection.table, there, SUCCEEDED)
    assert list(remember(connection, {there.key: seen, SUCCEEDED.key: SUCCEEDED}, None)) == []
    assert connection.store().get(there.key) == there
    assert connection.store().get(SUCCEEDED.key) == SUCCEEDED


GIVEN = ("restore", "--from-table", LEDGER, "--key-attribute", "doneFor", "--who", "ada")


@pytest.mark.usefixtures("ledger")
def test_the_command_writes_what_is_missing_and_says_so_in_the_record(moto_cli: Cli, connection: Connection) -> None:
    effect(connection, "ORDER#1", NEW)
    ran = moto_cli(*GIVEN, "--yes")
    assert ran.status == 0, ran.err
    assert f"not done: {NEW} (no record)" in ran.out
    assert f"written: {NEW}" in ran.out
    record = connection.store().get(parse_key(NEW))
    assert record is not None
    assert record.origin == {"source": "restore", "table": LEDGER, "decidedBy": "ada"}
    again = moto_cli(*GIVEN, "--yes")
    assert again.status == 0
    assert "Every key that could be read is done" in again.out
    assert connection.store().get(parse_key(NEW)) == record


@pytest.mark.usefixtures("ledger")
def test_the_command_settles_an_attempt_that_the_backup_caught_in_progress(
    moto_cli: Cli, connection: Connection
) -> None:
    put(connection.dynamodb, connection.table, STUCK)
    effect(connection, "ORDER#1", str(STUCK.key))
    ran = moto_cli(*GIVEN, "--yes")
    assert ran.status == 0, ran.err
    assert f"not done: {STUCK.key} (stuck)" in ran.out
    assert f"written: {STUCK.key}" in ran.out
    assert isinstance(connection.store().claim(request_for(STUCK.key)), Succeeded)


@pytest.mark.usefixtures("ledger")
@pytest.mark.parametrize(("more", "status"), [(("--dry-run",), 0), ((), 2)])
def test_without_a_yes_nothing_is_written(
    moto_cli: Cli, connection: Connection, more: tuple[str, ...], status: int
) -> None:
    effect(connection, "ORDER#1", NEW)
    ran = moto_cli(*GIVEN, *more)
    assert ran.status == status
    assert f"not done: {NEW} (no record)" in ran.out
    assert connection.store().get(parse_key(NEW)) is None


@pytest.mark.usefixtures("ledger")
def test_rows_that_were_left_out_are_listed_and_make_the_answer_a_no(moto_cli: Cli, connection: Connection) -> None:
    effect(connection, "ORDER#1", NEW)
    effect(connection, "BAD#1", "nonsense")
    ran = moto_cli(*GIVEN, "--yes")
    assert ran.status == 1
    assert "BAD#1" in ran.err
    assert "1 row was left out" in ran.err
    assert f"written: {NEW}" in ran.out
    found = moto_cli(*GIVEN, "--yes", "--json")
    assert found.status == 1
    assert found.json["notDone"] == found.json["written"] == []
    assert "BAD#1" in found.json["unreadable"][0]["row"]


@pytest.mark.usefixtures("ledger")
def test_an_attribute_that_no_row_has_is_said(moto_cli: Cli, connection: Connection) -> None:
    effect(connection, "ORDER#1", None)
    ran = moto_cli(*GIVEN, "--yes")
    assert ran.status == 1
    assert "None of the 1 rows" in ran.err
    assert "doneFor" in ran.err


def test_a_ledger_that_is_not_there_is_the_one_that_is_named(moto_cli: Cli) -> None:
    ran = moto_cli(*GIVEN, "--yes")
    assert ran.status == 3
    assert f"no table {LEDGER}" in ran.err
    assert "--from-table" in ran.err
