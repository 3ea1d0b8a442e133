"""CDK constructs for work that is done once, and the stack that composes them.

    from stacks import IdempotencyTable, QueueConsumer, WebhookReceiver

Each construct owns its resources and grants access to them with named actions. Function code and handler are props,
so all of them can be lifted into another app; of this project they import `idem.schema` alone.
"""

from stacks.ending_alarms import EndingAlarms
from stacks.errors import LimitError, PackagingError, StackError, StageError
from stacks.function import WorkerFunction
from stacks.idempotency_stack import IdempotencyStack
from stacks.packaging import StagedAsset, stage_asset
from stacks.queue_consumer import QueueConsumer
from stacks.stage import Stage
from stacks.tables import IdempotencyTable, LedgerTable
from stacks.webhook_receiver import WebhookReceiver

__all__ = [
    "EndingAlarms",
    "IdempotencyStack",
    "IdempotencyTable",
    "LedgerTable",
    "LimitError",
    "PackagingError",
    "QueueConsumer",
    "StackError",
    "Stage",
    "StageError",
    "StagedAsset",
    "WebhookReceiver",
    "WorkerFunction",
    "stage_asset",
]
