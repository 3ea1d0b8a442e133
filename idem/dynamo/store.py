"""The store on DynamoDB: each verb is one request with one condition.

The engine's condition is the mutual exclusion; `record.decide` says what a refused one means. A request whose answer was lost
may be repeated by the SDK and then be refused by what it wrote itself: the token in the item that comes back shows it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any

from idem.arguments import check_object, check_text, told
from idem.clock import Clock, SystemClock
from idem.dynamo.actions import Actions, completed, failed
from idem.dynamo.schema import from_item, number, to_item
from idem.dynamo.sender import Refused, Sender
from idem.dynamo.statements import Statement, Statements, Together
from idem.dynamo.transactions import (
    Action,
    CallerRefused,
    Impossible,
    RecordRefused,
    TryAgain,
    read_reasons,
    transaction,
)
from idem.errors import ClaimLost, ConfigurationError, IdemError, StoreUnavailable, TransactionRefused, WriteRefused
from idem.record import (
    Answer,
    Claim,
    Failure,
    Key,
    Record,
    Request,
    Status,
    StoredResult,
    Succeeded,
    TakeOver,
    begun,
    claimed_record,
    decide,
    first_claim,
    started,
)
from idem.store import (
    Complete,
    Fail,
    Finish,
    Release,
    claim_each,
    finish,
    finish_each,
    succeeded,
    tried,
)
from idem.writes import Write

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

ROUNDS_MAX = (
    8  # how often a claim decides anew because a rival changed the record first; each round is a rival's success
)

CLIENT_TOKEN_CHARS = 36  # DynamoDB's limit for a client request token

THREADS = 10  # botocore keeps ten connections open by default

Writer = Callable[[Claim, Record | None, int], Refused | None]


class DynamoStore:
    """Records in a DynamoDB table.

    client: a boto3 DynamoDB client. Give it short time-outs: botocore waits 60 s by default.
    table: its name, with partition key `pk`; sort_value: the constant `sk` if the table has a sort key.
    together: how the claims and outcomes of a batch travel.
    """

    def __init__(
        self,
        client: Any,
        table: str,
        *,
        sort_value: str | None = None,
        together: Together = Together.STATEMENTS,
        clock: Clock | None = None,
    ) -> None:
        check_object("client", client, ("put_item",), give='boto3.client("dynamodb")')
        if any(kind.__module__.startswith("boto3.resources") for kind in type(client).__mro__):
            raise ConfigurationError(f'client is a boto3 resource, {told(client)}: give boto3.client("dynamodb")')
        check_text("table", table, give="the table's name; is the environment variable that holds it set?")
        self.table = table
        self._client = client
        self._sort_value = sort_value
        self._clock = clock or SystemClock()
        self._sender = Sender(client, self._clock)
        self._actions = Actions(table, sort_value)
        self._statements = Statements(client, self._sender, table, sort_value)
        self._together = together
        self._threads: tuple[int, ThreadPoolExecutor] | None = (
            None  # and of which process: a forked one has none of them
        )
        self._pool_lock = Lock()

    # --- claiming ---

    def claim(self, wanted: Request) -> Answer:
        return self._claim_over(wanted, None)

    def claim_many(self, wanted: Sequence[Request]) -> list[Answer | IdemError]:
        if len(wanted) < 2 or self._together is Together.SINGLY:
            return claim_each(self, wanted)
        if self._together is Together.THREADS:
            return list(self._pool().map(lambda one: tried(partial(self.claim, one)), wanted))
        now_ms = self._clock.now_ms()
        firsts = [first_claim(one, now_ms) for one in wanted]
        inserts = [self._statements.insert(to_item(claimed_record(claim), self._sort_value)) for claim in firsts]
        answers = self._statements.execute("claim", inserts, min(one.deadline for one in wanted))
        unseen = [claim.key for claim, answer in zip(firsts, answers, strict=True) if _is_unseen(answer)]
        seen: Mapping[Key, Mapping[str, Any]] = {}
        try:
            seen = self._statements.get_many(unseen) if unseen else {}
        except StoreUnavailable as error:
            answers = [error if _is_unseen(answer) else answer for answer in answers]
        return [
            self._settle(one, claim, answer, seen) for one, claim, answer in zip(wanted, firsts, answers, strict=True)
        ]

    def _settle(
        self,
        wanted: Request,
        claim: Claim,
        answer: Refused | StoreUnavailable | None,
        seen: Mapping[Key, Mapping[str, Any]],
    ) -> Answer | IdemError:
        """What one INSERT of several came to."""
        if isinstance(answer, Refused):
            item = answer.item or seen.get(wanted.key)
            return tried(lambda: self._claim_over(wanted, from_item(item, wanted.key) if item else None))
        return claim if answer is None else answer

    def _claim_over(self, wanted: Request, found: Record | None) -> Answer:
        def put(claim: Claim, over: Record | None, _round: int) -> Refused | None:
            action = self._actions.put(claimed_record(claim), over)
            return self._sender.send("claim", self._client.put_item, action, wanted.deadline)

        return self._win(wanted, put, found)

    def guard(self, wanted: Request, result: StoredResult, writes: Sequence[Write]) -> Answer:
        done: list[Record] = []

        def put(claim: Claim, over: Record | None, round_: int) -> Refused | None:
            done_by = claimed_record(started(claim, wanted))
            record = succeeded(done_by, result, claim.expires_at, claim.claimed_at * 1000)
            actions = transaction({"Put": self._actions.put(record, over)}, writes)
            refused = self._transact("guard", claim.key, actions, f"{claim.token}-{round_:02d}", wanted.deadline)
            found = self._found(claim.key, refused) if refused else record
            if found is not None and _is(found, claim, Status.SUCCEEDED):
                done.append(found)
                return None
            return refused

        answer = self._win(wanted, put)
        return Succeeded(done[-1]) if done else answer

    def _win(self, wanted: Request, write: Writer, found: Record | None = None) -> Answer:
        """Write a successor over nothing, or over exactly the record that may be taken over, until an answer stands."""
        for round_ in range(ROUNDS_MAX):
            now_ms = self._clock.now_ms()
            if found is None:
                successor = first_claim(wanted, now_ms)
            else:
                answer = decide(found, wanted, now_ms)
                if not isinstance(answer, TakeOver):
                    return answer
                successor = answer.successor
            refused = write(successor, found, round_)
            if refused is None:
                return successor
            found = self._found(wanted.key, refused)  # None: it vanished in between, so claim from the start
        raise StoreUnavailable("claim", "Contention", f"{wanted.key} changed hands {ROUNDS_MAX} times meanwhile")

    # --- recording: everything here carries the condition that the claim still holds ---

    def begin(self, claim: Claim) -> Claim:
        counted = begun(claim)
        update = self._actions.update(claim, {"starts": number(counted.starts), "unstarted": None})
        if refused := self._sender.send("begin", self._client.update_item, update, claim.deadline):
            found = self._found(claim.key, refused)
            if not _is(found, claim, Status.IN_PROGRESS):
                raise ClaimLost(claim.key, found)
        return counted

    def complete(
        self, claim: Claim, result: StoredResult, expires_at: int | None, writes: Sequence[Write] | None = None
    ) -> None:
        update = self._actions.update(claim, completed(result, expires_at, self._clock.now_ms()))
        if writes is None:
            self._record("complete", claim, Status.SUCCEEDED, update)
        elif refused := self._transact(
            "commit", claim.key, transaction({"Update": update}, writes), claim.token, claim.deadline
        ):
            self._unless_mine(claim, Status.SUCCEEDED, refused)

    def fail(self, claim: Claim, failure: Failure, expires_at: int | None) -> None:
        update = self._actions.update(claim, failed(claim, failure, expires_at, self._clock.now_ms()))
        self._record("fail", claim, Status.FAILED, update)

    def release(self, claim: Claim) -> None:
        delete = self._actions.delete(claim)
        if refused := self._sender.send("release", self._client.delete_item, delete, claim.deadline, insist=True):
            self._unless_gone(claim, refused)

    def get(self, key: Key) -> Record | None:
        item = self._sender.get("get", self._client.get_item, self._actions.get(key)).get("Item")
        return from_item(item, key) if item else None

    def finish_many(self, finishes: Sequence[Finish]) -> list[IdemError | None]:
        singly = [index for index, one in enumerate(finishes) if isinstance(one, Complete) and one.writes is not None]
        if len(finishes) - len(singly) < 2 or self._together is Together.SINGLY:
            return finish_each(self, finishes)
        if self._together is Together.THREADS:
            return list(self._pool().map(lambda one: tried(partial(finish, self, one)), finishes))
        together = [index for index in range(len(finishes)) if index not in singly]
        statements = [self._statement(finishes[index]) for index in together]
        deadline = min(finishes[index].claim.deadline for index in together)
        answers = dict(
            zip(together, self._statements.execute("record", statements, deadline, insist=True), strict=True)
        )
        return [
            self._checked(one, answers[index]) if index in answers else tried(partial(finish, self, one))
            for index, one in enumerate(finishes)
        ]

    def _statement(self, one: Finish) -> Statement:
        match one:
            case Complete(claim, result, expires_at):
                return self._statements.update(claim, completed(result, expires_at, self._clock.now_ms()))
            case Fail(claim, failure, expires_at):
                return self._statements.update(claim, failed(claim, failure, expires_at, self._clock.now_ms()))
            case Release(claim):
                return self._statements.delete(claim)

    def _checked(self, one: Finish, answer: Refused | StoreUnavailable | None) -> IdemError | None:
        """What one finish of several came to."""
        if not isinstance(answer, Refused):
            return answer
        match one:
            case Complete(claim):
                return tried(lambda: self._unless_mine(claim, Status.SUCCEEDED, answer))
            case Fail(claim):
                return tried(lambda: self._unless_mine(claim, Status.FAILED, answer))
            case Release(claim):
                return tried(lambda: self._unless_gone(claim, answer))

    def _pool(self) -> ThreadPoolExecutor:
        with self._pool_lock:
            if self._threads is None or self._threads[0] != os.getpid():
                from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - only this way of travelling needs it

                self._threads = os.getpid(), ThreadPoolExecutor(THREADS)
            return self._threads[1]

    def _record(self, verb: str, claim: Claim, status: Status, update: Action) -> None:
        if refused := self._sender.send(verb, self._client.update_item, update, claim.deadline, insist=True):
            self._unless_mine(claim, status, refused)

    def _unless_mine(self, claim: Claim, status: Status, refused: Refused) -> None:
        """A refused write is a success if it had been applied and only its answer was lost; otherwise the claim is lost."""
        found = self._found(claim.key, refused)
        if not _is(found, claim, status):
            raise ClaimLost(claim.key, found)

    def _unless_gone(self, claim: Claim, refused: Refused) -> None:
        """A refused release is a success if the record is absent."""
        found = self._found(claim.key, refused)
        if found is not None:
            raise ClaimLost(claim.key, found)

    def _transact(self, verb: str, key: Key, actions: list[Action], token: str, deadline: int) -> Refused | None:
        """Send a transaction, again and again while only conflicts and throttles stop it and time is left."""
        # The same request has the same token, another one has another: a commit that is repeated later differs in its times.
        once = hashlib.sha256(repr((token, actions)).encode()).hexdigest()[:CLIENT_TOKEN_CHARS]
        request = {"TransactItems": actions, "ClientRequestToken": once}
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

    def _found(self, key: Key, refused: Refused) -> Record | None:
        """The record that refused a write: as it came back, or read now if the engine sent none."""
        return from_item(refused.item, key) if refused.item else self.get(key)


def _is_unseen(answer: Refused | StoreUnavailable | None) -> bool:
    """Whether a statement was refused by an item that did not come back."""
    return isinstance(answer, Refused) and answer.item is None


def _is(found: Record | None, claim: Claim, status: Status) -> bool:
    return found is not None and found.claim_token == claim.token and found.status is status
