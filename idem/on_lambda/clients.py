"""Clients with short time-outs, one for each execution environment, and the store on the table of records."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from botocore.config import Config
from botocore.session import Session, get_session

from idem import DynamoStore
from idem.on_lambda.environment import TableEnvironment

# botocore waits 60 s by default, longer than most functions live; a table answers in milliseconds or not at all.
AWS = Config(
    connect_timeout=1,
    read_timeout=2,
    retries={"mode": "standard", "total_max_attempts": 3},
    parameter_validation=False,  # a fifth of a call's CPU, for what the service checks again and refuses as clearly
    user_agent_extra="idem",
)


class Later:
    """A client that is made when it is first used."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._made = cache(make)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._made(), name)


@cache
def session() -> Session:
    """The session of every client here, so that what they share is read once. boto3's own would only add its import."""
    return get_session()


@cache
def dynamodb() -> Any:
    """The one DynamoDB client of this environment."""
    return session().create_client("dynamodb", config=AWS)


def sqs() -> Any:
    """An SQS client: of a batch that goes well nothing is said to SQS, so it is made when something is."""
    return Later(lambda: session().create_client("sqs", config=AWS))


def dynamo_store(where: TableEnvironment) -> DynamoStore:
    """The store on the table that the environment names."""
    return DynamoStore(dynamodb(), where.idempotency_table, sort_value=where.idempotency_sort_value or None)
