"""Moving from Powertools' idempotency: its records are read as finished for a transition time.

Without this, a switch of library forgets everything, and whatever is redelivered around it runs again. It stands in
front of the store and is asked about keys that were just won: if Powertools' table says that the work is done, the
claim is completed with Powertools' result, and the caller gets a replay. So each old record is read once and lives on
as one of ours. Nothing is ever written to the old table.

    old = PowertoolsRecords(
        client, "IdempotencyTable",
        prefix="orders-fn.app.fulfil",                            # or the decorator's key_prefix
        selected=lambda delivery: delivery.payload["orderId"],    # what event_key_jmespath selected
        until=datetime(2026, 9, 1, tzinfo=UTC),                   # the switch plus expires_after_seconds
    )
    Consumer(key=old.key(rule), store=old.over(store), ...)

It cannot see work that the old code starts *after* the new code looked: stop the old consumer before the new one starts.
The format is that of Powertools for AWS Lambda (Python) 3.37 (`DynamoDBPersistenceLayer`, read in its source); the tests
read records that it wrote.
"""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from threading import Lock
from typing import Any

from idem.clock import Clock, SystemClock
from idem.delivery import Delivery
from idem.dynamo.sender import Sender
from idem.errors import ClaimLost, CorruptRecord, IdemError
from idem.keys import KeyRule, make_key
from idem.policy import RESULT_BYTES_MAX
from idem.record import Answer, Claim, Failure, Held, Key, Record, Request, StoredResult, Succeeded, claimed_record
from idem.store import Finish, Store, succeeded, tried
from idem.writes import Write

REMEMBERED_MAX = 10_000  # deliveries between their key and their claim: Lambda's largest batch
COMPLETED, IN_PROGRESS = "COMPLETED", "INPROGRESS"
ANY_OPERATION = "powertools"  # identities do not depend on it


@dataclass(frozen=True, slots=True, kw_only=True)
class OldRecord:
    """What a live record of Powertools says: done with this result, or in progress until then (epoch ms)."""

    result: StoredResult | None
    held_until: int


class PowertoolsRecords:
    """A table that Powertools wrote, read for one consumer.

    client: a boto3 DynamoDB client. table: Powertools' table. prefix: what stands before the "#" in its keys: the name of
    the Lambda function, a dot, and module and name of the decorated function; or its `key_prefix`. selected: what its
    `event_key_jmespath` selected of a delivery, the whole payload without one. until: when its last record has expired;
    from then on nothing is read. hash_function: as configured there. key_attr, sort_key_attr and static_pk_value: as
    given to its persistence layer; its other attributes have Powertools' own names. result_bytes_max: a larger result
    is not taken over, and a replay says so.
    """

    def __init__(
        self,
        client: Any,
        table: str,
        *,
        prefix: str,
        until: datetime,
        selected: Callable[[Delivery], Any] = lambda delivery: delivery.payload,
        hash_function: str = "md5",
        key_attr: str = "id",
        sort_key_attr: str | None = None,
        static_pk_value: str | None = None,
        result_bytes_max: int = RESULT_BYTES_MAX,
        clock: Clock | None = None,
    ) -> None:
        self._client = client
        self._table = table
        self._prefix = prefix
        self._until_ms = int(until.timestamp() * 1000)
        self._selected = selected
        self._hash_function = hash_function
        self._key_attr = key_attr
        self._sort_key_attr = sort_key_attr
        self._static_pk_value = static_pk_value
        self._result_bytes_max = result_bytes_max
        self._clock = clock or SystemClock()
        self._sender = Sender(client, self._clock)
        self._ids: OrderedDict[str, str] = OrderedDict()
        self._lock = Lock()

    def key(self, rule: KeyRule) -> KeyRule:
        """`rule`, which also remembers under which id Powertools would have recorded the delivery."""

        def remembering(delivery: Delivery) -> Any:
            parts = rule(delivery)
            if self._clock.now_ms() < self._until_ms:
                old_id = self.id_of(self._selected(delivery))
                with self._lock:
                    self._ids[make_key(ANY_OPERATION, parts).identity] = old_id
                    while len(self._ids) > REMEMBERED_MAX:
                        self._ids.popitem(last=False)
            return parts

        return remembering

    def over(self, store: Store) -> Store:
        """`store`, which answers for Powertools' records too."""
        return _Transition(self, store, self._clock)

    def id_of(self, selected: Any) -> str:
        """The id under which Powertools records what it selected."""
        text = json.dumps(selected, sort_keys=True)
        return f"{self._prefix}#{hashlib.new(self._hash_function, text.encode(), usedforsecurity=False).hexdigest()}"

    def find(self, key: Key) -> OldRecord | None:
        """What Powertools' table says of `key`; None for nothing, or nothing alive.

        Raises StoreUnavailable, and CorruptRecord for a record that is not Powertools'.
        """
        with self._lock:
            old_id = self._ids.get(key.identity)
        if old_id is None or self._clock.now_ms() >= self._until_ms:
            return None
        where = {"TableName": self._table, "Key": self._primary_key(old_id), "ConsistentRead": True}
        item = self._sender.get("read", self._client.get_item, where).get("Item")
        return self._alive(item, key) if item else None

    def _primary_key(self, old_id: str) -> dict[str, Any]:
        if self._sort_key_attr is None:
            return {self._key_attr: {"S": old_id}}
        function = self._prefix.split(".", maxsplit=1)[0]
        partition = self._static_pk_value or f"idempotency#{function}"
        return {self._key_attr: {"S": partition}, self._sort_key_attr: {"S": old_id}}

    def _alive(self, item: Mapping[str, Any], key: Key) -> OldRecord | None:
        try:
            status, expires_at = item["status"]["S"], int(item["expiration"]["N"])
            held_until = int(item["in_progress_expiration"]["N"]) if "in_progress_expiration" in item else None
        except (KeyError, ValueError) as error:
            raise CorruptRecord(key, f"Powertools' record cannot be read ({error!r})") from error
        now_ms = self._clock.now_ms()
        if now_ms // 1000 > expires_at:
            return None
        if status == COMPLETED:
            return OldRecord(result=self._result(item.get("data", {}).get("S", "null")), held_until=0)
        if status != IN_PROGRESS:
            raise CorruptRecord(key, f"Powertools' record has the status {status!r}")
        until = held_until if held_until is not None else expires_at * 1000
        return OldRecord(result=None, held_until=until) if now_ms <= until else None

    def _result(self, text: str) -> StoredResult:
        size = len(text.encode("utf-8"))
        if size > self._result_bytes_max:
            return StoredResult("omitted", f"it has {size} bytes, the limit is {self._result_bytes_max}")
        return StoredResult("json", text)


class _Transition:
    """The store, asked first, and Powertools' records behind it for every key that it gives away."""

    def __init__(self, old: PowertoolsRecords, store: Store, clock: Clock) -> None:
        self._old = old
        self._store = store
        self._clock = clock

    def claim(self, wanted: Request) -> Answer:
        return self._looked_up(wanted, self._store.claim(wanted))

    def claim_many(self, wanted: Sequence[Request]) -> list[Answer | IdemError]:
        answers = self._store.claim_many(wanted)
        return [
            answer if isinstance(answer, IdemError) else tried(partial(self._looked_up, one, answer))
            for one, answer in zip(wanted, answers, strict=True)
        ]

    def guard(self, wanted: Request, result: StoredResult, writes: Sequence[Write]) -> Answer:
        if self._old.find(wanted.key) is None:
            return self._store.guard(wanted, result, writes)
        # Another token than the caller's, by which the answer is known to be a replay.
        answer = self.claim(replace(wanted, token=f"powertools-{wanted.token}"))
        if isinstance(answer, Claim):  # the old record expired between two looks
            self._give_back(answer)
            return self._store.guard(wanted, result, writes)
        return answer

    def _looked_up(self, wanted: Request, answer: Answer) -> Answer:
        """`answer`, unless it is a claim on what Powertools has done or is doing."""
        if not isinstance(answer, Claim):
            return answer
        try:
            old = self._old.find(answer.key)
        except IdemError:
            with suppress(IdemError):  # its lease ends it; the first error is the one to know
                self._give_back(answer)
            raise
        if old is None:
            return answer
        if old.result is None:
            self._give_back(answer)
            return Held(replace(claimed_record(answer), lease_until=old.held_until), old.held_until)
        try:
            self._store.complete(answer, old.result, answer.expires_at)
        except ClaimLost:
            return self._store.claim(wanted)
        return Succeeded(succeeded(claimed_record(answer), old.result, answer.expires_at, self._clock.now_ms()))

    def _give_back(self, claim: Claim) -> None:
        """As `Flow.given_back`: a first claim is forgotten, the number of a later one stays."""
        if claim.attempt == 1:
            self._store.release(claim)
        else:
            failure = Failure(type="Held", message="Powertools' record was in progress", reclaimable=True)
            self._store.fail(replace(claim, starts=max(0, claim.starts - 1)), failure, claim.expires_at)

    # --- the rest is the store's own ---

    def begin(self, claim: Claim) -> Claim:
        return self._store.begin(claim)

    def complete(
        self, claim: Claim, result: StoredResult, expires_at: int | None, writes: Sequence[Write] | None = None
    ) -> None:
        self._store.complete(claim, result, expires_at, writes)

    def fail(self, claim: Claim, failure: Failure, expires_at: int | None) -> None:
        self._store.fail(claim, failure, expires_at)

    def release(self, claim: Claim) -> None:
        self._store.release(claim)

    def get(self, key: Key) -> Record | None:
        return self._store.get(key)

    def finish_many(self, finishes: Sequence[Finish]) -> list[IdemError | None]:
        return self._store.finish_many(finishes)
