"""A small DynamoDB in memory, for schedules: the operations and expressions that the product uses, and no others.

Errors are botocore's own, in the shape in which the service sends them. `test_engine.py` runs one script of operations here, on
moto and on MiniStack, and compares every answer. Anything that this engine does not know is refused loudly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from botocore.exceptions import ClientError

from tests.idem.partiql import Partiql

Item = Mapping[str, Any]
Change = Callable[[str, Item | None, Item | None], None]

TOKEN_MEMORY_MS = 600_000  # a transaction's client request token is remembered for ten minutes


class Engine:
    """Tables by name. `changed` is told of every item that was written: table, before, after.

    statements_bring_items: whether a refused statement of a batch comes with the item that refused it. AWS's own engine
    (DynamoDB Local) sends none, MiniStack does.
    """

    def __init__(
        self, keys: Mapping[str, Sequence[str]], *, now_ms: Callable[[], int], changed: Change | None = None
    ) -> None:
        self.keys = keys
        self.tables: dict[str, dict[tuple[str, ...], Item]] = {name: {} for name in keys}
        self._now_ms = now_ms
        self._changed = changed or (lambda _table, _before, _after: None)
        self.remembers_tokens = True
        self.statements_bring_items = False
        self._tokens: dict[str, tuple[str, int]] = {}

    def put_item(self, **request: Any) -> Mapping[str, Any]:
        return self._write("PutItem", "Put", request)

    def update_item(self, **request: Any) -> Mapping[str, Any]:
        return self._write("UpdateItem", "Update", request)

    def delete_item(self, **request: Any) -> Mapping[str, Any]:
        return self._write("DeleteItem", "Delete", request)

    def get_item(self, **request: Any) -> Mapping[str, Any]:
        found = self._at(request["TableName"], request["Key"])
        return {"Item": dict(found)} if found is not None else {}

    def batch_execute_statement(self, **request: Any) -> Mapping[str, Any]:
        """PartiQL statements, each for itself."""
        answer: Mapping[str, Any] = Partiql(self).answer("batch_execute_statement", 0, lambda **_: None, request)
        if not self.statements_bring_items:
            for one in answer["Responses"]:
                one.get("Error", {}).pop("Item", None)
        return answer

    def batch_get_item(self, **request: Any) -> Mapping[str, Any]:
        found = {
            table: [item for key in wanted["Keys"] if (item := self._at(table, key)) is not None]
            for table, wanted in request["RequestItems"].items()
        }
        return {"Responses": found, "UnprocessedKeys": {}}

    def transact_write_items(self, **request: Any) -> Mapping[str, Any]:
        """All of the actions or none, with a reason for each in request order, and the memory of client request tokens."""
        actions = [next(iter(action.items())) for action in request["TransactItems"]]
        self._one_action_per_item(actions)
        if self._remembered(request.get("ClientRequestToken"), repr(actions)):
            return {}
        reasons = [self._reason(body) for _, body in actions]
        if any(reason["Code"] != "None" for reason in reasons):
            raise cancelled(reasons)
        for kind, body in actions:
            self._apply(kind, body)
        if token := request.get("ClientRequestToken"):
            self._tokens[token] = (repr(actions), self._now_ms())
        return {}

    def _write(self, operation: str, kind: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        reason = self._reason(request)
        if reason["Code"] != "None":
            more = {"Item": reason["Item"]} if "Item" in reason else {}
            raise refused(operation, "ConditionalCheckFailedException", "The conditional request failed", **more)
        self._apply(kind, request)
        return {}

    def _reason(self, body: Mapping[str, Any]) -> dict[str, Any]:
        _check_placeholders(body)
        found = self._at(body["TableName"], body.get("Key") or body["Item"])
        condition = body.get("ConditionExpression")
        if condition is None or _holds(condition, body, found or {}):
            return {"Code": "None"}
        reason = {"Code": "ConditionalCheckFailed", "Message": "The conditional request failed"}
        if found is not None and body.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD":
            return reason | {"Item": dict(found)}
        return reason

    def _apply(self, kind: str, body: Mapping[str, Any]) -> None:
        if kind == "ConditionCheck":
            return
        table = self.tables[body["TableName"]]
        mark = self._mark(body["TableName"], body.get("Key") or body["Item"])
        before = table.get(mark)
        after: Item | None = None
        if kind == "Put":
            after = dict(body["Item"])
        elif kind == "Update":
            after = _updated(body["UpdateExpression"], body, before or body["Key"])
        if after is None:
            table.pop(mark, None)
        else:
            table[mark] = after
        self._changed(body["TableName"], before, after)

    def _at(self, table: str, key: Item) -> Item | None:
        return self.tables[table].get(self._mark(table, key))

    def _mark(self, table: str, key: Item) -> tuple[str, ...]:
        return tuple(key[name]["S"] for name in self.keys[table])

    def _one_action_per_item(self, actions: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
        marks = [
            (body["TableName"], self._mark(body["TableName"], body.get("Key") or body["Item"])) for _, body in actions
        ]
        if len(set(marks)) != len(marks):
            raise refused(
                "TransactWriteItems",
                "ValidationException",
                "Transaction request cannot include multiple operations on one item",
            )

    def _remembered(self, token: str | None, parameters: str) -> bool:
        known, since = self._tokens.get(token or "", ("", 0))
        if token is None or not known or not self.remembers_tokens or self._now_ms() - since > TOKEN_MEMORY_MS:
            return False
        if known != parameters:
            raise refused("TransactWriteItems", "IdempotentParameterMismatchException", "the parameters differ")
        return True


def refused(operation: str, code: str, message: str, *, status: int = 400, **more: Any) -> ClientError:
    """The error that botocore raises for a refused request."""
    response: Any = {
        "Error": {"Code": code, "Message": message},
        "ResponseMetadata": {"HTTPStatusCode": status, "RetryAttempts": 0},
        **more,
    }
    return ClientError(response, operation)


def cancelled(reasons: Sequence[Mapping[str, Any]]) -> ClientError:
    """The error that botocore raises for a cancelled transaction."""
    codes = ", ".join(str(reason["Code"]) for reason in reasons)
    message = f"Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]"
    return refused(
        "TransactWriteItems",
        "TransactionCanceledException",
        message,
        CancellationReasons=[dict(one) for one in reasons],
    )


@lru_cache(maxsize=256)
def _terms(condition: str) -> tuple[tuple[str, ...], ...]:
    """The terms of a condition: ("absent", name), ("present", name) or ("equal", name, value)."""
    found: list[tuple[str, ...]] = []
    for term in condition.split(" AND "):
        if term.startswith("attribute_not_exists(") and term.endswith(")"):
            found.append(("absent", term[21:-1]))
        elif term.startswith("attribute_exists(") and term.endswith(")"):
            found.append(("present", term[17:-1]))
        else:
            name, equals, value = term.partition(" = ")
            if not equals or " " in name or not value.startswith(":") or " " in value:
                raise refused("Condition", "ValidationException", f"this engine does not know {term!r}")
            found.append(("equal", name, value))
    return tuple(found)


@lru_cache(maxsize=256)
def _assignments(update: str) -> tuple[tuple[tuple[str, str], ...], tuple[str, ...]]:
    """What an update expression sets (name, value) and removes (name)."""
    sets, _, removes = update.partition(" REMOVE ")
    if not sets.startswith("SET "):
        raise refused("Update", "ValidationException", f"this engine does not know {update!r}")
    pairs = [part.split(" = ") for part in sets[4:].split(", ")]
    if any(len(pair) != 2 or not pair[1].startswith(":") or " " in pair[1] for pair in pairs):
        raise refused("Update", "ValidationException", f"this engine does not know {update!r}")
    return tuple((pair[0], pair[1]) for pair in pairs), tuple(removes.split(", ")) if removes else ()


def _holds(condition: str, body: Mapping[str, Any], item: Item) -> bool:
    names, values = body.get("ExpressionAttributeNames", {}), body.get("ExpressionAttributeValues", {})
    for kind, name, *value in _terms(condition):
        stored = item.get(names.get(name, name))
        if kind == "equal" and stored != values[value[0]]:
            return False
        if kind != "equal" and (stored is None) != (kind == "absent"):
            return False
    return True


def _updated(update: str, body: Mapping[str, Any], item: Item) -> Item:
    names, values = body.get("ExpressionAttributeNames", {}), body.get("ExpressionAttributeValues", {})
    sets, removes = _assignments(update)
    after = dict(item)
    for name, value in sets:
        after[names.get(name, name)] = values[value]
    for name in removes:
        after.pop(names.get(name, name), None)
    return after


def _check_placeholders(body: Mapping[str, Any]) -> None:
    """As DynamoDB does: every placeholder that is given is used, and every one that is used is given."""
    given = {*body.get("ExpressionAttributeNames", ()), *body.get("ExpressionAttributeValues", ())}
    condition, update = body.get("ConditionExpression"), body.get("UpdateExpression")
    if given != _placeholders(condition, update):
        raise refused(
            "Expression", "ValidationException", f"placeholders do not match: {given} in {condition!r}, {update!r}"
        )


@lru_cache(maxsize=256)
def _placeholders(condition: str | None, update: str | None) -> frozenset[str]:
    used = {word for term in _terms(condition) for word in term[1:]} if condition else set()
    if update:
        sets, removes = _assignments(update)
        used |= {word for pair in sets for word in pair} | set(removes)
    return frozenset(word for word in used if word[0] in "#:")
