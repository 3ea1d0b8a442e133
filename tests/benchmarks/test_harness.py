"""The harness runs: its stub answers as a table does, its contenders do the same work, its report has the form that is promised.

No figures are asserted: they belong to `make bench`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from benchmarks.batches import SilentNetwork
from benchmarks.contender import Contender
from benchmarks.events import ACCOUNT, PRODUCT, orders
from benchmarks.expressions import condition, update
from benchmarks.message_cases import CASES, batch, singles
from benchmarks.network import Network
from benchmarks.report import TARGETS, Report, table
from benchmarks.table_stub import Table
from benchmarks.timing import Spread, compare
from benchmarks.traffic_counts import count
from benchmarks.units import item_bytes, write_units
from benchmarks.with_boto3 import Bare
from benchmarks.with_idem import Ours
from benchmarks.with_powertools import Powertools
from idem.dynamo.statements import Together
from idem.on_lambda import AWS


@pytest.fixture(autouse=True)
def account(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in ACCOUNT.items():
        monkeypatch.setenv(name, value)


CONTENDERS: dict[str, Callable[[], Contender]] = {
    "ours": lambda: Ours(Network()),
    "threads": lambda: Ours(Network(), together=Together.THREADS),
    "silent": lambda: Ours(SilentNetwork()),
    "powertools": lambda: Powertools(Network()),
}


def test_the_product_is_measured_with_the_client_that_the_handlers_use() -> None:
    assert PRODUCT._user_provided_options == AWS._user_provided_options  # type: ignore[attr-defined]  # noqa: SLF001


@pytest.mark.parametrize("name", CONTENDERS)
def test_every_contender_does_the_work_of_a_batch_once(name: str) -> None:
    contender = CONTENDERS[name]()
    done: list[str] = []
    contender.work = lambda order: done.append(order["orderId"])
    assert contender.handle(orders([1, 2, 2, 3])) == {"batchItemFailures": []}
    assert contender.handle(orders([1, 2, 3])) == {"batchItemFailures": []}
    assert sorted(done) == ["1", "2", "3"]


@pytest.mark.parametrize("case", CASES)
def test_every_case_can_be_measured_with_every_contender(case: str) -> None:
    prepared = {name: singles(make(), case, 2) for name, make in CONTENDERS.items()}
    samples = compare(prepared, rounds=1, units=2)
    assert {name: len(found) for name, found in samples.items()} == dict.fromkeys(CONTENDERS, 1)


# What two single messages of each case come to: works run, and messages that are reported to come again.
COME_TO = {"new": (2, 0), "duplicate": (0, 0), "in_flight": (0, 2), "failing": (2, 2)}


@pytest.mark.parametrize("name", CONTENDERS)
@pytest.mark.parametrize("case", CASES)
def test_a_case_is_what_its_name_says_for_every_contender(case: str, name: str) -> None:
    contender = CONTENDERS[name]()
    body = singles(contender, case, 2)()
    work, ran = contender.work, list[Any]()

    def counted(order: Any) -> Any:
        ran.append(order)
        return work(order)

    contender.work = counted
    answers: Any = body()
    assert (len(ran), sum(len(answer["batchItemFailures"]) for answer in answers)) == COME_TO[case]


def test_a_batch_of_ten_new_messages_is_two_requests_and_its_duplicates_one() -> None:
    ours = Ours(Network())
    for duplicates, requests in ((0.0, 2), (1.0, 1)):
        body = batch(ours, 10, duplicates)()
        before = ours.network.requests
        body()
        assert ours.network.requests - before == requests


def test_without_the_item_a_refused_insert_costs_one_read_more() -> None:
    silent = Ours(SilentNetwork())
    body = batch(silent, 10, 1.0)()
    before = silent.network.requests
    body()
    assert silent.network.requests - before == 2


def test_the_floor_sends_the_requests_that_the_product_sends() -> None:
    ours, bare = Ours(Network()), Bare(Network())
    event = orders([1])
    ours.handle(event)
    bare.call(json.loads(event["Records"][0]["body"]))
    (mine,), (theirs,) = ours.network.table.items.values(), bare.network.table.items.values()
    assert mine.keys() == theirs.keys()
    assert abs(ours.network.bytes_out - bare.network.bytes_out) < 40


def test_capacity_is_counted_by_the_published_rules() -> None:
    assert item_bytes({"pk": {"S": "a" * 10}, "n": {"N": "1"}}) == 2 + 10 + 1 + 2
    assert write_units(None, {"pk": {"S": "x" * 1022}}) == 1
    assert write_units({"pk": {"S": "x" * 1023}}, None) == 2
    report = Report()
    count(report, "idem", lambda: Ours(Network()))
    assert report.figures["traffic"]["idem, single, new"]["write_units"] == 2
    assert report.figures["traffic"]["idem, single, duplicate"]["write_units"] == 1


def test_the_stub_refuses_what_it_does_not_know() -> None:
    for act in (
        lambda: condition("size(a) < :b"),
        lambda: update("ADD a :b"),
        lambda: Table().answer("Scan", {}),
    ):
        with pytest.raises(ValueError, match="does not know"):
            act()


def test_conditions_are_read_as_dynamodb_reads_them() -> None:
    test = condition("attribute_not_exists(#id) OR #at < :now OR (#s = :busy AND attribute_exists(#at))")
    names, values = {"#id": "id", "#at": "at", "#s": "s"}, {":now": {"N": "5"}, ":busy": {"S": "b"}}
    item: dict[str, Any] = {"id": {"S": "x"}, "at": {"N": "10"}, "s": {"S": "b"}}
    assert test({}, names, values)
    assert test(item, names, values)
    assert not test(item | {"s": {"S": "done"}}, names, values)
    assert test(item | {"s": {"S": "done"}, "at": {"N": "4"}}, names, values)


def test_the_report_says_which_targets_are_met() -> None:
    report = Report()
    report.ratio("key_10kb_powertools_over_ours", Spread(1.0, 0.5, 3.0))
    report.ratio("something_else", Spread(1.0, 1.0, 1.0))
    found = report.to_json()
    assert found["ratios"]["key_10kb_powertools_over_ours"] == {
        "median": 1.0,
        "min": 0.5,
        "max": 3.0,
        "target": str(TARGETS["key_10kb_powertools_over_ours"]),
        "met": False,
    }
    assert "NOT MET" in table(found)
    assert Report().merge(found).to_json() == found
