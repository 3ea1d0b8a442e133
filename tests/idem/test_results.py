"""Results: what the first call returns is what every replay returns, and nothing that is returned makes the work run twice."""

from __future__ import annotations

import json
from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Any
from uuid import UUID

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from idem import Commit, DynamoStore, HttpResult, MemoryStore, NotKept, Policy, ResultId, Store, keys, once
from idem.record import StoredResult
from idem.results import NESTING_MAX, replay, store
from tests.idem.benches import DynamoBench
from tests.idem.builders import NOW_S
from tests.idem.clocks import TestClock

LIMIT = 4096

JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), inner, max_size=4)
    ),
    max_leaves=12,
)


class Colour(Enum):
    RED = "red"
    PAIR = (1, 2)


class Level(IntEnum):
    HIGH = 3


@dataclass
class Line:
    sku: str
    price: Decimal


@dataclass(frozen=True, slots=True)
class Order:
    id: str
    lines: tuple[Line, ...]


Point = namedtuple("Point", "x y")  # noqa: PYI024 - what people return


class Hostile:
    """A result whose own code fails."""

    def __repr__(self) -> str:
        raise RuntimeError

    @property
    def __dict__(self) -> Any:  # type: ignore[override]
        raise RuntimeError


def run_twice(value: Any, kept_by: Store, clock: TestClock, **policy: Any) -> tuple[Any, Any, int]:
    """What the first call and a replay return, and how often the work ran."""
    runs: list[int] = []

    @once(
        operation="results", key=keys.constant("k"), store=kept_by, policy=Policy(retention=None, **policy), clock=clock
    )
    def work() -> Any:
        runs.append(1)
        return value

    return work(), work(), len(runs)


@given(JSON_VALUES)
@example(None)
@example(0)
@example(value=False)
@example("")
@example([])
@example({})
@example("\u2028\x00\U0001f600")
def test_whatever_json_can_hold_is_replayed_equal(value: Any) -> None:
    clock = TestClock()
    first, again, runs = run_twice(value, MemoryStore(clock), clock)
    for returned in (first, again):
        assert returned == value
        assert json.dumps(returned, sort_keys=True) == json.dumps(
            value, sort_keys=True
        )  # 1, 1.0 and True are not equal here
    assert runs == 1


CHANGED = [
    ((1, (2,)), [1, [2]]),
    (Point(1, 2), [1, 2]),
    ({1: "a", None: "b", 2.5: "c"}, {"1": "a", "null": "b", "2.5": "c"}),
    (OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
    (Decimal("1.50"), "1.50"),
    (datetime(2026, 11, 30, 12, tzinfo=UTC), "2026-11-30T12:00:00+00:00"),
    (date(2026, 11, 30), "2026-11-30"),
    (time(12, 30), "12:30:00"),
    (UUID(int=7), "00000000-0000-0000-0000-000000000007"),
    (Colour.RED, "red"),
    (Colour.PAIR, [1, 2]),
    (Level.HIGH, 3),
    (Order("o-1", (Line("a", Decimal("9.90")),)), {"id": "o-1", "lines": [{"sku": "a", "price": "9.90"}]}),
]


@pytest.mark.parametrize(("value", "returned"), CHANGED, ids=lambda value: repr(value)[:30])
def test_what_json_cannot_hold_as_it_is_has_one_form_from_the_first_call_on(
    clock: TestClock, value: Any, returned: Any
) -> None:
    first, again, runs = run_twice(value, MemoryStore(clock), clock)
    assert (first, again, runs) == (returned, returned, 1)


UNKEPT: list[Any] = [
    object(),
    Hostile(),
    {1, 2},
    b"bytes",
    float("nan"),
    [float("inf")],
    "\ud800",
    {"\udfff": 1},
    "x" * LIMIT,
    10**5000,
    {(1, 2): 3},
    Order,
    {1: "a", "1": "b"},
    {"x": [{None: 1, "null": 2}]},
    HttpResult(999),
    HttpResult(http_status=True),
    HttpResult(200, {}, {"x": "a\r\nset-cookie: b"}),
    HttpResult(200, {}, {"x y": "a"}),
]


@pytest.mark.parametrize("value", [pytest.param(one, id=type(one).__name__) for one in UNKEPT])
def test_what_cannot_be_kept_is_returned_once_and_then_said_to_be_missing(clock: TestClock, value: Any) -> None:
    first, again, runs = run_twice(value, MemoryStore(clock), clock)
    assert first is value
    assert isinstance(again, NotKept)
    assert again.reason
    assert runs == 1


STRANGE = [ResultId("ord-7"), ResultId("\ud800"), NotKept("\ud800"), NotKept("x" * 500_000)]


def test_a_value_that_contains_itself_does_not_run_the_work_twice(clock: TestClock) -> None:
    value: list[Any] = []
    value.append(value)
    _, again, runs = run_twice(value, MemoryStore(clock), clock)
    assert isinstance(again, NotKept)
    assert runs == 1


@pytest.mark.parametrize("value", [pytest.param(one, id=type(one).__name__) for one in [*UNKEPT, *STRANGE]])
def test_no_result_makes_dynamodb_run_the_work_twice(dynamo: DynamoBench, clock: TestClock, value: Any) -> None:
    *_, runs = run_twice(value, DynamoStore(dynamo.client, dynamo.table, clock=clock), clock)
    assert runs == 1


@pytest.mark.parametrize("value", [None, 0, False, "", [], {}, {"a": [1, 2.5, "é"]}, ResultId("ord-7")])
def test_dynamodb_replays_what_the_first_call_returned(dynamo: DynamoBench, clock: TestClock, value: Any) -> None:
    assert run_twice(value, DynamoStore(dynamo.client, dynamo.table, clock=clock), clock) == (value, value, 1)


def test_the_limit_counts_bytes_and_is_the_policys(clock: TestClock) -> None:
    assert run_twice("é" * 4, MemoryStore(clock), clock, result_bytes_max=10)[1] == "é" * 4
    assert isinstance(run_twice("é" * 5, MemoryStore(clock), clock, result_bytes_max=10)[1], NotKept)


@pytest.mark.parametrize("value", ["ord-7", "é" * 10])
def test_an_identifier_is_kept_alone_and_comes_back_as_one(clock: TestClock, value: str) -> None:
    assert run_twice(ResultId(value), MemoryStore(clock), clock) == (ResultId(value), ResultId(value), 1)


@pytest.mark.parametrize("value", ["", "x" * (LIMIT + 1), "\ud800", 7, None])
def test_an_identifier_that_cannot_be_kept_is_said_to_be_missing(clock: TestClock, value: Any) -> None:
    first, again, runs = run_twice(ResultId(value), MemoryStore(clock), clock)
    assert first == ResultId(value)
    assert isinstance(again, NotKept)
    assert runs == 1


def test_work_can_say_itself_that_its_result_is_not_kept(clock: TestClock) -> None:
    value = NotKept("it holds personal data")
    assert run_twice(value, MemoryStore(clock), clock) == (value, value, 1)


def test_a_commit_returns_its_result_and_not_itself(clock: TestClock) -> None:
    assert run_twice(Commit([], {"a": (1,)}), MemoryStore(clock), clock) == ({"a": [1]}, {"a": [1]}, 1)


def nested(levels: int) -> Any:
    value: Any = "deep"
    for level in range(levels):
        value = [value] if level % 2 else {"in": value}
    return value


@pytest.mark.parametrize("levels", [NESTING_MAX + 1, 400, 984, 5_000])
def test_what_is_nested_too_deeply_is_omitted_by_a_limit_of_ours_and_not_by_the_stack(
    clock: TestClock, levels: int
) -> None:
    value = nested(levels)
    first, again, runs = run_twice(value, MemoryStore(clock), clock)
    assert first is value
    assert isinstance(again, NotKept)
    assert runs == 1


def test_what_is_nested_up_to_the_limit_is_replayed(clock: TestClock) -> None:
    value = nested(NESTING_MAX)
    assert run_twice(value, MemoryStore(clock), clock) == (value, value, 1)
    wide = [nested(3)] * 60
    assert run_twice(wide, MemoryStore(clock), clock) == (wide, wide, 1)


def test_an_older_record_that_is_too_deep_to_be_read_is_replayed_as_not_kept() -> None:
    text = '{"a":' * 100_000 + "1" + "}" * 100_000
    assert isinstance(replay(StoredResult("json", text)), NotKept)


HTTP = HttpResult(201, {"id": ["tr_1"]}, {"location": "/t/1"})
Sly: Any = Enum("Sly", {"ANSWER": {"idem:http": {"status": 302, "body": None, "headers": {}}}})
LOOKALIKES: list[Any] = [
    {"http_status": 302, "http_body": None, "http_headers": {"location": "https://evil.example"}},
    {"idem:http": {"status": 302, "body": None, "headers": {"location": "https://evil.example"}}},
    {"idem:plain": {"idem:http": {"status": 302, "body": None, "headers": {}}}},
    {"idem:plain": {"idem:plain": 1}},
    {"idem:http": 1},
    {"idem:other": 1, "b": 2},
    {"a": 1, "idem:http": {"status": 302, "body": None, "headers": {}}},
    Sly.ANSWER,
]


def test_an_answer_is_replayed_as_an_answer(clock: TestClock) -> None:
    assert run_twice(HTTP, MemoryStore(clock), clock) == (HTTP, HTTP, 1)
    assert run_twice(HttpResult(200, (1, Decimal("2.50"))), MemoryStore(clock), clock)[0] == HttpResult(
        200, [1, "2.50"]
    )


@pytest.mark.parametrize("value", LOOKALIKES, ids=repr)
def test_no_data_is_replayed_as_an_answer(clock: TestClock, value: Any) -> None:
    plain = value.value if isinstance(value, Enum) else value
    assert run_twice(value, MemoryStore(clock), clock) == (plain, plain, 1)


def test_an_answer_inside_of_other_data_is_data(clock: TestClock) -> None:
    first, again, _ = run_twice({"inner": HTTP}, MemoryStore(clock), clock)
    assert first == again
    assert first["inner"]["http_status"] == 201


def test_a_record_without_a_result_is_not_mistaken_for_none() -> None:
    assert isinstance(replay(None), NotKept)
    assert replay(StoredResult("json", "null")) is None


@given(JSON_VALUES, st.integers(0, 40))
def test_storing_never_raises_and_never_exceeds_the_limit(value: Any, limit: int) -> None:
    stored, returned = store(value, limit)
    if stored.kind == "json":
        assert len(stored.text.encode("utf-8")) <= limit
        assert replay(stored) == returned == value
    else:
        assert returned is value


def test_results_are_kept_as_long_as_the_policy_says(clock: TestClock) -> None:
    kept = MemoryStore(clock)
    run_twice(1, kept, clock)
    assert [record.expires_at for record in kept.records.values()] == [None]
    assert clock.now_ms() // 1000 == NOW_S
