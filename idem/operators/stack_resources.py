"""What a stack is made of, asked of CloudFormation: which of its tables holds the records, and which functions it has.

Outputs are not needed: a stack may name its parts as it likes. Nested stacks are not looked into.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from idem.dynamo.schema import PARTITION_KEY, SORT_KEY
from idem.operators.operator_errors import Exit, OperatorError

TABLES = frozenset({"AWS::DynamoDB::Table", "AWS::DynamoDB::GlobalTable"})
FUNCTION = "AWS::Lambda::Function"
CDK_HASH = re.compile(r"[0-9A-F]{8}$")  # what the CDK appends to every logical id


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """One part of a stack. logical_id: its name in the template; name: the one that AWS knows it by."""

    kind: str
    logical_id: str
    name: str


def resources_of(cloudformation: Any, stack: str) -> list[Resource]:
    """Everything that a stack is made of."""
    pages = cloudformation.get_paginator("list_stack_resources").paginate(StackName=stack)
    return [
        Resource(kind=one["ResourceType"], logical_id=one["LogicalResourceId"], name=one["PhysicalResourceId"])
        for page in pages
        for one in page["StackResourceSummaries"]
        if one.get("PhysicalResourceId")
    ]


def records_table(dynamodb: Any, stack: str, resources: Iterable[Resource], sort_value: str | None) -> str:
    """The stack's only table, or the only one with the key of a table of records. Raises OperatorError."""
    tables = [one.name for one in resources if one.kind in TABLES]
    if not tables:
        raise OperatorError(
            f"The stack {stack} has no table of its own.", "Pass --table with the name of the one it uses.", Exit.USAGE
        )
    if len(tables) == 1:
        return tables[0]
    wanted = [PARTITION_KEY] if sort_value is None else [PARTITION_KEY, SORT_KEY]
    fitting = [name for name in tables if key_names(dynamodb, name) == wanted]
    if len(fitting) == 1:
        return fitting[0]
    key = " and ".join(wanted)
    found = f"{len(fitting)} tables" if fitting else "no table"
    raise OperatorError(
        f"The stack {stack} has {found} with the key {key}.",
        f"Pass --table with one of {', '.join(fitting or tables)}.",
        Exit.USAGE,
    )


def functions_of(resources: Sequence[Resource]) -> dict[str, str]:
    """The functions by the name that their code has in the template: without the CDK's hash where that is still one name."""
    functions = [one for one in resources if one.kind == FUNCTION]
    short = [CDK_HASH.sub("", one.logical_id) or one.logical_id for one in functions]
    shown = short if len(set(short)) == len(short) else [one.logical_id for one in functions]
    return {name: one.name for name, one in sorted(zip(shown, functions, strict=True), key=lambda pair: pair[0])}


def key_names(dynamodb: Any, table: str) -> list[str]:
    """The names of a table's key attributes, the partition key first."""
    schema = dynamodb.describe_table(TableName=table)["Table"]["KeySchema"]
    return [one["AttributeName"] for one in sorted(schema, key=lambda one: one["KeyType"] != "HASH")]
