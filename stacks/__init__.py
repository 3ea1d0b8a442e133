"""CDK constructs for work that is done once, and the stack that composes them.

    from stacks import IdempotencyTable, QueueConsumer, WebhookReceiver

Each construct owns its resources and grants access to them with named actions. Function code and handler are props,
so all of them can be lifted into another app; of this project they import `idem.schema` alone.
`tests/stacks/outside_app` is such an app.
"""

from stacks.alarms import EndingAlarms, TableAlarms
from stacks.dashboard import Dashboard, LogQueries, Watched
from stacks.environment import Reporting
from stacks.errors import GuaranteeError, LimitError, PackagingError, StackError, StageError
from stacks.function import WorkerFunction
from stacks.global_tables import Consistency, Replicas
from stacks.http_front import Rate
from stacks.idempotency_stack import IdempotencyStack
from stacks.packaging import Package, StagedAsset, stage_asset, stage_packages
from stacks.queue_consumer import QueueConsumer
from stacks.stage import Stage, TableName
from stacks.tables import ExistingTable, IdempotencyTable, LedgerTable, Throughput
from stacks.webhook_receiver import Front, WebhookReceiver

__all__ = [
    "Consistency",
    "Dashboard",
    "EndingAlarms",
    "ExistingTable",
    "Front",
    "GuaranteeError",
    "IdempotencyStack",
    "IdempotencyTable",
    "LedgerTable",
    "LimitError",
    "LogQueries",
    "Package",
    "PackagingError",
    "QueueConsumer",
    "Rate",
    "Replicas",
    "Reporting",
    "StackError",
    "Stage",
    "StageError",
    "StagedAsset",
    "TableAlarms",
    "TableName",
    "Throughput",
    "Watched",
    "WebhookReceiver",
    "WorkerFunction",
    "stage_asset",
    "stage_packages",
]
