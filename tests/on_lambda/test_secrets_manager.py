"""Signing secrets: read once, read again on request, never empty."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from idem.errors import ConfigurationError
from idem.on_lambda import signing_secrets

REGION = "us-east-1"


@pytest.fixture
def manager(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Secrets Manager, with one signing secret."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    with mock_aws():
        client = boto3.client("secretsmanager", REGION)
        client.create_secret(Name="signing", SecretString="whsec_old")
        yield client


def test_secrets_are_kept_until_they_are_asked_for_anew(manager: Any) -> None:
    secrets = signing_secrets("signing")
    assert list(secrets()) == ["whsec_old"]
    manager.put_secret_value(SecretId="signing", SecretString="whsec_new\nwhsec_old")
    assert list(secrets()) == ["whsec_old"]
    assert list(secrets.refresh(0) or ()) == ["whsec_new", "whsec_old"]
    assert list(secrets()) == ["whsec_new", "whsec_old"]


def test_an_empty_secret_is_refused_by_name(manager: Any) -> None:
    manager.put_secret_value(SecretId="signing", SecretString="  ")
    with pytest.raises(ConfigurationError, match="secret signing is empty"):
        signing_secrets("signing")()
