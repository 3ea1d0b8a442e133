from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from idem import Key, Lapsed, Policy, Record, Retention, keys
from idem.operators.operator_errors import Exit, OperatorError
from idem.operators.record_text import (
    State,
    apart,
    as_json,
    parse_key,
    parse_span,
    reading_of,
    request_for,
    state_of,
)
from idem.record import TakeOver, decide
from tests.operators.records_in_every_state import EVERY, EXPIRED, FAILED, NOW, RECLAIMABLE, RUNNING, STUCK, SUCCEEDED


@pytest.mark.parametrize(
    ("record", "state"),
    [
        (RUNNING, State.RUNNING),
        (STUCK, State.STUCK),
        (SUCCEEDED, State.SUCCEEDED),
        (FAILED, State.FAILED),
        (RECLAIMABLE, State.RECLAIMABLE),
        (EXPIRED, State.EXPIRED),
    ],
)
def test_every_state_has_its_name(record: Record, state: State) -> None:
    assert state_of(record, NOW) is state


def test_a_lease_counts_as_lapsed_only_when_a_delivery_would_take_it_over() -> None:
    at_its_end = RUNNING.lease_until or 0
    assert state_of(RUNNING, at_its_end) is State.RUNNING  # the skew margin is still running
    assert state_of(RUNNING, at_its_end + 2_000) is State.STUCK


@pytest.mark.parametrize("record", EVERY)
def test_the_next_delivery_is_said_to_run_the_work_exactly_where_decide_lets_it(record: Record) -> None:
    runs = isinstance(decide(record, request_for(record.key), NOW), TakeOver)
    says = reading_of(record, NOW).next
    assert ("runs the work" in says.split("If nothing is recorded")[0]) is runs


def test_a_stuck_record_says_that_the_next_attempt_takes_over() -> None:
    reading = reading_of(STUCK, NOW)
    assert "lapsed 5 min ago" in reading.says
    assert "attempt 3" in reading.next


def test_a_policy_that_holds_makes_a_stuck_record_wait_for_a_person() -> None:
    policy = Policy(retention=Retention.QUEUE, lapsed=Lapsed.HOLD)
    reading = reading_of(STUCK, NOW, policy)
    assert reading.state is State.STUCK
    assert "idem settle" in reading.next
    assert "idem release" in reading.next


def test_a_running_record_says_what_happens_when_its_lease_ends() -> None:
    assert "told to come again" in reading_of(RUNNING, NOW).next
    assert "takes over" in reading_of(RUNNING, NOW).next


def test_a_failure_whose_attempts_are_used_up_says_so() -> None:
    policy = Policy(retention=Retention.QUEUE, starts_max=1)
    assert "started once, the limit of its policy" in reading_of(RECLAIMABLE, NOW, policy).next


def test_a_sample_with_other_content_is_said_to_be_refused() -> None:
    record = replace(SUCCEEDED, request_hash="v1:aa")
    assert "refused" in reading_of(record, NOW, request_hash="v1:bb").next
    assert "refused" not in reading_of(record, NOW, request_hash="v1:aa").next


@pytest.mark.parametrize("record", EVERY)
def test_the_json_of_a_record_never_has_its_token(record: Record) -> None:
    assert record.claim_token not in str(as_json(record, NOW))


@pytest.mark.parametrize(
    "text", ["orders.fulfil#1001", "IDEMPOTENCY#orders.fulfil#1001", "o#a#b", "o#50%25 off", "o#%sha256:" + "a" * 64]
)
def test_a_key_is_read_as_it_is_stored(text: str) -> None:
    assert str(parse_key(text)) == text.removeprefix("IDEMPOTENCY#")


def test_a_key_that_was_typed_unescaped_is_escaped_as_the_consumer_does() -> None:
    assert parse_key("o#50% off") == keys.make_key("o", ["50% off"])
    assert parse_key("o#" + "x" * 600) == keys.make_key("o", ["x" * 600])


@pytest.mark.parametrize("text", ["", "orders", "orders#", "#1", "an operation#1"])
def test_what_is_no_key_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(OperatorError, match=r"orders\.fulfil#1001") as refused:
        parse_key(text)
    assert refused.value.status is Exit.USAGE


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (-1, "0 ms"),
        (850, "850 ms"),
        (59_999, "59 s"),
        (185_000, "3 min 5 s"),
        (7_200_000, "2 h"),
        (90_000_000, "1 d 1 h"),
    ],
)
def test_spans_are_shown_in_two_units(milliseconds: int, text: str) -> None:
    assert apart(milliseconds) == text


def test_spans_are_read() -> None:
    assert parse_span("90s") == timedelta(seconds=90)
    assert parse_span("7d") == timedelta(days=7)
    with pytest.raises(OperatorError, match="2h"):
        parse_span("soon")


def test_an_expiry_that_no_calendar_knows_is_still_shown() -> None:
    record = replace(SUCCEEDED, key=Key("o", "1"), expires_at=NOW * 1000)
    assert as_json(record, NOW)["expiresAt"] == f"{NOW * 1000} s"
