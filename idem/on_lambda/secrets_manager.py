"""Signing secrets from AWS Secrets Manager."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from idem.errors import ConfigurationError
from idem.on_lambda.clients import AWS

if TYPE_CHECKING:
    from idem.webhooks.secrets import RefreshedSecrets

SECRET_MAX_AGE_S = 300  # how long a secret that was withdrawn may go on being trusted


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
