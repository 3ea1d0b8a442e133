"""Stores on every engine. Each module has its own moto; the local account is started once, for tests marked e2e."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.config import Config
from hypothesis import settings
from moto import mock_aws

from idem.dynamo.statements import Together
from sandbox.account import LocalAccount
from tests.idem.benches import Bench, DynamoBench, MemoryBench
from tests.idem.clocks import TestClock
from tests.idem.partiql import Partiql

# Hypothesis finds the same examples in every run, and a busy machine is no failure.
settings.register_profile("idem", deadline=None, derandomize=True, max_examples=100, database=None)
settings.load_profile("idem")

STORES = [
    "memory",
    "moto",
    "moto-single-table",
    pytest.param("account", marks=pytest.mark.e2e),
    pytest.param("account-single-table", marks=pytest.mark.e2e),
]


@pytest.fixture
def clock() -> TestClock:
    return TestClock()


@pytest.fixture(scope="module")
def moto_client() -> Iterator[Any]:
    config = Config(retries={"total_max_attempts": 1})
    with mock_aws():
        yield Partiql(boto3.client("dynamodb", region_name="us-east-1", config=config))


@pytest.fixture(scope="session")
def account() -> Iterator[LocalAccount]:
    with LocalAccount() as started:
        yield started


@pytest.fixture(scope="session")
def account_client(account: LocalAccount) -> Any:
    return account.client("dynamodb")


@pytest.fixture(params=STORES)
def bench(request: pytest.FixtureRequest, clock: TestClock) -> Bench:
    """Every store, one after the other."""
    return make_bench(request, clock, request.param)


@pytest.fixture
def dynamo(moto_client: Any, clock: TestClock) -> DynamoBench:
    """A DynamoStore on moto."""
    return DynamoBench(moto_client, clock, single_table=False)


def make_bench(request: pytest.FixtureRequest, clock: TestClock, name: str) -> Bench:
    if name == "memory":
        return MemoryBench(clock)
    single_table = name.endswith("single-table")
    client = request.getfixturevalue("moto_client" if name.startswith("moto") else "account_client")
    together = next((way for way in Together if way.value in name), Together.STATEMENTS)
    return DynamoBench(client, clock, single_table=single_table, together=together)
