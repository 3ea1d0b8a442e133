"""`python -m sandbox.reconcile RECORDS LEDGER`: after a restore, write the records that the ledger proves.

Every row of the ledger names the key under which its effect was made. Whatever of these has no record in the restored
table gets one. It uses the AWS credentials and region that are in force, and reads the whole ledger once.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import Any

import boto3

from idem import DynamoStore, Key, Retention
from idem.operators.restoring import remember


def main(arguments: list[str] | None = None) -> int:
    """Write what is missing, and say how much that was."""
    parser = argparse.ArgumentParser(prog="python -m sandbox.reconcile", description=__doc__)
    parser.add_argument("records", help="the restored table of records")
    parser.add_argument("ledger", help="the table with the effects")
    given = parser.parse_args(arguments)
    client = boto3.client("dynamodb")
    store = DynamoStore(client, given.records)
    # The longest retention of both consumers: a record too many does no harm.
    written = remember(store, effects(client, given.ledger), Retention.WEBHOOK)
    for key in written:
        print(f"written: {key}")
    print(f"{len(written)} records were missing.")
    return 0


def effects(client: Any, ledger: str) -> Iterator[Key]:
    """The key of every effect in the ledger."""
    for page in client.get_paginator("scan").paginate(TableName=ledger, ConsistentRead=True):
        for row in page["Items"]:
            yield Key(*row["idempotencyKey"]["S"].split("#", maxsplit=1))


if __name__ == "__main__":
    sys.exit(main())
