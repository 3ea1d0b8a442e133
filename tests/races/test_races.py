"""Sixteen real processes race for two hundred orders on the local account, and some of them are killed in the middle."""

from __future__ import annotations

import multiprocessing
import time
from collections import Counter
from collections.abc import Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path
from random import Random

import pytest

from sandbox.account import LocalAccount
from tests.races.worker import BATCH, GO, LEDGER, RECORDS, run, run_until_done, wait_for

PROCESSES, ORDERS, DELIVERIES, KILLS = 16, 200, 3, 8
SEED = 20261130
PATIENCE_SECONDS = 20.0

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def account() -> Iterator[LocalAccount]:
    with LocalAccount() as made:
        yield made


@pytest.fixture(scope="module")
def start() -> multiprocessing.context.ForkServerContext:
    """Processes start from one that has imported everything: sixteen imports of boto3 would be most of the race."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.races.worker", "boto3"])
    first = context.Process(target=time.time)
    first.start()
    first.join()
    return context


@pytest.mark.parametrize("mode", ["complete", "commit", "guard"])
def test_each_order_is_entered_once_whoever_dies(
    mode: str, account: LocalAccount, start: multiprocessing.context.ForkServerContext, tmp_path: Path
) -> None:
    make_tables(account)
    orders = [f"{mode}-{number}" for number in range(ORDERS)]
    killed = race(account, start, mode, orders, tmp_path)
    abandoned = sum(status == "in_progress" for _, status in records(account))
    assert run_until_done(account.port, mode, orders, PATIENCE_SECONDS) == []
    entries = Counter(entered(account))
    assert set(entries) == set(orders)
    extra = sum(entries.values()) - ORDERS
    print(  # noqa: T201 - pytest shows it with -rP
        f"{mode}: {killed} of {PROCESSES} processes killed, {abandoned} claims abandoned, {extra} orders entered again"
    )
    # A process that dies leaves at most a batch of effects unrecorded, and only with plain completion.
    assert extra <= (killed * BATCH if mode == "complete" else 0)
    assert {status for _, status in records(account)} == {"succeeded"}


def race(
    account: LocalAccount,
    start: multiprocessing.context.ForkServerContext,
    mode: str,
    orders: list[str],
    folder: Path,
) -> int:
    """Deliver every order several times, to different processes at once, and kill some. How many died that way."""
    random = Random(SEED)  # noqa: S311 - to be repeated, not to be secret
    shares: list[list[str]] = [[] for _ in range(PROCESSES)]
    for _ in range(DELIVERIES):
        for number, order in enumerate(random.sample(orders, len(orders))):
            shares[number % PROCESSES].append(order)
    racers: list[BaseProcess] = [
        start.Process(target=run, args=(account.port, mode, share, folder)) for share in shares
    ]
    for racer in racers:
        racer.start()
    wait_for(lambda: len(list(folder.glob("ready-*"))) == PROCESSES)
    (folder / GO).touch()
    for racer in random.sample(racers, KILLS):
        time.sleep(random.uniform(0.02, 0.2))
        racer.kill()
    for racer in racers:
        racer.join(60)
    assert all(racer.exitcode in (0, -9) for racer in racers), [racer.exitcode for racer in racers]
    return sum(racer.exitcode == -9 for racer in racers)


def make_tables(account: LocalAccount) -> None:
    client = account.client("dynamodb")
    for table in (RECORDS, LEDGER):
        if table in client.list_tables()["TableNames"]:
            client.delete_table(TableName=table)
        client.create_table(
            TableName=table,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        )


def entered(account: LocalAccount) -> list[str]:
    pages = account.client("dynamodb").get_paginator("scan").paginate(TableName=LEDGER, ConsistentRead=True)
    return [item["orderId"]["S"] for page in pages for item in page["Items"]]


def records(account: LocalAccount) -> list[tuple[str, str]]:
    pages = account.client("dynamodb").get_paginator("scan").paginate(TableName=RECORDS, ConsistentRead=True)
    return [(item["pk"]["S"], item["status"]["S"]) for page in pages for item in page["Items"]]
