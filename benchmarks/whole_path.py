"""The whole path on a local account: real HTTP to MiniStack, whose own work is most of the time."""

from __future__ import annotations

import itertools
from contextlib import suppress
from typing import Any

import boto3
from botocore.config import Config

from benchmarks.events import PRODUCT, TABLE, orders
from benchmarks.network import Network
from benchmarks.report import Report
from benchmarks.timing import Body, Prepare, compare, ratio
from benchmarks.with_idem import Ours
from benchmarks.with_powertools import Powertools
from sandbox.account import LocalAccount

ROUNDS = 9
"""of ten messages each; the engine answers in a few milliseconds."""


def run(report: Report) -> None:
    """Ratios on MiniStack, and the capacity units that it reports where it reports any."""
    report.progress("the whole path on a local account")
    with LocalAccount() as account:
        environment = account.environment()
        made = {
            "endpoint_url": account.endpoint,
            "region_name": environment["AWS_REGION"],
            "aws_access_key_id": environment["AWS_ACCESS_KEY_ID"],
            "aws_secret_access_key": environment["AWS_SECRET_ACCESS_KEY"],
        }
        _compare(report, made)
        _capacity(report, _client(made, PRODUCT))


def _client(made: dict[str, Any], config: Config | None = None) -> Any:
    return boto3.client("dynamodb", config=config, **made)


def _compare(report: Report, made: dict[str, Any]) -> None:
    ours = _client(made, PRODUCT)
    for table, key in ((TABLE, "pk"), ("powertools", "id")):
        ours.create_table(
            TableName=table,
            KeySchema=[{"AttributeName": key, "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
    handlers = {
        "ours": Ours(Network(), client=ours).handle,
        "powertools": Powertools(Network(), client=_client(made), table="powertools").handle,
    }
    for case in ("new", "duplicate"):
        prepared = {name: _ten(handler, case) for name, handler in handlers.items()}
        samples = compare(prepared, rounds=ROUNDS, units=10)
        report.ratio(f"account_batch10_{case}_wall_powertools_over_ours", ratio(samples, "powertools", "ours", "wall"))


def _ten(handler: Any, case: str) -> Prepare:
    runs = itertools.count()

    def prepare() -> Body:
        event = orders(range(10), f"{case}-{next(runs)}-")
        if case == "duplicate":
            handler(event)
        return lambda: handler(event)

    return prepare


def _capacity(report: Report, client: Any) -> None:
    """Ask the engine what each request consumed; a key is new, then a duplicate."""
    consumed: list[float] = []
    client.meta.events.register("provide-client-params.*", _ask)
    client.meta.events.register("after-call.*", lambda parsed, **_: consumed.append(_units(parsed)))
    handler = Ours(Network(), client=client).handle
    for case in ("new", "duplicate"):
        consumed.clear()
        with suppress(Exception):  # an engine may refuse to be asked; then there is nothing to report
            handler(orders([1], "capacity-"))
        report.figure("capacity_reported_by_ministack", case, sum(consumed) or None)


def _ask(params: dict[str, Any], **_: Any) -> dict[str, Any]:
    return params | {"ReturnConsumedCapacity": "TOTAL"}


def _units(parsed: dict[str, Any]) -> float:
    found = parsed.get("ConsumedCapacity") or {}
    return float(sum(one["CapacityUnits"] for one in (found if isinstance(found, list) else [found]) if one))
