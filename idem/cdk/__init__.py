"""CDK constructs for work that is done once.

    from idem.cdk import IdempotencyTable, QueueConsumer, WebhookReceiver

Each construct owns its resources and grants access to them with named actions. Function code and handler are props,
so all of them can be lifted into another app; of this project they import `idem.dynamo.schema` alone.
`tests/stacks/outside_app` is such an app.
"""

from idem.cdk.alarms import EndingAlarms, TableAlarms
from idem.cdk.dashboard import Dashboard, LogQueries, Watched
from idem.cdk.environment import Reporting
from idem.cdk.errors import GuaranteeError, LimitError, PackagingError, StackError
from idem.cdk.function import WorkerFunction
from idem.cdk.global_tables import Consistency, Replicas
from idem.cdk.http_front import Rate
from idem.cdk.packaging import Package, StagedAsset, stage_asset, stage_packages
from idem.cdk.queue_consumer import QueueConsumer
from idem.cdk.tables import ExistingTable, IdempotencyTable, LedgerTable, Throughput
from idem.cdk.webhook_receiver import Front, WebhookReceiver

__all__ = [
    "Consistency",
    "Dashboard",
    "EndingAlarms",
    "ExistingTable",
    "Front",
    "GuaranteeError",
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
    "StagedAsset",
    "TableAlarms",
    "Throughput",
    "Watched",
    "WebhookReceiver",
    "WorkerFunction",
    "stage_asset",
    "stage_packages",
]
