"""The race on moto, with threads. With processes, on the local account: test_sending."""

from __future__ import annotations

import pytest

from idem.operators.connection import Connection
from idem.operators.operator_errors import Exit, OperatorError
from idem.operators.racing import Race, Racer, clear, fresh_key, race_threads


def racer(number: int, token: str, lost_to: str | None, race: Race) -> Racer:
    claim = race.winners[0].claim if lost_to is None else None
    return Racer(number=number, token=token, answer="x", claim=claim, lost_to=lost_to, exchanges=[])


def test_one_of_the_claims_wins_and_all_others_lose_to_it(connection: Connection) -> None:
    race = race_threads(connection, fresh_key(), 6)
    assert [one.number for one in race.racers] == list(range(6))
    assert race.fair
    (winner,) = race.winners
    assert {one.lost_to for one in race.racers if not one.won} == {winner.token}
    assert all(one.exchanges for one in race.racers)
    clear(connection, race)
    assert connection.store().get(race.key) is None


def test_two_winners_or_a_loser_to_nobodys_record_are_not_fair(connection: Connection) -> None:
    race = race_threads(connection, fresh_key(), 2)
    won, lost = racer(0, "a", None, race), racer(1, "b", "a", race)
    assert Race(key=race.key, racers=[won, lost]).fair
    assert not Race(key=race.key, racers=[won, racer(1, "b", None, race)]).fair
    assert not Race(key=race.key, racers=[won, racer(1, "b", "somebody", race)]).fair
    assert not Race(key=race.key, racers=[lost]).fair


def test_a_race_on_a_table_that_is_not_there_does_not_take_place(connection: Connection) -> None:
    elsewhere = Connection(table_name="nowhere", region=connection.region)
    with pytest.raises(OperatorError, match="did not take place") as refused:
        race_threads(elsewhere, fresh_key(), 3)
    assert refused.value.status is Exit.AWS
