"""Many records in one request: BatchExecuteStatement takes 25 PartiQL statements, each with its own condition.

An INSERT is refused where the key exists; an UPDATE or DELETE carries the same fence as the single verbs, and an UPDATE never
creates an item. Each statement has an answer of its own, so a refused one is decided exactly as a refused single write. HTTP
200 says nothing about them, so the SDK repeats none of them: what is worth repeating is repeated here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from functools import lru_cache
from typing import Any

from idem.dynamo.schema import PARTITION_KEY, Item, primary_key
from idem.dynamo.sender import Refused, Sender
from idem.errors import StoreUnavailable
from idem.record import Claim, Key, Status
from idem.store import TOGETHER_MAX

KEYS_MAX = 100  # in one BatchGetItem
REFUSALS = frozenset({"DuplicateItem", "ConditionalCheckFailed"})
REPEATABLE = frozenset(
    {
        "TransactionConflict",
        "ThrottlingError",
        "ProvisionedThroughputExceeded",
        "RequestLimitExceeded",
        "InternalServerError",
    }
)

Statement = dict[str, Any]
Response = Refused | StoreUnavailable | None


class Together(Enum):
    """How a batch's claims and outcomes travel."""

    STATEMENTS = "statements"  # 25 in one request
    THREADS = "threads"  # single requests, ten at a time
    SINGLY = "singly"  # single requests, one after the other


class Statements:
    """Builds statements on one table and sends them."""

    def __init__(self, client: Any, sender: Sender, table: str, sort_value: str | None) -> None:
        self._client = client
        self._sender = sender
        self._table = table
        self._sort_value = sort_value

    def insert(self, item: Item) -> Statement:
        """Put `item` where nothing is."""
        return _statement(_insert(self._table, tuple(item)), list(item.values()))

    def update(self, claim: Claim, attributes: Mapping[str, Item | None]) -> Statement:
        """Set or (None) remove attributes of the claim's record, under the fence."""
        sets = tuple(name for name, value in attributes.items() if value is not None)
        removes = tuple(name for name, value in attributes.items() if value is None)
        names, values = self._fence(claim)
        values = [value for value in attributes.values() if value is not None] + values
        return _statement(_update(self._table, sets, removes, names), values)

    def delete(self, claim: Claim) -> Statement:
        """Delete the claim's record, under the fence."""
        names, values = self._fence(claim)
        return _statement(f'DELETE FROM "{self._table}" WHERE {_where(names)}', values)  # noqa: S608 - names of ours

    def execute(
        self, verb: str, statements: Sequence[Statement], deadline: int, *, insist: bool = False
    ) -> list[Response]:
        """Send statements on different items: for each None if it was applied, Refused, or the error that hides which."""
        answers: list[Response] = []
        for start in range(0, len(statements), TOGETHER_MAX):
            answers += self._execute(verb, statements[start : start + TOGETHER_MAX], deadline, insist=insist)
        return answers

    def _execute(self, verb: str, statements: Sequence[Statement], deadline: int, *, insist: bool) -> list[Response]:
        answers: list[Response] = [None] * len(statements)
        unanswered = list(range(len(statements)))
        try:
            for attempt in self._sender.attempts(verb, deadline):
                request = {"Statements": [statements[index] for index in unanswered]}
                response = self._sender.batch(
                    verb, self._client.batch_execute_statement, request, attempt, insist=insist
                )
                if response is None:
                    continue
                repeat: list[int] = []
                for index, one in zip(unanswered, response["Responses"], strict=True):
                    code, message = one.get("Error", {}).get("Code"), one.get("Error", {}).get("Message", "")
                    if code in REPEATABLE:
                        repeat.append(index)
                        attempt.failed(code, message)
                    elif code in REFUSALS:
                        answers[index] = Refused(one["Error"].get("Item") or one.get("Item") or None)
                    elif code is not None:
                        answers[index] = StoreUnavailable(verb, code, message)
                unanswered = repeat
                if not unanswered:
                    break
        except StoreUnavailable as error:
            for index in unanswered:
                answers[index] = error
        return answers

    def get_many(self, keys: Sequence[Key]) -> dict[Key, Mapping[str, Any]]:
        """The items of these keys, strongly consistent. What the engine left unread is left out."""
        found: dict[Key, Mapping[str, Any]] = {}
        by_partition = {primary_key(key)[PARTITION_KEY]["S"]: key for key in keys}
        for start in range(0, len(keys), KEYS_MAX):
            wanted = [primary_key(key, self._sort_value) for key in keys[start : start + KEYS_MAX]]
            request = {"RequestItems": {self._table: {"Keys": wanted, "ConsistentRead": True}}}
            answer = self._sender.get("get", self._client.batch_get_item, request)
            for items in answer.get("Responses", {}).values():
                found |= {by_partition[item[PARTITION_KEY]["S"]]: item for item in items}
        return found

    def _fence(self, claim: Claim) -> tuple[tuple[str, ...], list[Item]]:
        key = primary_key(claim.key, self._sort_value)
        return (*key, "claimToken", "status"), [*key.values(), {"S": claim.token}, {"S": Status.IN_PROGRESS.value}]


# Statements on one kind of record all have the same text, so each text is written once.


@lru_cache
def _insert(table: str, names: tuple[str, ...]) -> str:
    members = ", ".join(f"'{name}': ?" for name in names)
    return f'INSERT INTO "{table}" VALUE {{{members}}}'


@lru_cache
def _update(table: str, sets: tuple[str, ...], removes: tuple[str, ...], where: tuple[str, ...]) -> str:
    changes = [*(f'SET "{name}" = ?' for name in sets), *(f'REMOVE "{name}"' for name in removes)]
    return f'UPDATE "{table}" {" ".join(changes)} WHERE {_where(where)}'


def _where(names: tuple[str, ...]) -> str:
    return " AND ".join(f'"{name}" = ?' for name in names)


def _statement(text: str, parameters: list[Item]) -> Statement:
    return {"Statement": text, "Parameters": parameters, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
