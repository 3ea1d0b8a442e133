"""BatchExecuteStatement for moto, which fails on parameters: the three statements of idem.dynamo.statements, as single writes.

As on DynamoDB, an INSERT is refused without the item that stands there, an UPDATE or DELETE with it.
"""

from __future__ import annotations

import re
from typing import Any

from botocore.exceptions import ClientError

from tests.idem.clients import Call, Wrapper

INSERT = re.compile(r"INSERT INTO \"([^\"]+)\" VALUE \{(.*)\}")
UPDATE = re.compile(r"UPDATE \"([^\"]+)\" (.*) WHERE (.*)")
DELETE = re.compile(r"DELETE FROM \"([^\"]+)\" WHERE (.*)")


class Partiql(Wrapper):
    """A moto client that understands batches of statements."""

    def answer(self, name: str, number: int, method: Call, request: dict[str, Any]) -> Any:
        if name != "batch_execute_statement":
            return super().answer(name, number, method, request)
        return {"Responses": [self._execute(one["Statement"], one["Parameters"]) for one in request["Statements"]]}

    def _execute(self, statement: str, parameters: list[Any]) -> dict[str, Any]:
        try:
            if found := INSERT.fullmatch(statement):
                names = re.findall(r"'(\w+)': \?", found[2])
                self.client.put_item(
                    TableName=found[1],
                    Item=dict(zip(names, parameters, strict=True)),
                    ConditionExpression="attribute_not_exists(pk)",
                )
            elif found := UPDATE.fullmatch(statement):
                sets = re.findall(r'SET "(\w+)" = \?', found[2])
                removes = re.findall(r'REMOVE "(\w+)"', found[2])
                where = self._where(found[1], found[3], parameters[len(sets) :])
                update = "SET " + ", ".join(f"#{one} = :{one}" for one in sets)
                if removes:
                    update += " REMOVE " + ", ".join(f"#{one}" for one in removes)
                where["ExpressionAttributeNames"] |= {f"#{one}": one for one in [*sets, *removes]}
                where["ExpressionAttributeValues"] |= {
                    f":{one}": value for one, value in zip(sets, parameters, strict=False)
                }
                self.client.update_item(UpdateExpression=update, **where)
            elif found := DELETE.fullmatch(statement):
                self._delete(self._where(found[1], found[2], parameters))
            else:
                raise AssertionError(f"an unknown statement: {statement}")
        except ClientError as error:
            code = "DuplicateItem" if statement.startswith("INSERT") else "ConditionalCheckFailed"
            item = error.response.get("Item")
            return {"Error": {"Code": code, "Message": "refused"} | ({"Item": item} if item else {})}
        return {}

    def _delete(self, where: dict[str, Any]) -> None:
        """Deleting what is not there is fine."""
        if self.client.get_item(TableName=where["TableName"], Key=where["Key"]).get("Item"):
            self.client.delete_item(**where)

    @staticmethod
    def _where(table: str, text: str, parameters: list[Any]) -> dict[str, Any]:
        values = dict(zip(re.findall(r'"(\w+)" = \?', text), parameters, strict=True))
        key = {name: values.pop(name) for name in ("pk", "sk") if name in values}
        return {
            "TableName": table,
            "Key": key,
            "ConditionExpression": " AND ".join(f"#{name} = :was_{name}" for name in values),
            "ExpressionAttributeNames": {f"#{name}": name for name in values},
            "ExpressionAttributeValues": {f":was_{name}": value for name, value in values.items()},
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
