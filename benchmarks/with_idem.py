"""This product: the SQS consumer and the decorator, as a user would put them together."""

from __future__ import annotations

from typing import Any

import boto3
from botocore.config import Config

from benchmarks.contender import TimedWork
from benchmarks.events import OPERATION, PRODUCT, TABLE, Context, Event, total
from benchmarks.network import Network
from idem import Claim, Commit, Consumer, Delivery, DynamoStore, Policy, Put, Retention, SqsSource, keys, once
from idem.dynamo.statements import Together

POLICY = Policy(retention=Retention.QUEUE)


class Ours:
    """`mode`: claim (work, then record), commit (work's writes with the record) or guard (no claim before).

    `client`: one that is not stubbed.
    """

    def __init__(
        self,
        network: Network,
        *,
        config: Config | None = None,
        together: Together = Together.STATEMENTS,
        mode: str = "claim",
        client: Any = None,
    ) -> None:
        self.network = network
        self.work: TimedWork = total
        self.client = client or network.attach(boto3.client("dynamodb", config=config or PRODUCT))
        self.store = DynamoStore(self.client, TABLE, together=together)
        self._handler = Consumer(
            operation=OPERATION,
            source=SqsSource(),
            key=keys.field("orderId"),
            policy=POLICY,
            store=self.store,
            work={"claim": self._work, "commit": self._commit}.get(mode),
            plan=self._plan if mode == "guard" else None,
        )
        decorate = once(operation=OPERATION, key=keys.field("order.orderId"), store=self.store, policy=POLICY)
        self.call = decorate(self._function)

    def handle(self, event: Event) -> Any:
        return self._handler(event, Context())

    def _work(self, delivery: Delivery, _claim: Claim) -> Any:
        return self.work(delivery.payload)

    def _commit(self, delivery: Delivery, _claim: Claim) -> Commit:
        return self._plan(delivery)

    def _plan(self, delivery: Delivery) -> Commit:
        result = self.work(delivery.payload)
        row = {"pk": {"S": f"ORDER#{result['orderId']}"}, "total": {"N": str(result["total"])}}
        return Commit([Put("ledger", row)], result)

    def _function(self, order: Any) -> Any:
        return self.work(order)
