"""Two versions of the code at work at the same time, as in every deployment; and functions that got other names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from idem import Claim, Consumer, Delivery, Done, Ending, Policy, Retention, SqsSource, Unavailable, keys, once
from idem.dynamo import schema
from idem.errors import CorruptRecord
from idem.flow import Flow
from idem.record import StoredResult
from idem.store import Store
from idem.testing import sqs_event
from tests.idem.benches import DynamoBench
from tests.idem.clocks import TestClock

OLD, NEW = 1, 2
KEY = keys.make_key("orders.fulfil", ["1"])
MINUTE_MS = 60_000


class Site:
    """One table, and code of two versions that works on it."""

    def __init__(self, bench: DynamoBench, clock: TestClock, monkeypatch: pytest.MonkeyPatch) -> None:
        self._bench = bench
        self.clock = clock
        self._monkeypatch = monkeypatch
        self.runs: list[int] = []

    @contextmanager
    def code(self, version: int) -> Iterator[None]:
        """Whatever happens inside is done by code that knows the schema up to `version`."""
        with self._monkeypatch.context() as patch:
            patch.setattr(schema, "VERSION", version)
            yield

    def deliver(self, version: int, *orders: str) -> list[Any]:
        """One batch, delivered to code of `version`; the outcomes."""
        endings: list[Ending] = []

        def work(_delivery: Delivery, _claim: Claim) -> str:
            self.runs.append(version)
            return f"by version {version}"

        consumer = Consumer(
            operation="orders.fulfil",
            source=SqsSource(),
            key=keys.field("orderId"),
            work=work,
            policy=Policy(retention=Retention.QUEUE),
            store=self._bench.store,
            observe=endings.append,
            clock=self.clock,
        )
        with self.code(version):
            consumer(sqs_event(*({"orderId": order} for order in orders)))
        return [ending.outcome for ending in endings]

    def item(self) -> Any:
        return self._bench.raw(KEY)

    def wait(self) -> None:
        """Longer than any lease."""
        self.clock.sleep_ms(20 * MINUTE_MS)


@pytest.fixture
def site(dynamo: DynamoBench, clock: TestClock, monkeypatch: pytest.MonkeyPatch) -> Site:
    return Site(dynamo, clock, monkeypatch)


def test_new_code_replays_what_old_code_has_done(site: Site) -> None:
    site.deliver(OLD, "1")
    assert site.deliver(NEW, "1") == [Done("by version 1", replayed=True, attempt=1)]
    assert site.runs == [OLD]


def test_old_code_that_still_runs_starts_nothing_on_a_record_of_the_new_one_and_acknowledges_nothing(
    site: Site,
) -> None:
    site.deliver(NEW, "1")
    before = site.item()
    (outcome,) = site.deliver(OLD, "1")
    assert isinstance(outcome, Unavailable)
    assert isinstance(outcome.error, CorruptRecord)
    assert "deploy the newer code" in str(outcome.error)
    assert site.runs == [NEW]
    assert site.item() == before


def test_a_record_it_cannot_read_does_not_keep_old_code_from_the_rest_of_its_batch(site: Site) -> None:
    site.deliver(NEW, "1")
    refused, done = site.deliver(OLD, "1", "2")
    assert isinstance(refused, Unavailable)
    assert done == Done("by version 1", replayed=False, attempt=1)


def test_after_a_roll_back_and_forward_again_nothing_is_forgotten(site: Site) -> None:
    site.deliver(NEW, "1")
    site.deliver(OLD, "1")
    assert site.deliver(NEW, "1") == [Done("by version 2", replayed=True, attempt=1)]
    assert site.runs == [NEW]


def claimed(site: Site, dynamo: DynamoBench, version: int) -> Claim:
    """A worker of `version` that has claimed the key and is at work."""
    policy = Policy(retention=Retention.QUEUE)
    with site.code(version):
        flow = Flow(operation="orders.fulfil", store=dynamo.store, policy=policy, clock=site.clock)
        answer = flow.claim(flow.request(KEY, ends_at=None))
    assert isinstance(answer, Claim)
    return answer


def finish(site: Site, store: Store, claim: Claim, version: int) -> None:
    with site.code(version):
        store.complete(claim, StoredResult("json", '"by the worker"'), claim.expires_at)


def test_an_old_worker_that_outlives_the_deployment_records_its_own_claim(site: Site, dynamo: DynamoBench) -> None:
    claim = claimed(site, dynamo, OLD)
    (held,) = site.deliver(NEW, "1")
    assert type(held).__name__ == "Busy"
    finish(site, dynamo.store, claim, OLD)
    assert site.deliver(NEW, "1") == [Done("by the worker", replayed=True, attempt=1)]
    assert site.runs == []


def test_an_old_worker_that_was_overtaken_by_new_code_cannot_touch_its_record(site: Site, dynamo: DynamoBench) -> None:
    claim = claimed(site, dynamo, OLD)
    site.wait()
    assert site.deliver(NEW, "1") == [Done("by version 2", replayed=False, attempt=2)]
    before = site.item()
    with pytest.raises(CorruptRecord):
        finish(site, dynamo.store, claim, OLD)
    assert site.item() == before


def test_the_name_of_a_function_is_no_part_of_a_key(dynamo: DynamoBench, clock: TestClock) -> None:
    """Powertools' default keys hold them: a rename forgets everything there."""
    runs: list[str] = []
    rules: dict[str, Any] = {
        "operation": "orders.fulfil",
        "key": keys.field("order_id"),
        "policy": Policy(retention=Retention.QUEUE),
        "store": dynamo.store,
        "clock": clock,
    }

    @once(**rules)
    def fulfil(order_id: str) -> str:
        runs.append("fulfil")
        return order_id

    @once(**rules)
    def ship_it(order_id: str) -> str:
        runs.append("ship_it")
        return order_id

    assert fulfil("1") == ship_it("1") == "1"
    assert runs == ["fulfil"]
