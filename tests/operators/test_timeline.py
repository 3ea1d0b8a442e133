from __future__ import annotations

from dataclasses import replace

import pytest

from idem import Record
from idem.operators.decisions import Decision, Instruction, decided
from idem.operators.timeline import between, changes, line, told
from tests.operators.records_in_every_state import FAILED, NOW, NOW_S, RUNNING, STUCK, SUCCEEDED

DONE = replace(SUCCEEDED, key=RUNNING.key, origin=RUNNING.origin)
TAKEN_OVER = replace(RUNNING, claim_token="b" * 32, attempt=2)


@pytest.mark.parametrize(
    ("before", "after", "kinds"),
    [
        (None, RUNNING, ["claimed"]),
        (None, STUCK, ["taken over"]),
        (None, DONE, ["claimed", "completed"]),
        (None, FAILED, ["claimed", "failed"]),
        (RUNNING, DONE, ["completed"]),
        (RUNNING, TAKEN_OVER, ["taken over"]),
        (RUNNING, replace(RUNNING, starts=2), ["started"]),
        (RUNNING, RUNNING, []),
    ],
)
def test_what_must_have_happened_is_told_from_two_versions(
    before: Record | None, after: Record, kinds: list[str]
) -> None:
    assert [one.kind for one in changes(before, after, NOW)] == kinds


def test_a_record_that_went_away_was_released_or_deleted() -> None:
    (gone,) = between({RUNNING.key: RUNNING}, {}, NOW)
    assert (gone.kind, gone.key, gone.at) == ("gone", RUNNING.key, NOW)
    assert "TTL" in gone.says


def test_a_decision_is_told_with_who_and_why_and_once() -> None:
    instruction = Instruction(decision=Decision.RELEASE, who="ada", why="ticket 7")
    after = decided(STUCK, instruction, NOW)
    (released,) = changes(STUCK, after, NOW)
    assert (released.kind, released.says) == ("released", "by ada: ticket 7")
    assert list(changes(after, replace(after, expires_at=NOW_S + 1), NOW)) == []


def test_a_record_tells_of_decisions_that_later_attempts_carried_on() -> None:
    released = decided(FAILED, Instruction(decision=Decision.RELEASE, who="ada", why="ticket 7"), NOW)
    assert [one.kind for one in told(released)] == ["released"]
    done = replace(SUCCEEDED, key=FAILED.key, claim_token="b" * 32, attempt=2, decided=released.decided)
    assert [one.kind for one in told(done)] == ["released", "taken over", "completed"]
    assert [one.kind for one in changes(FAILED, done, NOW)] == ["released", "taken over", "completed"]
    assert [one.kind for one in changes(released, done, NOW)] == ["taken over", "completed"]


def test_a_record_tells_its_own_past_in_one_line_each() -> None:
    claimed, completed = map(line, told(SUCCEEDED))
    assert "claimed     orders.fulfil#done  by attempt 1, from stripe (eventId evt_done, requestId r-1)" in claimed
    assert 'completed   orders.fulfil#done  {"parcels":1}' in completed
