"""The only place where real things are chosen: settings, clients, the store, logs, metrics and secrets.

Nothing is built when this file is imported, so handlers can be imported without an environment. On Lambda everything is built
once for each execution environment, in its init phase.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import TYPE_CHECKING, Any, Self

import boto3
from aws_lambda_powertools.utilities.parameters import SecretsProvider
from botocore.config import Config

from handlers.observing import observer
from idem import Consumer, DynamoStore
from idem.errors import ConfigurationError

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

# botocore waits 60 s by default, longer than these functions live; a table answers in milliseconds or not at all.
AWS = Config(
    connect_timeout=1,
    read_timeout=2,
    retries={"mode": "standard", "total_max_attempts": 3},
    user_agent_extra="idem",
)
SECRET_MAX_AGE_S = 300  # how long a rotated signing secret may go unnoticed


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What every function reads from its environment: a field is the variable of the same name in capitals."""

    idempotency_table: str
    ledger_table: str

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Self:
        """Read all of them. Raises ConfigurationError that names every variable that is missing or empty."""
        names = {field.name: field.name.upper() for field in fields(cls)}
        missing = [variable for variable in names.values() if not environment.get(variable, "").strip()]
        if missing:
            raise ConfigurationError(
                f"environment variable{'s' * (len(missing) > 1)} {', '.join(missing)} not set: the stack sets them; to run"
                " this by hand, take the values from the stack's outputs"
            )
        return cls(**{name: environment[variable] for name, variable in names.items()})


@dataclass(frozen=True, slots=True, kw_only=True)
class OrdersSettings(Settings):
    """What the orders function reads."""

    orders_queue_url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PaymentsSettings(Settings):
    """What the payments function reads."""

    payments_secret_id: str


@cache
def dynamodb() -> DynamoDBClient:
    """The one DynamoDB client of this environment."""
    return boto3.client("dynamodb", config=AWS)


def sqs() -> Any:
    """An SQS client."""
    return boto3.client("sqs", config=AWS)


def store(settings: Settings) -> DynamoStore:
    """The idempotency table's store."""
    return DynamoStore(dynamodb(), settings.idempotency_table)


def signing_secrets(secret_id: str) -> Callable[[], Sequence[str]]:
    """The active signing secrets, read from Secrets Manager and cached for five minutes.

    The secret's value is one signing secret, or several separated by white space while one is being rolled.
    """
    provider = SecretsProvider(boto_config=AWS)

    def secrets() -> Sequence[str]:
        value = provider.get(secret_id, max_age=SECRET_MAX_AGE_S)
        found = str(value or "").split()
        if not found:
            raise ConfigurationError(f"secret {secret_id} is empty: put the endpoint's signing secret into it")
        return found

    return secrets


def lambda_handler(build: Callable[[], Consumer]) -> Callable[[Any, Any], Any]:
    """The Lambda entry of a consumer that is built once: at import on Lambda, at the first call elsewhere."""
    built = cache(build)
    if "AWS_LAMBDA_RUNTIME_API" in os.environ:
        built()

    def handler(event: Any, context: Any) -> Any:
        consumer = built()
        with observer(consumer.operation).invocation(context):
            return consumer(event, context)

    return handler
