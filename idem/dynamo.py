"""The store on DynamoDB: each verb is one request with one condition.

The engine's condition is the mutual exclusion; `record.decide` says what a refused one means. A request whose answer was lost
may be repeated by the SDK and then be refused by what it wrote itself: the token in the item that comes back shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from idem.clock import Clock, SystemClock
from idem.engine import Refused, Sender
from idem.errors import ClaimLost, StoreUnavailable, TransactionRefused, WriteRefused
from idem.guard import Action, CallerRefused, Impossible, RecordRefused, TryAgain, read_reasons, transaction
from idem.record import (
    Answer,
    Claim,
    Failure,
    Finished,
    Key,
    Record,
    Request,
    Result,
    Status,
    TakeOver,
    claimed_record,
    decide,
    first_claim,
)
from idem.schema import (
    PARTITION_KEY,
    TTL_ATTRIBUTE,
    Item,
    failure_value,
    from_item,
    number,
    primary_key,
    result_attributes,
    to_item,
)
from idem.store import succeeded
from idem.writes import Write

ROUNDS_MAX = (
    8  # how often a claim decides anew because a rival changed the record first; each round is a rival's success
)

_MINE = "#claimToken = :mine AND #status = :in_progress"


class DynamoStore:
    """Records in a DynamoDB table.

    client: a boto3 DynamoDB client. Give it short time-outs: botocore waits 60 s by default.
    table: its name or ARN, with partition key `pk`; sort_value: the constant `sk` if the table has a sort key.
    """

    def __init__(self, client: Any, table: str, *, sort_value: str | None = None, clock: Clock | None = None) -> None:
        self.table = table
        self._client = client
        self._sort_value = sort_value
        self._clock = clock or SystemClock()
        self._sender = Sender(client, self._clock)

    # --- claiming ---

    def claim(self, wanted: Request) -> Answer:
        def put(claim: Claim, over: Record | None, _round: int) -> Refused | None:
            action = self._put(claimed_record(claim), over)
            return self._sender.send("claim", self._client.put_item, action, wanted.deadline)

        return self._win(wanted, put)

    def guard(self, wanted: Request, result: Result, writes: Sequence[Write]) -> Answer:
        done: list[Record] = []

        def put(claim: Claim, over: Record | None, round_: int) -> Refused | None:
            record = succeeded(claimed_record(claim), result, claim.expires_at, claim.claimed_at * 1000)
            actions = transaction({"Put": self._put(record, over)}, writes)
            refused = self._transact("guard", claim.key, actions, f"{claim.token}-{round_:02d}", wanted.deadline)
            if refused is None or _is(self._found(claim.key, refused), claim, Status.SUCCEEDED):
                done.append(record)
                return None
            return refused

        answer = self._win(wanted, put)
        return Finished(done[-1]) if done else answer

    def _win(self, wanted: Request, write: Callable[[Claim, Record | None, int], Refused | None]) -> Answer:
        """Write a successor over nothing, or over exactly the record that may be taken over, until an answer stands."""
        now_ms = self._clock.now_ms()
        successor, over = first_claim(wanted, now_ms), None
        for round_ in range(ROUNDS_MAX):
            refused = write(successor, over, round_)
            if refused is None:
                return successor
            found = self._found(wanted.key, refused)
            now_ms = self._clock.now_ms()
            if found is None:  # it vanished in between: claim from the start
                successor, over = first_claim(wanted, now_ms), None
                continue
            answer = decide(found, wanted, now_ms)
            if not isinstance(answer, TakeOver):
                return answer
            successor, over = answer.successor, found
        raise StoreUnavailable("claim", "Contention", f"{wanted.key} changed hands {ROUNDS_MAX} times meanwhile")

    def _put(self, record: Record, over: Record | None) -> Action:
        """Put `record` where nothing is, or over exactly the version `over`."""
        action: Action = {"TableName": self.table, "Item": to_item(record, self._sort_value)}
        if over is None:
            action |= {
                "ConditionExpression": "attribute_not_exists(#pk)",
                "ExpressionAttributeNames": {"#pk": PARTITION_KEY},
            }
        else:
            action |= {
                "ConditionExpression": "#claimToken = :token AND #status = :status",
                "ExpressionAttributeNames": {"#claimToken": "claimToken", "#status": "status"},
                "ExpressionAttributeValues": {":token": {"S": over.claim_token}, ":status": {"S": over.status.value}},
            }
        return action | {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}

    # --- recording: everything here carries the condition that the claim still holds ---

    def begin(self, claim: Claim) -> Claim:
        started = Claim(**{name: getattr(claim, name) for name in Claim.__slots__} | {"starts": claim.starts + 1})
        update = self._update(claim, {"starts": number(started.starts)})
        if refused := self._sender.send("begin", self._client.update_item, update, claim.deadline):
            found = self._found(claim.key, refused)
            if not _is(found, claim, Status.IN_PROGRESS):
                raise ClaimLost(claim.key, found)
        return started

    def complete(self, claim: Claim, result: Result, expires_at: int | None) -> None:
        update = self._update(claim, self._finished(Status.SUCCEEDED, expires_at) | result_attributes(result))
        self._record("complete", claim, Status.SUCCEEDED, update)

    def fail(self, claim: Claim, failure: Failure, expires_at: int | None) -> None:
        update = self._update(claim, self._finished(Status.FAILED, expires_at) | {"error": failure_value(failure)})
        self._record("fail", claim, Status.FAILED, update)

    def commit(self, claim: Claim, result: Result, expires_at: int | None, writes: Sequence[Write]) -> None:
        update = self._update(claim, self._finished(Status.SUCCEEDED, expires_at) | result_attributes(result))
        actions = transaction({"Update": update}, writes)
        if refused := self._transact("commit", claim.key, actions, claim.token, claim.deadline):
            self._unless_mine(claim, Status.SUCCEEDED, refused)

    def release(self, claim: Claim) -> None:
        delete = self._addressed(claim.key) | _fence(claim)
        if refused := self._sender.send("release", self._client.delete_item, delete, claim.deadline, insist=True):
            found = self._found(claim.key, refused)
            if found is not None:
                raise ClaimLost(claim.key, found)

    def read(self, key: Key) -> Record | None:
        request = {"TableName": self.table, "Key": primary_key(key, self._sort_value), "ConsistentRead": True}
        item = self._sender.get("read", self._client.get_item, request).get("Item")
        return from_item(item, key) if item else None

    def _record(self, verb: str, claim: Claim, status: Status, update: Action) -> None:
        if refused := self._sender.send(verb, self._client.update_item, update, claim.deadline, insist=True):
            self._unless_mine(claim, status, refused)

    def _unless_mine(self, claim: Claim, status: Status, refused: Refused) -> None:
        """A refused write is a success if it had been applied and only its answer was lost; otherwise the claim is lost."""
        found = self._found(claim.key, refused)
        if not _is(found, claim, status):
            raise ClaimLost(claim.key, found)

    def _transact(self, verb: str, key: Key, actions: list[Action], token: str, deadline: int) -> Refused | None:
        """Send a transaction, again and again while only conflicts and throttles stop it and time is left."""
        request = {"TransactItems": actions, "ClientRequestToken": token}
        for attempt in self._sender.attempts(verb, deadline):
            reasons = self._sender.transact(verb, request, deadline)
            if reasons is None:
                return None
            match read_reasons(reasons):
                case RecordRefused(item):
                    return Refused(item)
                case CallerRefused(index, item):
                    raise WriteRefused(key, index, item)
                case Impossible(why):
                    raise TransactionRefused(f"the transaction of {key} was refused: {why}")
                case TryAgain():
                    attempt.failed("TransactionConflict", "other writes were in progress on its items")
        raise AssertionError("attempts() either ends the loop by raising or gives another attempt")

    # --- parts of requests ---

    def _addressed(self, key: Key) -> Action:
        return {"TableName": self.table, "Key": primary_key(key, self._sort_value)}

    def _finished(self, status: Status, expires_at: int | None) -> dict[str, Item | None]:
        """The attributes of an ending; None removes one."""
        now_s = self._clock.now_ms() // 1000
        return {
            "status": {"S": status.value},
            "finishedAt": number(now_s),
            "leaseUntil": None,
            TTL_ATTRIBUTE: number(expires_at),
        }

    def _update(self, claim: Claim, attributes: Mapping[str, Item | None]) -> Action:
        """An UpdateItem on the claim's record that sets `attributes`, under the fence."""
        sets = [name for name, value in attributes.items() if value is not None]
        removes = [name for name, value in attributes.items() if value is None]
        expression = "SET " + ", ".join(f"#{name} = :{name}" for name in sets)
        if removes:
            expression += " REMOVE " + ", ".join(f"#{name}" for name in removes)
        fence = _fence(claim)
        fence["ExpressionAttributeNames"] |= {f"#{name}": name for name in attributes}
        fence["ExpressionAttributeValues"] |= {f":{name}": attributes[name] for name in sets}
        return self._addressed(claim.key) | {"UpdateExpression": expression} | fence

    def _found(self, key: Key, refused: Refused) -> Record | None:
        """The record that refused a write: as it came back, or read now if the engine sent none."""
        return from_item(refused.item, key) if refused.item else self.read(key)


def _fence(claim: Claim) -> Action:
    return {
        "ConditionExpression": _MINE,
        "ExpressionAttributeNames": {"#claimToken": "claimToken", "#status": "status"},
        "ExpressionAttributeValues": {":mine": {"S": claim.token}, ":in_progress": {"S": Status.IN_PROGRESS.value}},
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }


def _is(found: Record | None, claim: Claim, status: Status) -> bool:
    return found is not None and found.claim_token == claim.token and found.status is status
