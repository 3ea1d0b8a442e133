"""The engine of the schedules answers as moto and MiniStack do, on one script of every operation and ending."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from sandbox.account import LocalAccount
from tests.schedules.table_model import Engine

KEY = {"pk": {"S": "k"}}
NAMES = {"#t": "token", "#s": "status"}
VALUES = {":t": {"S": "a"}, ":s": {"S": "open"}}
FENCE = {
    "ConditionExpression": "#t = :t AND #s = :s",
    "ExpressionAttributeNames": NAMES,
    "ExpressionAttributeValues": VALUES,
    "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
}
ABSENT = {
    "ConditionExpression": "attribute_not_exists(#pk)",
    "ExpressionAttributeNames": {"#pk": "pk"},
    "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
}
OPEN = KEY | {"token": {"S": "a"}, "status": {"S": "open"}, "lease": {"N": "7"}}
OTHER = KEY | {"token": {"S": "b"}, "status": {"S": "open"}}
SILENT = {name: value for name, value in ABSENT.items() if name != "ReturnValuesOnConditionCheckFailure"}


def closing() -> dict[str, Any]:
    values = VALUES | {":new": {"S": "closed"}}
    return (
        {"Key": KEY, "UpdateExpression": "SET #s = :new REMOVE #l"}
        | FENCE
        | {
            "ExpressionAttributeNames": NAMES | {"#l": "lease"},
            "ExpressionAttributeValues": values,
        }
    )


def both(token: str, *, business: str = "o-1") -> dict[str, Any]:
    write = {
        "TableName": "two",
        "Item": {"pk": {"S": business}, "sk": {"S": "x"}},
        "ConditionExpression": "attribute_not_exists(pk)",
    }
    return {
        "TransactItems": [{"Update": {"TableName": "one"} | closing()}, {"Put": write}],
        "ClientRequestToken": token,
    }


SCRIPT: list[tuple[str, dict[str, Any]]] = [
    ("get_item", {"Key": KEY}),
    ("update_item", closing()),  # refused by nothing: no item comes back
    ("delete_item", {"Key": KEY} | FENCE),
    ("put_item", {"Item": OPEN} | ABSENT),
    ("put_item", {"Item": OTHER} | ABSENT),  # refused, with the item
    ("put_item", {"Item": OTHER} | SILENT),  # refused, without
    ("get_item", {"Key": KEY, "ConsistentRead": True}),
    ("update_item", closing()),
    ("update_item", closing()),  # refused by its own effect
    ("delete_item", {"Key": KEY} | FENCE),
    ("put_item", {"Item": OPEN}),
    ("delete_item", {"Key": KEY} | FENCE),
    ("put_item", {"Item": OPEN}),
    ("put_item", {"Item": OTHER} | FENCE),  # a takeover of exactly what was seen
    ("put_item", {"Item": OTHER} | FENCE),
    ("transact_write_items", both("t-1")),  # refused by the first action
    ("put_item", {"Item": OPEN}),
    ("transact_write_items", both("t-2")),
    ("get_item", {"Key": KEY}),
    ("put_item", {"Item": OPEN}),
    ("transact_write_items", both("t-3")),  # refused by the second action: the first is not applied
    ("get_item", {"Key": KEY}),
]
TOKENS: list[tuple[str, dict[str, Any]]] = [
    ("put_item", {"Item": OPEN}),
    ("transact_write_items", both("t-9", business="o-9")),
    ("transact_write_items", both("t-9", business="o-9")),  # repeated: a success that changes nothing
    ("transact_write_items", both("t-9", business="o-8")),  # the token of another transaction
    ("get_item", {"Key": KEY}),
]


def insert(key: str) -> dict[str, Any]:
    item = OPEN | {"pk": {"S": key}}
    members = ", ".join(f"'{name}': ?" for name in item)
    return {"Statement": f'INSERT INTO "one" VALUE {{{members}}}', "Parameters": list(item.values())}


def fenced(statement: str, *values: str) -> dict[str, Any]:
    return {
        "Statement": f'{statement} WHERE "pk" = ? AND "token" = ? AND "status" = ?',
        "Parameters": [{"S": value} for value in values],
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }


CLOSE = 'UPDATE "one" SET "status" = ? REMOVE "lease"'
STATEMENTS: list[dict[str, Any]] = [
    {"Statements": [insert("s-1"), insert("s-2")]},
    {"Statements": [insert("s-2"), insert("s-3")]},  # one refused, one applied
    {"Statements": [fenced(CLOSE, "closed", "s-1", "a", "open"), fenced(CLOSE, "closed", "s-2", "b", "open")]},
    {"Statements": [fenced(CLOSE, "closed", "s-1", "a", "open"), fenced('DELETE FROM "one"', "s-2", "a", "open")]},
]


def each_answer(client: Any) -> list[object]:
    """The answer of every statement: nothing, or the error's code and the item that stands in its way."""
    found: list[object] = []
    for request in STATEMENTS:
        for one in client.batch_execute_statement(**request)["Responses"]:
            error = one.get("Error", {})
            found.append((error.get("Code"), error.get("Item") or one.get("Item") or None))
    found += [client.get_item(TableName="one", Key={"pk": {"S": key}}).get("Item") for key in ("s-1", "s-2", "s-3")]
    wanted = {"one": {"Keys": [{"pk": {"S": key}} for key in ("s-1", "s-2")], "ConsistentRead": True}}
    return [*found, client.batch_get_item(RequestItems=wanted)["Responses"]]


def answers(client: Any, script: list[tuple[str, dict[str, Any]]]) -> list[object]:
    """Every answer of the script in a form that can be compared: the item, or the error with all that it carries."""
    found: list[object] = []
    for operation, request in script:
        table = {} if operation == "transact_write_items" else {"TableName": "one"}
        call: Callable[..., Mapping[str, Any]] = getattr(client, operation)
        try:
            found.append(call(**table, **request).get("Item"))
        except ClientError as error:
            response: Mapping[str, Any] = error.response
            reasons = [(one["Code"], one.get("Item") or None) for one in response.get("CancellationReasons", ())]
            found.append((response["Error"]["Code"], response.get("Item") or None, reasons))
    return found


def ours(script: list[tuple[str, dict[str, Any]]]) -> list[object]:
    return answers(Engine({"one": ["pk"], "two": ["pk", "sk"]}, now_ms=lambda: 0), script)


def make_tables(client: Any) -> None:
    for table, keys in (("one", ["pk"]), ("two", ["pk", "sk"])):
        client.create_table(
            TableName=table,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in keys],
            KeySchema=[
                {"AttributeName": name, "KeyType": kind} for name, kind in zip(keys, ["HASH", "RANGE"], strict=False)
            ],
        )


@pytest.fixture
def moto_client() -> Iterator[Any]:
    with mock_aws():
        client = boto3.client("dynamodb", region_name="us-east-1")
        make_tables(client)
        yield client


def test_the_script_has_answers_of_every_kind() -> None:
    """Otherwise two engines could agree on nothing but silence."""
    codes = {answer[0] for answer in ours(SCRIPT) if isinstance(answer, tuple)}
    assert {"ConditionalCheckFailedException", "TransactionCanceledException"} <= codes


def test_it_answers_as_moto_does(moto_client: Any) -> None:
    assert ours(SCRIPT) == answers(moto_client, SCRIPT)


@pytest.mark.e2e
def test_it_answers_as_ministack_does_also_for_request_tokens() -> None:
    with LocalAccount() as account:
        client = account.client("dynamodb")
        make_tables(client)
        assert ours(SCRIPT + TOKENS) == answers(client, SCRIPT + TOKENS)
        engine = Engine({"one": ["pk"]}, now_ms=lambda: 0)
        engine.statements_bring_items = True
        assert each_answer(engine) == each_answer(client)


def test_a_refused_statement_brings_its_item_only_where_it_is_told_to() -> None:
    found = {}
    for brings in (False, True):
        engine = Engine({"one": ["pk"]}, now_ms=lambda: 0)
        engine.statements_bring_items = brings
        engine.put_item(TableName="one", Item=OPEN)
        statement = fenced(CLOSE, "closed", "k", "another", "open")
        found[brings] = engine.batch_execute_statement(Statements=[statement])["Responses"][0]["Error"]
    assert [error["Code"] for error in found.values()] == ["ConditionalCheckFailed", "ConditionalCheckFailed"]
    assert "Item" not in found[False]
    assert found[True]["Item"] == OPEN


def test_what_it_does_not_know_it_refuses() -> None:
    for bad in ("#t > :t", "size(#t) = :t", "#t = :t OR #s = :s"):
        request = {"Key": KEY} | FENCE | {"ConditionExpression": bad}
        assert ours([("delete_item", request)]) == [("ValidationException", None, [])]
