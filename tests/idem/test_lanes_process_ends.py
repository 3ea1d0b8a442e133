"""What the simulation of whole invocations found, as small as it gets. The replay line of each stands with its test."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from idem import Consumer, Policy, keys
from idem.delivery import Delivery
from idem.memory import MemoryStore
from idem.record import Claim
from idem.sources.sqs import SqsSource

POLICY = Policy(retention=timedelta(days=1))


def test_what_ends_the_process_in_one_coroutine_leaves_the_others_to_their_recorded_ends() -> None:
    """20261201:0:style=coroutine,concurrency=2,m1.key=K1,K0/1.ending=KeyboardInterrupt."""
    store, both_run = MemoryStore(), asyncio.Event()

    async def work(delivery: Delivery, _claim: Claim) -> str:
        if delivery.id == "interrupted":
            await both_run.wait()
            raise KeyboardInterrupt
        both_run.set()
        for _ in range(1_000):  # as long as it takes for the other one's end to leave
            await asyncio.sleep(0)
        return "done"

    consumer = Consumer(
        operation="sim", source=SqsSource(), key=keys.field("k"), policy=POLICY, store=store, work=work, concurrency=2
    )
    records = [
        {"messageId": name, "receiptHandle": name, "body": f'{{"k": "{name}"}}', "eventSource": "aws:sqs"}
        for name in ("interrupted", "other")
    ]
    with pytest.raises(KeyboardInterrupt):
        consumer({"Records": records})
    other = store.get(consumer.key_of(Delivery(id="other", payload={"k": "other"})))
    assert other is not None
    assert other.status.value == "succeeded"
