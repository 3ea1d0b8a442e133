"""Key derivation: from a payload of 1, 10 and 250 KB to the key that is written."""

from __future__ import annotations

from typing import Any

from aws_lambda_powertools.utilities.idempotency import DynamoDBPersistenceLayer, IdempotencyConfig

from benchmarks.events import OPERATION, TABLE
from benchmarks.network import Network
from benchmarks.report import Report
from benchmarks.timing import Prepare, compare, ratio
from benchmarks.with_powertools import Powertools
from idem import Delivery, keys
from idem.keys import KeyRule, make_key

SIZES_KB = {1: 400, 10: 60, 250: 4}
ROUNDS = 25


def run(report: Report) -> None:
    report.progress("key derivation")
    for size, times in SIZES_KB.items():
        samples = compare(_contenders(payload(size), times), rounds=ROUNDS, units=times)
        report.ratio(f"key_{size}kb_powertools_over_ours", ratio(samples, "powertools", "ours", "cpu"))
        report.ratio(
            f"key_{size}kb_of_one_field_powertools_over_ours", ratio(samples, "powertools_field", "ours_field", "cpu")
        )
        report.ratio(
            f"key_{size}kb_with_fractions_powertools_over_ours",
            ratio(samples, "powertools_fractions", "ours_fractions", "cpu"),
        )


def payload(size_kb: int, *, fractions: bool = False) -> dict[str, Any]:
    """An order of about this size in JSON. Fractions, such as prices in euros, take the slower way through our rules."""
    line = {"sku": "A-0001", "name": "a thing of some kind", "quantity": 2, "unitPrice": 12.5 if fractions else 1250}
    return {"orderId": "o-1", "customer": {"id": "c-1", "vip": False}, "lines": [dict(line)] * (size_kb * 1024 // 80)}


def _contenders(plain: dict[str, Any], times: int) -> dict[str, Prepare]:
    fractions = payload(len(plain["lines"]) * 80 // 1024, fractions=True)

    def ours(given: dict[str, Any], rule: KeyRule = keys.payload_hash()) -> Prepare:  # noqa: B008 - a constant
        delivery = Delivery(id="m-1", payload=given)
        return lambda: lambda: [make_key(OPERATION, rule(delivery)) for _ in range(times)]

    def powertools(given: dict[str, Any], path: str = "") -> Prepare:
        layer = DynamoDBPersistenceLayer(table_name=TABLE, boto3_client=client)
        layer.configure(IdempotencyConfig(event_key_jmespath=path), OPERATION)
        derive = layer._get_hashed_idempotency_key  # noqa: SLF001 - there is no public way to derive a key alone
        return lambda: lambda: [derive(data=given) for _ in range(times)]

    client = Powertools(Network()).client

    return {
        "ours": ours(plain),
        "powertools": powertools(plain),
        "ours_fractions": ours(fractions),
        "powertools_fractions": powertools(fractions),
        "ours_field": ours(plain, keys.field("orderId")),
        "powertools_field": powertools(plain, "orderId"),
    }
