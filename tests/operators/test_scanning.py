from __future__ import annotations

from dataclasses import replace

from idem import Key
from idem.operators.connection import Connection
from idem.operators.record_text import now
from idem.operators.scanning import Size, Wanted, cost, find, pages, size
from idem.record import StoredResult
from tests.operators.records_in_every_state import SUCCEEDED, put

LARGE = StoredResult("json", '"' + "x" * 250_000 + '"')


def test_a_look_stops_at_its_page_limit_and_says_where_it_can_go_on(connection: Connection) -> None:
    records = [replace(SUCCEEDED, key=Key("o", str(number)), result=LARGE) for number in range(12)]
    put(connection.dynamodb, connection.table, *records)
    assert len(list(pages(connection, Wanted(), now()))) > 2
    seen: list[Key] = []
    after: str | None = None
    looks = 0
    while looks == 0 or after:
        found = find(connection, Wanted(), now(), limit=100, pages_max=1, after=after)
        assert found.pages == 1
        seen += [one.key for one in found.records]
        after, looks = found.after, looks + 1
    assert sorted(map(str, seen)) == sorted(str(one.key) for one in records)


def test_the_limit_of_records_leaves_none_out_between_two_looks(connection: Connection) -> None:
    records = [replace(SUCCEEDED, key=Key("o", str(number))) for number in range(7)]
    put(connection.dynamodb, connection.table, *records)
    first = find(connection, Wanted(), now(), limit=3)
    second = find(connection, Wanted(), now(), limit=3, after=first.after)
    third = find(connection, Wanted(), now(), limit=3, after=second.after)
    assert third.after is None
    assert len({one.key for found in (first, second, third) for one in found.records}) == 7


def test_what_a_scan_costs_is_said_where_it_costs_something(connection: Connection) -> None:
    assert size(connection) == Size(items=0, bytes=0)
    assert cost(Size(items=10, bytes=4_000), 20) is None
    warning = cost(Size(items=2_000_000, bytes=1_200_000_000), 20) or ""
    assert "2,000,000 items" in warning
    assert "20 of its about 1145 pages" in warning
    assert "2,560 read units" in warning
