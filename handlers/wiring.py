"""The only place where real things are chosen: settings, clients, the store, logs, metrics and secrets.

Nothing is built when this file is imported, so handlers can be imported without an environment. On Lambda everything is built
once for each execution environment, in its init phase; what most invocations never use is imported and made at its first use,
because every cold start would wait for it.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Self, cast

from botocore.config import Config
from botocore.session import Session, get_session

from handlers import COLLECTOR, ON_LAMBDA
from handlers.measuring import MeasuredStore
from handlers.observing import observer
from idem import Consumer, DynamoStore
from idem.errors import ConfigurationError

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from idem.webhooks.forwarder import Forwarder
    from idem.webhooks.secrets import RefreshedSecrets

# botocore waits 60 s by default, longer than these functions live; a table answers in milliseconds or not at all.
AWS = Config(
    connect_timeout=1,
    read_timeout=2,
    retries={"mode": "standard", "total_max_attempts": 3},
    parameter_validation=False,  # a fifth of a call's CPU, for what the service checks again and refuses as clearly
    user_agent_extra="idem",
)
SECRET_MAX_AGE_S = 300  # how long a secret that was withdrawn may go on being trusted


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """What a function reads from its environment: a field is the variable of the same name in capitals.

    A field with a default need not be there.
    """

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Self:
        """Read all of them. Raises ConfigurationError that names every variable that is missing or empty."""
        names = {field.name: field.name.upper() for field in fields(cls)}
        needed = [names[field.name] for field in fields(cls) if field.default is MISSING]
        missing = [variable for variable in needed if not environment.get(variable, "").strip()]
        if missing:
            raise ConfigurationError(
                f"environment variable{'s' * (len(missing) > 1)} {', '.join(missing)} not set: the stack sets them; to run"
                " this by hand, take the values from the stack's outputs"
            )
        return cls(**{name: environment[variable] for name, variable in names.items() if variable in environment})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(Environment):
    """What every consumer reads. `idempotency_sort_value` is set for a table that has a sort key."""

    idempotency_table: str
    ledger_table: str
    idempotency_sort_value: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OrdersSettings(Settings):
    """What the orders function reads."""

    orders_queue_url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PaymentsSettings(Settings):
    """What the payments function reads."""

    payments_secret_id: str


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
def dynamodb() -> DynamoDBClient:
    """The one DynamoDB client of this environment."""
    return cast("DynamoDBClient", session().create_client("dynamodb", config=AWS))


def sqs() -> Any:
    """An SQS client: of a batch that goes well nothing is said to SQS, so it is made when something is."""
    return Later(lambda: session().create_client("sqs", config=AWS))


def store(settings: Settings) -> DynamoStore:
    """The idempotency table's store."""
    sort_value = settings.idempotency_sort_value or None
    return DynamoStore(dynamodb(), settings.idempotency_table, sort_value=sort_value)


def signing_secrets(secret_id: str) -> RefreshedSecrets:
    """The active signing secrets, read from Secrets Manager, cached for five minutes, and read again when a signature fails.

    The secret's value is one signing secret, or several separated by white space while one is being rolled.
    """
    from aws_lambda_powertools.utilities.parameters import SecretsProvider  # noqa: PLC0415 - it imports all of boto3

    from idem.webhooks.secrets import RefreshedSecrets  # noqa: PLC0415 - only what receives webhooks needs it

    provider = SecretsProvider(boto_config=AWS)

    def read(*, past_cache: bool) -> Sequence[str]:
        value = provider.get(secret_id, max_age=SECRET_MAX_AGE_S, force_fetch=past_cache)
        found = str(value or "").split()
        if not found:
            raise ConfigurationError(f"secret {secret_id} is empty: put the endpoint's signing secret into it")
        return found

    return RefreshedSecrets(cached=partial(read, past_cache=False), fresh=partial(read, past_cache=True))


def lambda_handler(build: Callable[[], Consumer | Forwarder]) -> Callable[[Any, Any], Any]:
    """The Lambda entry of a consumer or forwarder that is built once: at import on Lambda, at the first call elsewhere."""

    @cache
    def built() -> Consumer | Forwarder:
        made = build()
        if not isinstance(made, Consumer):  # a forwarder claims nothing
            return made
        return replace(made, store=MeasuredStore(made.store, observer(made.operation)))

    if _is_entry(build):
        built()
        gc.freeze()  # what was made until now stays, so no collection during an invocation looks at it
        gc.set_threshold(*COLLECTOR)

    def handler(event: Any, context: Any) -> Any:
        consumer = built()
        with observer(consumer.operation).invocation(context):
            return consumer(event, context)

    return handler


def _is_entry(build: Callable[[], object]) -> bool:
    """Whether this process is a Lambda environment, and its function is in the module of `build`, not one that imports it."""
    module = os.environ.get("_HANDLER", "").rpartition(".")[0].replace("/", ".")
    return ON_LAMBDA and module in {"", build.__module__}
