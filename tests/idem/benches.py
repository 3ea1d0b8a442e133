"""One store of each kind on a bench: the store, and how a test looks at what it keeps."""

from __future__ import annotations

import itertools
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from idem import DynamoStore, MemoryStore, Put
from idem.clock import Clock
from idem.dynamo.schema import PARTITION_KEY, SORT_KEY, SORT_VALUE, Item, primary_key, to_item
from idem.dynamo.statements import Together
from idem.record import Key, Record
from idem.store import Store
from idem.writes import Write

_numbers = itertools.count()


class Locked:
    """A client whose calls are made one at a time: moto is not atomic under threads. Counts the calls.

    An engine remembers client request tokens for ten minutes, and tests use the same ones: `number` keeps them apart.
    """

    def __init__(self, client: Any, number: int) -> None:
        self._client = client
        self._number = number
        self._lock = threading.Lock()
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._client, name)

        def call(**request: Any) -> Any:
            if "ClientRequestToken" in request:
                request["ClientRequestToken"] = f"{self._number}:{request['ClientRequestToken']}"[:36]
            with self._lock:
                self.calls.append(name)
                return method(**request)

        return call


class Bench(ABC):
    """A store under test, with a caller's own table of orders beside it."""

    store: Store
    orders = "orders"

    @abstractmethod
    def place(self, record: Record) -> None:
        """Put a record into the store, whatever is there."""

    @abstractmethod
    def raw(self, key: Key) -> object:
        """Everything that is stored under the key, None if nothing is."""

    @abstractmethod
    def order(self, order_id: str) -> Item | None:
        """The caller's own item."""

    @abstractmethod
    def requests(self) -> int:
        """How many requests were sent so far."""

    def put_order(self, order_id: str, *, only_new: bool = False, **attributes: str) -> Put:
        item = {"orderId": {"S": order_id}} | {name: {"S": value} for name, value in attributes.items()}
        return Put(self.orders, item, condition="attribute_not_exists(orderId)" if only_new else None)


class MemoryBench(Bench):
    def __init__(self, clock: Clock) -> None:
        self.store = self._memory = MemoryStore(clock, refuse=self._refuses)

    def place(self, record: Record) -> None:
        self._memory.records[record.key] = record

    def raw(self, key: Key) -> object:
        return self._memory.records.get(key)

    def order(self, order_id: str) -> Item | None:
        found: Item | None = None
        for write in self._memory.written:
            if isinstance(write, Put) and write.item["orderId"]["S"] == order_id:
                found = dict(write.item)
        return found

    def requests(self) -> int:
        return 0

    def _refuses(self, write: Write) -> bool:
        return isinstance(write, Put) and bool(write.condition) and self.order(write.item["orderId"]["S"]) is not None


class DynamoBench(Bench):
    """A table of its own for each bench, on any engine; with a sort key when `single_table`."""

    def __init__(
        self, client: Any, clock: Clock, *, single_table: bool, together: Together = Together.STATEMENTS
    ) -> None:
        number = next(_numbers)
        self.client = Locked(client, number)
        self.table, self.orders = f"records-{number}", f"orders-{number}"
        self.sort_value = SORT_VALUE if single_table else None
        create_table(client, self.table, PARTITION_KEY, *([SORT_KEY] if single_table else []))
        create_table(client, self.orders, "orderId")
        self.store = DynamoStore(self.client, self.table, sort_value=self.sort_value, clock=clock, together=together)

    def place(self, record: Record) -> None:
        self.client.put_item(TableName=self.table, Item=to_item(record, self.sort_value))

    def raw(self, key: Key) -> Item | None:
        return self._get(self.table, primary_key(key, self.sort_value))

    def order(self, order_id: str) -> Item | None:
        return self._get(self.orders, {"orderId": {"S": order_id}})

    def requests(self) -> int:
        return len(self.client.calls)

    def _get(self, table: str, key: Item) -> Item | None:
        item: Item | None = self.client.get_item(TableName=table, Key=key, ConsistentRead=True).get("Item")
        return item


def store_on(client: Any, bench: DynamoBench, clock: Clock) -> DynamoStore:
    """Another store on the table of the bench, which speaks to it through this client."""
    return DynamoStore(client, bench.table, clock=clock)


def create_table(client: Any, name: str, *key: str) -> None:
    """An on-demand table whose key attributes are all text."""
    client.create_table(
        TableName=name,
        KeySchema=[
            {"AttributeName": part, "KeyType": kind} for part, kind in zip(key, ("HASH", "RANGE"), strict=False)
        ],
        AttributeDefinitions=[{"AttributeName": part, "AttributeType": "S"} for part in key],
        BillingMode="PAY_PER_REQUEST",
    )
