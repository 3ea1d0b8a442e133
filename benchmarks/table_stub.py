"""A small DynamoDB in memory behind the stub network: from an operation and its JSON body to the JSON answer.

It holds what the product and its peers need to meet real cases: new keys, refused conditions with the item that stands in the
way, transactions with their reasons, batches of statements. It counts capacity units where it is asked to.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.expressions import condition, update
from benchmarks.partiql_stub import parse
from benchmarks.units import read_units, write_units

Body = Mapping[str, Any]
StubAnswer = tuple[int, dict[str, Any]]

KEY_NAMES = ("pk", "id", "effective_key")  # of this product's table, Powertools' and idemkit's
REFUSED = "The conditional request failed"
PREFIX = "com.amazonaws.dynamodb.v20120810#"


class Table:
    """All tables, told apart by name.

    duplicates_with_item: whether a refused PartiQL INSERT brings back the item that stands there; the service's documentation
    leaves it open. counting: whether capacity units are added up.
    """

    def __init__(self, *, duplicates_with_item: bool = True, counting: bool = False) -> None:
        self.items: dict[tuple[str, str], dict[str, Any]] = {}
        self.duplicates_with_item = duplicates_with_item
        self.counting = counting
        self.write_units = 0
        self.read_units = 0

    def answer(self, operation: str, body: Body) -> StubAnswer:
        """The status and the JSON body of one request's answer."""
        match operation:
            case "PutItem" | "UpdateItem" | "DeleteItem":
                return self._single(operation, body)
            case "GetItem":
                item = self._read(body["TableName"], body["Key"])
                return 200, {"Item": item} if item else {}
            case "BatchGetItem":
                return 200, {"Responses": {name: self._get(name, one) for name, one in body["RequestItems"].items()}}
            case "BatchExecuteStatement":
                return 200, {"Responses": [self._statement(one) for one in body["Statements"]]}
            case "TransactWriteItems":
                return self._transact(body)
            case _:
                raise ValueError(f"an operation that this stub does not know: {operation}")

    def _single(self, operation: str, body: Body) -> StubAnswer:
        kind = operation.removesuffix("Item")
        mark, before = self._find(body)
        if not _holds(body, before):
            self._count(before, body.get("Item"))
            found = {"Item": before} if before and body.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD" else {}
            return 400, {"__type": PREFIX + "ConditionalCheckFailedException", "message": REFUSED, **found}
        self._write(mark, before, _changed(kind, body, before))
        old = {"Attributes": before} if before and body.get("ReturnValues") == "ALL_OLD" else {}
        return 200, old

    def _transact(self, body: Body) -> StubAnswer:
        actions = [next(iter(action.items())) for action in body["TransactItems"]]
        found = [self._find(action) for _, action in actions]
        holds = [_holds(action, before) for (_, action), (_, before) in zip(actions, found, strict=True)]
        for (kind, action), (mark, before) in zip(actions, found, strict=True):
            after = _changed(kind, action, before) if kind != "ConditionCheck" else before
            self._count(before, after, times=2)
            if all(holds) and kind != "ConditionCheck":
                self._store(mark, after)
        if all(holds):
            return 200, {}
        reasons = [
            {"Code": "None"} if held else {"Code": "ConditionalCheckFailed", "Message": REFUSED, "Item": before}
            for held, (_, before) in zip(holds, found, strict=True)
        ]
        said = "Transaction cancelled, please refer cancellation reasons for specific reasons"
        return 400, {
            "__type": PREFIX + "TransactionCanceledException",
            "Message": said,
            "CancellationReasons": reasons,
        }

    def _statement(self, one: Body) -> dict[str, Any]:
        statement, given = parse(one["Statement"]), one["Parameters"]
        mark = (statement.table, _mark(statement.key_of(given)))
        before = self.items.get(mark)
        if statement.kind == "delete" and before is None:
            return {"TableName": statement.table}
        if not statement.holds(before or {}, given):
            self._count(before, None)
            code = "DuplicateItem" if statement.kind == "insert" else "ConditionalCheckFailed"
            shown = statement.kind != "insert" or self.duplicates_with_item
            return {"Error": {"Code": code, "Message": REFUSED} | ({"Item": before} if shown and before else {})}
        self._write(mark, before, statement.change(before or {}, given))
        return {"TableName": statement.table}

    def _find(self, body: Body) -> tuple[tuple[str, str], dict[str, Any] | None]:
        mark = (body["TableName"], _mark(body.get("Key") or body["Item"]))
        return mark, self.items.get(mark)

    def _get(self, name: str, wanted: Body) -> list[dict[str, Any]]:
        return [item for key in wanted["Keys"] if (item := self._read(name, key))]

    def _read(self, name: str, key: Body) -> dict[str, Any] | None:
        item = self.items.get((name, _mark(key)))
        if self.counting:
            self.read_units += read_units(item)
        return item

    def _write(self, mark: tuple[str, str], before: Body | None, after: dict[str, Any] | None) -> None:
        self._count(before, after)
        self._store(mark, after)

    def _store(self, mark: tuple[str, str], after: dict[str, Any] | None) -> None:
        if after is None:
            self.items.pop(mark, None)
        else:
            self.items[mark] = after

    def _count(self, before: Body | None, after: Body | None, times: int = 1) -> None:
        if self.counting:
            self.write_units += times * write_units(before, after)


def _mark(keyed: Body) -> str:
    return next(str(keyed[name]["S"]) for name in KEY_NAMES if name in keyed)


def _holds(body: Body, before: Body | None) -> bool:
    text = body.get("ConditionExpression")
    if text is None:
        return True
    names, values = body.get("ExpressionAttributeNames", {}), body.get("ExpressionAttributeValues", {})
    return condition(text)(before or {}, names, values)


def _changed(kind: str, body: Body, before: Body | None) -> dict[str, Any] | None:
    if kind == "Delete":
        return None
    if kind == "Put":
        return dict(body["Item"])
    names, values = body.get("ExpressionAttributeNames", {}), body.get("ExpressionAttributeValues", {})
    return update(body["UpdateExpression"])(before or body["Key"], names, values)
