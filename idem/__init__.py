"""idem: the work of a redelivered message is done once.

A `Consumer` is a Lambda handler; `once` is the same for a plain function. Both claim a key in a `Store`, run the work, and
record how it ended; whoever comes later with the same key gets the first one's answer.
"""

from importlib import import_module

TYPE_CHECKING = False  # what typing.TYPE_CHECKING is, without importing typing
if TYPE_CHECKING:
    from idem import keys
    from idem.consumer import Consumer
    from idem.decorator import once
    from idem.delivery import (
        Busy,
        Delivery,
        Done,
        Ending,
        NotStarted,
        Outcome,
        Rejected,
        Retry,
        Unavailable,
        Unreadable,
    )
    from idem.dynamo import DynamoStore
    from idem.policy import Kind, Lapsed, Policy, Retention
    from idem.record import Claim, Key, Record, Status
    from idem.results import NotKept, ResultId
    from idem.sources import schemes
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
    "Unavailable",
    "Unreadable",
    "Update",
    "WebhookSource",
    "keys",
    "once",
    "schemes",
]

_HOMES = {
    name: home
    for home, names in {
        "idem.consumer": "Consumer",
        "idem.decorator": "once",
        "idem.delivery": "Busy Delivery Done Ending NotStarted Outcome Rejected Retry Unavailable Unreadable",
        "idem.dynamo": "DynamoStore",
        "idem.keys": "keys",
        "idem.policy": "Kind Lapsed Policy Retention",
        "idem.record": "Claim Key Record Status",
        "idem.results": "NotKept ResultId",
        "idem.sources.schemes": "schemes",
        "idem.sources.sqs": "SqsSource",
        "idem.sources.webhook": "WebhookSource",
        "idem.store": "MemoryStore Store",
        "idem.writes": "Check Commit Delete Put Update",
    }.items()
    for name in names.split()
}


def __getattr__(name: str) -> object:
    """Fetch a name at its first use: a queue's function then never imports what only webhooks need."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(home)
    found = globals()[name] = module if home.endswith(f".{name}") else getattr(module, name)
    return found


def __dir__() -> list[str]:
    return [*globals(), *_HOMES]
