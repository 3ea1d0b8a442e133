"""A function that promises a type returns it, from the first call and from every replay."""

from __future__ import annotations

import asyncio
import functools
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any, Literal, Never
from uuid import UUID

import pytest
from pydantic import BaseModel, ConfigDict, Field, computed_field
from typing_extensions import TypedDict

from idem import Commit, DynamoStore, HttpResult, MemoryStore, NotKept, Policy, ResultId, Serializer, Store, keys, once
from idem.errors import ConfigurationError
from tests.idem.benches import DynamoBench
from tests.idem.clocks import TestClock


class Colour(Enum):
    RED = "red"


class Line(BaseModel):
    sku: str
    price: Decimal


class Receipt(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    order_id: str = Field(validation_alias="orderId", serialization_alias="ORDER")
    lines: tuple[Line, ...] = ()
    at: datetime | None = None

    @computed_field
    def count(self) -> int:
        return len(self.lines)


RECEIPT = Receipt.model_validate(
    {"orderId": "o-1", "lines": (Line(sku="a", price=Decimal("9.90")),), "at": datetime(2026, 12, 1, tzinfo=UTC)}
)


@dataclass(frozen=True)
class Shipment:
    id: UUID
    due: date
    colours: frozenset[Colour]
    receipt: Receipt | None = None


SHIPMENT = Shipment(UUID(int=7), date(2026, 12, 24), frozenset({Colour.RED}), RECEIPT)


class Plain(TypedDict):
    id: str
    counts: list[int]


class Priced(TypedDict):
    price: Decimal


def a_model() -> Receipt:
    return RECEIPT


def a_model_or_none() -> Receipt | None:
    return RECEIPT


def no_model() -> Receipt | None:
    return None


def a_dataclass() -> Shipment:
    return SHIPMENT


def a_decimal() -> Decimal:
    return Decimal("1.50")


def a_tuple() -> tuple[int, str]:
    return 1, "a"


def models() -> dict[str, list[Line]]:
    return {"lines": list(RECEIPT.lines)}


def a_priced_dict() -> Priced:
    return {"price": Decimal("1.5")}


def marked_by_chance() -> dict[str, Decimal]:
    return {"idem:http": Decimal(1)}


def a_model_or_an_answer_that_is_one() -> Receipt | HttpResult:
    return HttpResult(201, {"a": 1})


def a_model_in_a_commit() -> Receipt | Commit:
    return Commit([], RECEIPT)


def a_model_or_its_id() -> Receipt | ResultId:
    return ResultId("r-1")


def twice(work: Callable[[], Any], store: Store, clock: TestClock, **more: Any) -> tuple[Any, Any]:
    """What a first call returns, and what a replay by a new environment returns."""
    arguments = {"operation": "typed", "key": keys.constant("k"), "policy": Policy(retention=None), **more}
    runs: list[int] = []

    @functools.wraps(work)
    def counted() -> Any:
        runs.append(1)
        return work()

    again = once(store=store, clock=clock, **arguments)(counted)
    first = again()
    found = first, again()
    assert len(runs) <= 1
    return found


TYPED: list[tuple[Callable[[], Any], Any]] = [
    (a_model, RECEIPT),
    (a_model_or_none, RECEIPT),
    (no_model, None),
    (a_dataclass, SHIPMENT),
    (a_decimal, Decimal("1.50")),
    (a_tuple, (1, "a")),
    (models, {"lines": list(RECEIPT.lines)}),
    (a_priced_dict, {"price": Decimal("1.5")}),
    (marked_by_chance, {"idem:http": Decimal(1)}),
    (a_model_or_an_answer_that_is_one, HttpResult(201, {"a": 1})),
    (a_model_in_a_commit, RECEIPT),
    (a_model_or_its_id, ResultId("r-1")),
]


@pytest.mark.parametrize(("work", "value"), TYPED, ids=lambda one: getattr(one, "__name__", ""))
def test_a_first_call_and_a_replay_return_what_the_annotation_promises(
    clock: TestClock, work: Callable[[], Any], value: Any
) -> None:
    first, again = twice(work, MemoryStore(clock), clock)
    assert (first, again) == (value, value)
    assert type(first) is type(again) is type(value)


def test_dynamodb_keeps_types_too(dynamo: DynamoBench, clock: TestClock) -> None:
    store = DynamoStore(dynamo.client, dynamo.table, clock=clock)
    assert twice(a_dataclass, store, clock) == (SHIPMENT, SHIPMENT)


async def awaited_model() -> Receipt:
    return RECEIPT


def test_a_coroutine_function_promises_what_it_is_awaited_for(clock: TestClock) -> None:
    call = once(
        operation="typed",
        key=keys.constant("k"),
        store=MemoryStore(clock),
        policy=Policy(retention=None),
        clock=clock,
    )(awaited_model)
    assert [asyncio.run(call()), asyncio.run(call())] == [RECEIPT, RECEIPT]


def test_a_pair_of_functions_keeps_any_type(clock: TestClock) -> None:
    def work() -> object:
        return complex(1, 2)

    pair = Serializer[complex](lambda value: [value.real, value.imag], lambda parts: complex(*parts))
    assert twice(work, MemoryStore(clock), clock, result=pair) == (1 + 2j, 1 + 2j)


def test_a_type_that_is_named_stands_above_the_annotation(clock: TestClock) -> None:
    def work() -> Any:
        return RECEIPT

    assert twice(work, MemoryStore(clock), clock, result=Receipt) == (RECEIPT, RECEIPT)
    assert twice(a_tuple, MemoryStore(clock), clock, result=object) == ([1, "a"], [1, "a"])


def test_without_a_type_a_model_is_its_json_form_both_times(clock: TestClock) -> None:
    def work():  # type: ignore[no-untyped-def]  # noqa: ANN202 - that is the case
        return RECEIPT.lines[0]

    form = {"sku": "a", "price": "9.90"}
    assert twice(work, MemoryStore(clock), clock) == (form, form)


def test_what_is_not_of_the_type_is_returned_once_and_then_said_to_be_missing(clock: TestClock) -> None:
    def work() -> Any:
        return "no receipt"

    first, again = twice(work, MemoryStore(clock), clock, result=Receipt)
    assert first == "no receipt"
    assert isinstance(again, NotKept)
    assert "cannot be written" in again.reason


def test_a_record_that_newer_code_cannot_read_is_replayed_as_not_kept(clock: TestClock) -> None:
    store = MemoryStore(clock)
    twice(a_tuple, store, clock)
    _, again = twice(a_tuple, store, clock, result=Receipt)
    assert isinstance(again, NotKept)
    assert "does not read" in again.reason


@pytest.mark.parametrize("fault", [ValueError("no"), RecursionError()], ids=repr)
def test_a_serializer_that_fails_never_makes_the_work_run_twice(clock: TestClock, fault: Exception) -> None:
    def fails(_: Any) -> Any:
        raise fault

    for pair in (Serializer(fails, str), Serializer(str, fails)):
        first, again = twice(a_decimal, MemoryStore(clock), clock, result=pair)
        assert first == Decimal("1.50")
        assert isinstance(again, NotKept)


CARRIED: list[Any] = [
    None,
    bool,
    int,
    str,
    list,
    list[int],
    dict[str, list[float | None]],
    int | None,
    Literal["a", 1],
    Plain,
    list[Plain],
    Never,
    Any,
    object,
    ResultId,
    HttpResult | dict[str, Any],
    Commit,
]


@pytest.mark.parametrize("annotation", CARRIED, ids=str)
def test_what_json_carries_needs_no_pydantic(
    clock: TestClock, monkeypatch: pytest.MonkeyPatch, annotation: Any
) -> None:
    monkeypatch.setitem(sys.modules, "pydantic", None)

    def work() -> Any:
        return None

    work.__annotations__["return"] = annotation
    assert twice(work, MemoryStore(clock), clock) == (None, None)


NOT_CARRIED: list[Any] = [Receipt, Shipment, Decimal, tuple[int, str], dict[int, str], Priced, list[Line], Line | None]


@pytest.mark.parametrize("annotation", NOT_CARRIED, ids=str)
def test_what_json_does_not_carry_is_refused_without_pydantic(
    clock: TestClock, monkeypatch: pytest.MonkeyPatch, annotation: Any
) -> None:
    monkeypatch.setitem(sys.modules, "pydantic", None)

    def work() -> Any:
        return None

    work.__annotations__["return"] = annotation
    with pytest.raises(ConfigurationError, match=r"install the extra `pydantic`, or give result=Serializer"):
        twice(work, MemoryStore(clock), clock)


class Opaque:
    pass


def test_a_type_that_nobody_can_read_is_refused_when_the_function_is_decorated(clock: TestClock) -> None:
    def work() -> Any:
        raise AssertionError("it ran")

    work.__annotations__["return"] = Opaque
    with pytest.raises(ConfigurationError, match=r"result of type Opaque.*result=object"):
        twice(work, MemoryStore(clock), clock)


def test_an_annotation_that_is_only_for_type_checkers_is_no_promise(clock: TestClock) -> None:
    def work() -> Any:
        return (1, 2)

    work.__annotations__["return"] = "Missing"
    assert twice(work, MemoryStore(clock), clock) == ([1, 2], [1, 2])
