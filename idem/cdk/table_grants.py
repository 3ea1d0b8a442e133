"""What a function may do in the tables: action by action, on the one table, and if wanted on its own records only.

A transaction needs the permission of each action in it: there is no `dynamodb:TransactWriteItems`. A test holds the
actions against the calls that the store makes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms

from idem.cdk.errors import LimitError
from idem.dynamo.schema import KEY_PREFIX

CLAIM_ACTIONS = (
    "dynamodb:PutItem",  # claim, take over, guard
    "dynamodb:UpdateItem",  # complete, fail, commit
    "dynamodb:DeleteItem",  # release
    "dynamodb:GetItem",  # the consistent read when a refusal came without its item
    "dynamodb:BatchGetItem",  # the same for the refusals of a batch
    "dynamodb:PartiQLInsert",  # the claims of a batch, 25 in one request
    "dynamodb:PartiQLUpdate",  # its outcomes
    "dynamodb:PartiQLDelete",  # its claims that are given back
)

APPEND_ACTIONS = (
    "dynamodb:PutItem",  # each effect is a row of its own, so nothing is ever updated or deleted
    "dynamodb:ConditionCheckItem",  # a transaction may depend on a row that is already there
)

# What a caller of a table under a customer key needs, from DynamoDB's page on customer managed keys, with its
# wildcards (`kms:ReEncrypt*`, `kms:GenerateDataKey*`) spelled out.
KEY_ACTIONS = (
    "kms:Decrypt",
    "kms:DescribeKey",
    "kms:Encrypt",
    "kms:GenerateDataKey",
    "kms:GenerateDataKeyWithoutPlaintext",
    "kms:ReEncryptFrom",
    "kms:ReEncryptTo",
)

OPERATION = re.compile(r"[A-Za-z0-9._-]{1,64}")
"""What `idem.keys` accepts as an operation. None of it is escaped in a key, or a wildcard in a policy."""


def grant(
    grantee: iam.IGrantable,
    table: dynamodb.ITable,
    actions: tuple[str, ...],
    *,
    key: kms.IKey | None = None,
    conditions: dict[str, Any] | None = None,
) -> None:
    """Let `grantee` do `actions` in `table`, under `conditions`, and use the key that encrypts it."""
    iam.Grant.add_to_principal(
        grantee=grantee, actions=list(actions), resource_arns=[table.table_arn], conditions=conditions
    )
    if key is not None:
        key.grant(grantee, *KEY_ACTIONS)


def own_records(construct: str, operations: Sequence[str]) -> dict[str, Any] | None:
    """The condition that every partition key of a request begins with one of these operations; None without any.

    All of CLAIM_ACTIONS support `dynamodb:LeadingKeys`, the PartiQL ones included (Service Authorization Reference,
    DynamoDB, read in 2026). `ForAllValues` is true of a request that names no key at all, so `Null` asks for one.
    """
    for operation in operations:
        if not OPERATION.fullmatch(operation):
            raise LimitError(
                construct,
                "operations",
                f"has {operation!r}; an operation is 1 to 64 letters, digits, dots, dashes and underscores",
            )
    if not operations:
        return None
    return {
        "ForAllValues:StringLike": {
            "dynamodb:LeadingKeys": [f"{KEY_PREFIX}{operation}#*" for operation in operations],
        },
        "Null": {"dynamodb:LeadingKeys": "false"},
    }
