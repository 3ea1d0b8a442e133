"""CDK constructs for work that is done once.

    from idem.cdk import IdempotencyTable, QueueConsumer, WebhookReceiver

Each construct owns its resources and grants access to them with named actions. Function code and handler are props, and
nothing has a physical name, so they fit into any app. Of the library they import `idem.dynamo.schema` alone.

tables.py            the table of records, a table that is there already, a ledger; table_grants.py, global_tables.py
queue_consumer.py    queue, dead-letter queue, function and mapping; queue_limits.py
webhook_receiver.py  a public function and its signing secret; http_front.py
function.py          one function with a role and a log group of its own; variables.py says what it finds in its environment
alarms.py            the endings that a person should hear of; dashboard.py: what a person looks at
packaging.py         the Lambda asset, by allow-list, without Docker
errors.py            what is refused before AWS sees it; acknowledged.py: rules of cdk-nag that do not fit, with reasons
"""

from idem.cdk.alarms import EndingAlarms, TableAlarms
from idem.cdk.dashboard import Dashboard, LogQueries, Watched
from idem.cdk.errors import GuaranteeError, LimitError, PackagingError, StackError
from idem.cdk.function import WorkerFunction, WorkerOptions
from idem.cdk.global_tables import Consistency, Replicas
from idem.cdk.http_front import Rate
from idem.cdk.packaging import AWS_SERVICES, Package, StagedAsset, library, stage_packages
from idem.cdk.queue_consumer import QueueConsumer
from idem.cdk.tables import ExistingTable, IdempotencyTable, LedgerTable, RecordTable, Throughput
from idem.cdk.variables import Reporting
from idem.cdk.webhook_receiver import Front, WebhookReceiver

__all__ = [
    "AWS_SERVICES",
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
    "RecordTable",
    "Replicas",
    "Reporting",
    "StackError",
    "StagedAsset",
    "TableAlarms",
    "Throughput",
    "Watched",
    "WebhookReceiver",
    "WorkerFunction",
    "WorkerOptions",
    "library",
    "stage_packages",
]
