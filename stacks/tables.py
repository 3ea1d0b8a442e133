"""The two tables: the memory of what was done, and the business's own rows.

Both are plain `Table`s in one Region on purpose. A condition sees the local replica only, so a global table in its
default mode would let two Regions win the same key.

Permissions are spelled out action by action on the one table; a test holds them against the calls the store makes.
A transaction needs the permission of each action in it: there is no `dynamodb:TransactWriteItems`.
"""

from __future__ import annotations

from aws_cdk import RemovalPolicy
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

from idem.schema import PARTITION_KEY, SORT_KEY, TTL_ATTRIBUTE

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


class IdempotencyTable(Construct):
    """The table of records: one item per key, TTL on its expiry, point-in-time recovery.

    Kept and protected from deletion unless `removal_policy` is DESTROY: a lost memory means that every redelivery
    still on its way runs again. `sort_key=True` gives it the sort key that a store with a `sort_value` writes.
    `encryption_key` is a customer key; without it AWS's own key is used, which costs nothing per request.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        removal_policy: RemovalPolicy = RemovalPolicy.RETAIN,
        encryption_key: kms.IKey | None = None,
        sort_key: bool = False,
    ) -> None:
        super().__init__(scope, construct_id)
        self._encryption_key = encryption_key
        self.table = _table(
            self,
            sort_key=SORT_KEY if sort_key else None,
            ttl_attribute=TTL_ATTRIBUTE,
            removal_policy=removal_policy,
            encryption_key=encryption_key,
        )

    def grant_claims(self, grantee: iam.IGrantable) -> None:
        """Let `grantee` claim, complete, fail, release and commit."""
        _grant(grantee, self.table, CLAIM_ACTIONS, self._encryption_key)


class LedgerTable(Construct):
    """The business's own table: `pk` names a subject, `sk` one effect on it; rows are only ever added.

    It has no TTL: what was done stays done after the memory of its key has expired. Same protection as
    IdempotencyTable.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        removal_policy: RemovalPolicy = RemovalPolicy.RETAIN,
        encryption_key: kms.IKey | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        self._encryption_key = encryption_key
        self.table = _table(
            self,
            sort_key="sk",
            ttl_attribute=None,
            removal_policy=removal_policy,
            encryption_key=encryption_key,
        )

    def grant_append(self, grantee: iam.IGrantable) -> None:
        """Let `grantee` add rows, alone or in a transaction; not read, change or delete them."""
        _grant(grantee, self.table, APPEND_ACTIONS, self._encryption_key)


def _table(
    scope: Construct,
    *,
    sort_key: str | None,
    ttl_attribute: str | None,
    removal_policy: RemovalPolicy,
    encryption_key: kms.IKey | None,
) -> dynamodb.Table:
    encryption = dynamodb.TableEncryption
    return dynamodb.Table(
        scope,
        "Table",
        partition_key=_string(PARTITION_KEY),
        sort_key=_string(sort_key) if sort_key else None,
        time_to_live_attribute=ttl_attribute,
        billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
        point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
            point_in_time_recovery_enabled=True
        ),
        encryption=encryption.CUSTOMER_MANAGED if encryption_key else encryption.DEFAULT,
        encryption_key=encryption_key,
        deletion_protection=removal_policy != RemovalPolicy.DESTROY,
        removal_policy=removal_policy,
    )


def _string(name: str) -> dynamodb.Attribute:
    return dynamodb.Attribute(name=name, type=dynamodb.AttributeType.STRING)


def _grant(grantee: iam.IGrantable, table: dynamodb.Table, actions: tuple[str, ...], key: kms.IKey | None) -> None:
    iam.Grant.add_to_principal(grantee=grantee, actions=list(actions), resource_arns=[table.table_arn])
    if key is not None:
        key.grant(grantee, *KEY_ACTIONS)
