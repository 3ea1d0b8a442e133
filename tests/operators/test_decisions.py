from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from idem import Consumer, Delivery, Policy, Record, Retention, SqsSource, Status, keys
from idem.errors import ClaimLost
from idem.flow import Flow
from idem.operators.connection import Connection
from idem.operators.decisions import WHO_CHARS_MAX, Decision, Instruction, change
from idem.operators.operator_errors import Exit, OperatorError
from idem.operators.record_text import State, now, request_for, state_of
from idem.record import Claim, Failed, Failure, StoredResult, Succeeded
from idem.testing import sqs_event
from tests.operators.records_in_every_state import EXPIRED, FAILED, RECLAIMABLE, RUNNING, STUCK, SUCCEEDED, put


def instruction(decision: Decision, *, force: bool = False, why: str = "ticket 7") -> Instruction:
    result_id = "wh-77" if decision is Decision.SETTLE else None
    return Instruction(decision=decision, who="ada", why=why, result_id=result_id, force=force)


def stored(connection: Connection, record: Record) -> Record | None:
    return connection.store().get(record.key)


@pytest.mark.parametrize("record", [STUCK, FAILED, RECLAIMABLE])
def test_a_released_key_is_run_again_by_the_next_delivery(connection: Connection, record: Record) -> None:
    put(connection.dynamodb, connection.table, record)
    change(connection, record, instruction(Decision.RELEASE))
    answer = connection.store().claim(request_for(record.key))
    assert isinstance(answer, Claim)
    assert answer.attempt == record.attempt + 1  # the fence rises
    assert answer.starts == 1  # an attempts limit starts anew


@pytest.mark.parametrize("record", [STUCK, FAILED, RECLAIMABLE])
def test_a_settled_key_answers_with_its_result_id(connection: Connection, record: Record) -> None:
    put(connection.dynamodb, connection.table, record)
    change(connection, record, instruction(Decision.SETTLE))
    answer = connection.store().claim(request_for(record.key))
    assert isinstance(answer, Succeeded)
    assert answer.record.result == StoredResult("id", "wh-77")


@pytest.mark.parametrize("record", [STUCK, SUCCEEDED, FAILED, RECLAIMABLE])
def test_a_forgotten_key_is_new_to_the_next_delivery(connection: Connection, record: Record) -> None:
    put(connection.dynamodb, connection.table, record)
    change(connection, record, instruction(Decision.FORGET))
    left = stored(connection, record)
    assert left is not None
    assert state_of(left, now()) is State.EXPIRED
    answer = connection.store().claim(request_for(record.key))
    assert isinstance(answer, Claim)
    never_ended = record.status is Status.IN_PROGRESS  # whoever holds that attempt's number may still be at work
    assert answer.attempt == (record.attempt + 1 if never_ended else 1)


def test_an_erased_key_is_gone(connection: Connection) -> None:
    put(connection.dynamodb, connection.table, SUCCEEDED)
    change(connection, SUCCEEDED, instruction(Decision.ERASE))
    assert stored(connection, SUCCEEDED) is None


@pytest.mark.parametrize("decision", [Decision.RELEASE, Decision.SETTLE, Decision.FORGET])
def test_the_record_says_who_and_why_and_keeps_where_it_came_from(connection: Connection, decision: Decision) -> None:
    put(connection.dynamodb, connection.table, STUCK)
    change(connection, STUCK, instruction(decision))
    left = stored(connection, STUCK)
    assert left is not None
    (said,) = left.decided
    assert (said.decision, said.by, said.why, said.attempt) == (decision.value, "ada", "ticket 7", STUCK.attempt)
    assert left.origin == STUCK.origin


def ends(error: BaseException | None) -> Callable[[Delivery, Claim], Any]:
    def work(_delivery: Delivery, _claim: Claim) -> Any:
        if error is not None:
            raise error
        return {"parcels": 1}

    return work


@pytest.mark.parametrize("decision", [Decision.RELEASE, Decision.FORGET])
@pytest.mark.parametrize(
    "error", [None, RuntimeError("try again"), ValueError("for good"), KeyError("forgotten")], ids=repr
)
def test_what_a_person_decided_survives_the_next_delivery_however_that_ends(
    connection: Connection, decision: Decision, error: BaseException | None
) -> None:
    put(connection.dynamodb, connection.table, STUCK)
    change(connection, STUCK, instruction(decision))
    consumer = Consumer(
        operation=STUCK.key.operation,
        source=SqsSource(),
        key=keys.field("id"),
        policy=Policy(retention=Retention.QUEUE, permanent=(ValueError,), forget=(KeyError,)),
        store=connection.store(),
        work=ends(error),
        observe=lambda _ending: None,
    )
    for _ in range(2):
        consumer(sqs_event({"id": STUCK.key.identity}))
    left = stored(connection, STUCK)
    assert left is not None
    assert [(one.decision, one.by, one.why) for one in left.decided] == [(decision.value, "ada", "ticket 7")]


def test_a_forgotten_key_whose_claim_is_given_back_counts_attempts_from_one(connection: Connection) -> None:
    put(connection.dynamodb, connection.table, FAILED)
    change(connection, FAILED, instruction(Decision.FORGET))
    policy = Policy(retention=Retention.QUEUE, forget=(KeyError,))
    flow = Flow(operation=FAILED.key.operation, store=connection.store(), policy=policy)
    for _ in range(3):
        claim = flow.claim(flow.request(FAILED.key, ends_at=None))
        assert isinstance(claim, Claim)
        assert (claim.attempt, claim.starts, len(claim.decided)) == (1, 1, 1)
        flow.record(flow.raised(claim, KeyError("not yet")))


def test_a_record_keeps_the_last_three_decisions_and_no_long_name(connection: Connection) -> None:
    put(connection.dynamodb, connection.table, STUCK)
    shown = STUCK
    for number in range(5):
        told = Instruction(decision=Decision.RELEASE, who="w" * 5_000, why=f"ticket {number}")
        shown = change(connection, shown, told)
    left = stored(connection, STUCK)
    assert left is not None
    assert [one.why for one in left.decided] == ["ticket 2", "ticket 3", "ticket 4"]
    assert {len(one.by) for one in left.decided} == {WHO_CHARS_MAX}


@pytest.mark.parametrize("decision", list(Decision))
def test_a_decision_is_one_log_line_that_steers_nothing(
    connection: Connection, decision: Decision, caplog: pytest.LogCaptureFixture
) -> None:
    put(connection.dynamodb, connection.table, STUCK)
    caplog.set_level(logging.INFO, "idem")
    change(connection, STUCK, instruction(decision, why="ticket 7\n\x1b[2J\u202egone"))
    (line,) = [one.getMessage() for one in caplog.records if one.name == "idem"]
    assert line.startswith(f"decision on orders.fulfil#stuck: {decision.value} by ada, attempt 2: ticket 7")
    assert line.isprintable()


def test_a_decision_that_was_refused_is_no_log_line(connection: Connection, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(OperatorError):
        change(connection, STUCK, instruction(Decision.RELEASE))
    assert [one for one in caplog.records if one.name == "idem"] == []


@pytest.mark.parametrize("decision", list(Decision))
@pytest.mark.parametrize(
    "there",
    [
        replace(STUCK, claim_token="b" * 32),  # taken over
        replace(STUCK, status=Status.SUCCEEDED, lease_until=None, result=StoredResult("id", "x")),  # completed late
        replace(STUCK, starts=2),  # its work was started
    ],
)
def test_a_record_that_changed_after_it_was_shown_is_left_as_it_is(
    connection: Connection, decision: Decision, there: Record
) -> None:
    put(connection.dynamodb, connection.table, there)
    with pytest.raises(OperatorError, match="changed after it was shown") as refused:
        change(connection, STUCK, instruction(decision))
    assert refused.value.status is Exit.CHANGED
    assert stored(connection, STUCK) == there


def test_a_record_that_went_away_is_not_made_again(connection: Connection) -> None:
    with pytest.raises(OperatorError, match="it is gone"):
        change(connection, STUCK, instruction(Decision.RELEASE))
    assert stored(connection, STUCK) is None


def test_of_two_operators_who_saw_the_same_one_decides(connection: Connection) -> None:
    put(connection.dynamodb, connection.table, STUCK)
    settled = change(connection, STUCK, instruction(Decision.SETTLE))
    with pytest.raises(OperatorError, match="changed after it was shown"):
        change(connection, STUCK, instruction(Decision.RELEASE))
    assert stored(connection, STUCK) == settled


@pytest.mark.parametrize("decision", [Decision.RELEASE, Decision.SETTLE, Decision.FORGET])
def test_an_attempt_that_wakes_up_after_the_decision_can_change_nothing(
    connection: Connection, decision: Decision
) -> None:
    store = connection.store()
    claim = store.claim(request_for(RUNNING.key))
    assert isinstance(claim, Claim)
    shown = store.get(RUNNING.key)
    assert shown is not None
    decided = change(connection, shown, instruction(decision, force=True))
    with pytest.raises(ClaimLost):
        store.complete(claim, StoredResult("id", "late"), None)
    with pytest.raises(ClaimLost):
        store.fail(claim, Failure(type="Late", message="", reclaimable=False), None)
    assert store.get(RUNNING.key) == decided


@pytest.mark.parametrize("decision", list(Decision))
def test_a_live_lease_is_left_alone_unless_forced(connection: Connection, decision: Decision) -> None:
    put(connection.dynamodb, connection.table, RUNNING)
    with pytest.raises(OperatorError, match="--force"):
        change(connection, RUNNING, instruction(decision))
    assert stored(connection, RUNNING) == RUNNING
    change(connection, RUNNING, instruction(decision, force=True))
    assert stored(connection, RUNNING) != RUNNING


@pytest.mark.parametrize(
    ("record", "decision"),
    [
        (SUCCEEDED, Decision.RELEASE),
        (SUCCEEDED, Decision.SETTLE),
        (EXPIRED, Decision.RELEASE),
        (EXPIRED, Decision.SETTLE),
        (EXPIRED, Decision.FORGET),
    ],
)
def test_a_decision_that_does_not_fit_changes_nothing(
    connection: Connection, record: Record, decision: Decision
) -> None:
    put(connection.dynamodb, connection.table, record)
    with pytest.raises(OperatorError, match=record.key.identity):
        change(connection, record, instruction(decision))
    assert stored(connection, record) == record


@pytest.mark.parametrize("why", ["", "  ", "x", "y" * 301])
def test_a_decision_without_a_reason_that_says_something_changes_nothing(connection: Connection, why: str) -> None:
    put(connection.dynamodb, connection.table, STUCK)
    with pytest.raises(OperatorError, match="3 to 300 characters"):
        change(connection, STUCK, instruction(Decision.RELEASE, why=why))
    assert stored(connection, STUCK) == STUCK


@pytest.mark.parametrize("record", [RUNNING, STUCK, FAILED, RECLAIMABLE])
def test_the_retention_counts_anew_from_the_decision(connection: Connection, record: Record) -> None:
    put(connection.dynamodb, connection.table, record)
    after = change(connection, record, instruction(Decision.SETTLE, force=True))
    kept = (record.expires_at or 0) - (record.finished_at or record.claimed_at)
    assert after.expires_at == (after.finished_at or 0) + kept
    assert not isinstance(connection.store().claim(request_for(record.key)), Failed)


def test_a_record_that_is_kept_for_ever_stays_so(connection: Connection) -> None:
    record = replace(FAILED, expires_at=None)
    put(connection.dynamodb, connection.table, record)
    assert change(connection, record, instruction(Decision.SETTLE)).expires_at is None
