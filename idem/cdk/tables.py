"""The two tables: the memory of what was done, and the business's own rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aws_cdk import RemovalPolicy
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

from idem.cdk.errors import LimitError
from idem.cdk.global_tables import Consistency, Replicas, check_replicas
from idem.cdk.table_grants import APPEND_ACTIONS, CLAIM_ACTIONS, grant, own_records
from idem.cdk.variables import SORT_VALUE_VARIABLE, TABLE_VARIABLE
from idem.dynamo.schema import PARTITION_KEY, SORT_KEY, SORT_VALUE, TTL_ATTRIBUTE


@dataclass(frozen=True, slots=True)
class Throughput:
    """Read and write units per second."""

    reads: int
    writes: int


NEW_TABLE = Throughput(12_000, 4_000)
"""What a new on-demand table can do at once, from DynamoDB's guide; warm throughput only ever adds to it."""


class RecordTable(Construct):
    """A table that holds records: either our own (IdempotencyTable) or one that is there already (ExistingTable)."""

    table: dynamodb.ITable
    _sort_key: bool
    _encryption_key: kms.IKey | None

    def grant_claims(self, grantee: iam.IGrantable, *, operations: Sequence[str] = ()) -> None:
        """Let `grantee` claim, complete, fail, release and commit; with `operations`, only records of these."""
        conditions = own_records(self.node.path, operations)
        grant(grantee, self.table, CLAIM_ACTIONS, key=self._encryption_key, conditions=conditions)

    def variables(self) -> dict[str, str]:
        """What a function needs in its environment to use this table."""
        found = {TABLE_VARIABLE: self.table.table_name}
        return found | {SORT_VALUE_VARIABLE: SORT_VALUE} if self._sort_key else found


class IdempotencyTable(RecordTable):
    """The table of records: one item per key, TTL on its expiry, point-in-time recovery.

    Kept and protected from deletion unless `removal_policy` is DESTROY: a lost memory means that every redelivery
    still on its way runs again. `sort_key=True` gives it the sort key that a store with a `sort_value` writes.
    `encryption_key` is a customer key; without it AWS's own key is used, which costs nothing per request.
    `warm_throughput` readies the table for a peak before it comes; `maximum_throughput` bounds what it can cost, and
    what is above is throttled: consumers then report deliveries failed, and do no work unrecorded.
    `replicas` makes it a global table: see `idem.cdk.global_tables` for what that takes away.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        removal_policy: RemovalPolicy = RemovalPolicy.RETAIN,
        encryption_key: kms.IKey | None = None,
        sort_key: bool = False,
        warm_throughput: Throughput | None = None,
        maximum_throughput: Throughput | None = None,
        replicas: Replicas | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        self._encryption_key = encryption_key
        self._sort_key = sort_key
        self._check_throughput(warm_throughput, maximum_throughput)
        if replicas is not None:
            check_replicas(self.node.path, replicas, has_customer_key=encryption_key is not None)
        shape = TableShape(
            sort_key=SORT_KEY if sort_key else None,
            ttl_attribute=TTL_ATTRIBUTE,
            warm=warm_throughput,
            maximum=maximum_throughput,
        )
        if replicas is None:
            self.table = single_table(self, shape, removal_policy=removal_policy, encryption_key=encryption_key)
        else:
            self.table = global_table(self, shape, removal_policy=removal_policy, replicas=replicas)

    def _check_throughput(self, warm: Throughput | None, maximum: Throughput | None) -> None:
        path = self.node.path
        if maximum and (maximum.reads < 1 or maximum.writes < 1):
            raise LimitError(path, "maximum_throughput", "must be at least 1; leave it out for no maximum")
        if warm and (warm.reads < NEW_TABLE.reads or warm.writes < NEW_TABLE.writes):
            raise LimitError(
                path,
                "warm_throughput",
                f"is below what every new table has, {NEW_TABLE.reads} reads and {NEW_TABLE.writes} writes; leave it out",
            )
        if warm and maximum and (warm.reads > maximum.reads or warm.writes > maximum.writes):
            raise LimitError(path, "warm_throughput", "is above maximum_throughput: it would be paid and never used")


class ExistingTable(RecordTable):
    """A table that another stack owns, by its name: a shared single table, or one restored from a backup.

    `sort_key` says that its primary key is `pk` and `sk`, as single tables have; records then hold one constant there.
    Its owner sees to TTL on `expiresAt`: without that records are never deleted, though they expire all the same.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        table_name: str,
        sort_key: bool,
        encryption_key: kms.IKey | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        self._encryption_key = encryption_key
        self._sort_key = sort_key
        self.table = dynamodb.Table.from_table_name(self, "Table", table_name)


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
        shape = TableShape(sort_key="sk", ttl_attribute=None)
        self.table = single_table(self, shape, removal_policy=removal_policy, encryption_key=encryption_key)

    def grant_append(self, grantee: iam.IGrantable) -> None:
        """Let `grantee` add rows, alone or in a transaction; not read, change or delete them."""
        grant(grantee, self.table, APPEND_ACTIONS, key=self._encryption_key)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableShape:
    """What all ways to make a table have in common."""

    sort_key: str | None
    ttl_attribute: str | None
    warm: Throughput | None = None
    maximum: Throughput | None = None


def single_table(
    scope: Construct, shape: TableShape, *, removal_policy: RemovalPolicy, encryption_key: kms.IKey | None
) -> dynamodb.Table:
    """A table in one Region, where a condition sees every write."""
    encryption = dynamodb.TableEncryption
    return dynamodb.Table(
        scope,
        "Table",
        partition_key=_string(PARTITION_KEY),
        sort_key=_string(shape.sort_key) if shape.sort_key else None,
        time_to_live_attribute=shape.ttl_attribute,
        billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
        warm_throughput=_warm(shape.warm),
        max_read_request_units=shape.maximum.reads if shape.maximum else None,
        max_write_request_units=shape.maximum.writes if shape.maximum else None,
        point_in_time_recovery_specification=_recovery(),
        encryption=encryption.CUSTOMER_MANAGED if encryption_key else encryption.DEFAULT,
        encryption_key=encryption_key,
        deletion_protection=removal_policy != RemovalPolicy.DESTROY,
        removal_policy=removal_policy,
    )


def global_table(
    scope: Construct, shape: TableShape, *, removal_policy: RemovalPolicy, replicas: Replicas
) -> dynamodb.TableV2:
    """A table in several Regions."""
    strong = replicas.consistency is Consistency.STRONG
    return dynamodb.TableV2(
        scope,
        "Table",
        partition_key=_string(PARTITION_KEY),
        sort_key=_string(shape.sort_key) if shape.sort_key else None,
        time_to_live_attribute=None if strong else shape.ttl_attribute,
        billing=dynamodb.Billing.on_demand(
            max_read_request_units=shape.maximum.reads if shape.maximum else None,
            max_write_request_units=shape.maximum.writes if shape.maximum else None,
        ),
        warm_throughput=_warm(shape.warm),
        point_in_time_recovery_specification=_recovery(),
        deletion_protection=removal_policy != RemovalPolicy.DESTROY,
        removal_policy=removal_policy,
        replicas=[dynamodb.ReplicaTableProps(region=region) for region in replicas.regions],
        multi_region_consistency=dynamodb.MultiRegionConsistency[replicas.consistency.name],
    )


def _warm(wanted: Throughput | None) -> dynamodb.WarmThroughput | None:
    if wanted is None:
        return None
    return dynamodb.WarmThroughput(read_units_per_second=wanted.reads, write_units_per_second=wanted.writes)


def _recovery() -> dynamodb.PointInTimeRecoverySpecification:
    return dynamodb.PointInTimeRecoverySpecification(point_in_time_recovery_enabled=True)


def _string(name: str) -> dynamodb.Attribute:
    return dynamodb.Attribute(name=name, type=dynamodb.AttributeType.STRING)
