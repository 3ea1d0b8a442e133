"""A captured request that comes again under a new id, where the id is not signed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from idem import Commit, Consumer, MemoryStore, Policy, Put, Retention, Status, WebhookSource, keys
from idem.errors import StoredFailure
from idem.testing import Crash, FaultyStore, ManualClock, crash_before
from idem.webhooks.signed_requests import as_event, sign
from idem.wrappers.also_once import also_once
from tests.webhooks.senders import NOW, SENDERS

UNSIGNED_IDS = [name for name, sender in SENDERS.items() if not sender.signed_id]


class Refused(Exception):
    pass


@dataclass
class World:
    name: str
    clock: ManualClock = field(default_factory=lambda: ManualClock(NOW))
    done: list[str | None] = field(default_factory=list)
    error: Exception | None = None

    def __post_init__(self) -> None:
        self.store = MemoryStore(self.clock)
        self.policy = Policy(retention=Retention.WEBHOOK, permanent=(Refused, StoredFailure))

    def work(self, delivery: Any, _claim: Any) -> Any:
        self.done.append(delivery.event_id)
        if self.error:
            raise self.error
        return {"done": len(self.done)}

    def receiver(self, store: Any = None, work: Any = None) -> Consumer:
        store = store or self.store
        sender = SENDERS[self.name]
        wrapped = also_once(
            work or self.work, operation="test.content", store=store, policy=self.policy, clock=self.clock
        )
        return Consumer(
            operation="test.event",
            source=WebhookSource(sender.scheme, lambda: [sender.verifies]),
            key=keys.event_id(),
            work=wrapped,
            policy=self.policy,
            store=store,
            clock=self.clock,
        )

    def post(self, delivery_id: str, *, body: bytes | None = None, receive: Consumer | None = None) -> Any:
        sender = SENDERS[self.name]
        headers = dict.fromkeys(sender.headers, delivery_id)
        sent = sign(
            self.name, body or sender.body, [sender.signs], self.clock.now_ms(), url=sender.url, headers=headers
        )
        return (receive or self.receiver())(as_event(sent))


@pytest.mark.parametrize("name", [name for name in UNSIGNED_IDS if name != "linear"])
def test_a_replay_under_a_new_id_does_nothing(name: str) -> None:
    world = World(name)
    first, again, replay = (world.post(one) for one in ("d-1", "d-1", "d-2"))
    assert first["statusCode"] == again["statusCode"] == replay["statusCode"] == 200
    assert first["body"] == replay["body"]
    assert world.done == ["d-1"]


def test_other_content_is_other_work() -> None:
    world = World("github")
    world.post("d-1")
    world.post("d-2", body=b'{"action":"closed"}')
    assert world.done == ["d-1", "d-2"]


def test_work_that_failed_for_now_runs_again_and_for_good_does_not() -> None:
    world = World("github", error=ConnectionError())
    assert world.post("d-1")["statusCode"] == 503
    world.error = Refused("never")
    assert world.post("d-1")["statusCode"] == 200
    assert world.post("d-1")["statusCode"] == 200
    assert world.post("d-2")["statusCode"] == 200
    assert world.done == ["d-1", "d-1"]


def test_a_replay_while_the_first_one_runs_is_told_to_come_again() -> None:
    world = World("github")
    inner: list[Any] = []

    def work(delivery: Any, claim: Any) -> Any:
        if delivery.event_id == "d-1":
            inner.append(world.post("d-2"))
        return world.work(delivery, claim)

    assert world.post("d-1", receive=world.receiver(work=work))["statusCode"] == 200
    assert inner[0]["statusCode"] == 503
    assert world.post("d-2")["statusCode"] == 200
    assert world.done == ["d-1"]


@pytest.mark.parametrize("nth", [1, 2])
def test_a_crash_at_either_record_leaves_what_the_next_delivery_can_finish(nth: int) -> None:
    world = World("github")
    dies = FaultyStore(world.store, crash_before("complete", nth))
    with pytest.raises(Crash):
        world.post("d-1", receive=world.receiver(dies))
    world.clock.sleep_ms(60 * 60_000)
    assert world.post("d-1")["statusCode"] == 200
    assert len(world.done) == (2 if nth == 1 else 1)
    assert {record.status for record in world.store.records.values()} == {Status.SUCCEEDED}


def test_a_commit_is_made_with_the_second_record() -> None:
    world = World("github")
    row = Put("ledger", {"pk": {"S": "1"}})
    receive = world.receiver(work=lambda _delivery, _claim: Commit([row], {"credited": 1}))
    assert world.post("d-1", receive=receive)["body"] == '{"credited":1}'
    assert world.post("d-2", receive=receive)["body"] == '{"credited":1}'
    assert world.store.written == [row]
