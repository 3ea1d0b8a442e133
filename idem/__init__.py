"""idem: the work of a redelivered message is done once.

A `Consumer` is a Lambda handler; `once` is the same for a plain function. Both claim a key in a `Store`, run the work, and
record how it ended; whoever comes later with the same key gets the first one's answer.
"""

from idem import keys
from idem.consumer import Consumer
from idem.delivery import Busy, Delivery, Done, Ending, NotStarted, Outcome, Rejected, Retry, Unavailable, Unreadable
from idem.dynamo import DynamoStore
from idem.once import once
from idem.policy import Kind, Lapsed, Policy, Retention
from idem.record import Claim, Key, Record, Status
from idem.results import NotKept, ResultId
from idem.sources.signatures import Stripe
from idem.sources.sqs import SqsSource
from idem.sources.webhook import WebhookSource
from idem.store import MemoryStore, Store
from idem.writes import Check, Commit, Delete, Put, Update

__all__ = [
    "Busy",
    "Check",
    "Claim",
    "Commit",
    "Consumer",
    "Delete",
    "Delivery",
    "Done",
    "DynamoStore",
    "Ending",
    "Key",
    "Kind",
    "Lapsed",
    "MemoryStore",
    "NotKept",
    "NotStarted",
    "Outcome",
    "Policy",
    "Put",
    "Record",
    "Rejected",
    "ResultId",
    "Retention",
    "Retry",
    "SqsSource",
    "Status",
    "Store",
    "Stripe",
    "Unavailable",
    "Unreadable",
    "Update",
    "WebhookSource",
    "keys",
    "once",
]
