"""Powertools for AWS Lambda: its idempotency and batch utilities, as its documentation puts them together."""

from __future__ import annotations

import json
from typing import Any

import boto3
from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType, process_partial_response
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord
from aws_lambda_powertools.utilities.idempotency import (
    DynamoDBPersistenceLayer,
    IdempotencyConfig,
    idempotent_function,
)
from botocore.config import Config

from benchmarks.contender import TimedWork
from benchmarks.events import TABLE, Context, Event, total
from benchmarks.network import Network

RETENTION_SECONDS = 29 * 24 * 3600


class Powertools:
    """`config`: of its client; its documentation's examples have none. `client`: one that is not stubbed."""

    def __init__(
        self, network: Network, *, config: Config | None = None, client: Any = None, table: str = TABLE
    ) -> None:
        self.network = network
        self.work: TimedWork = total
        self.client = client or network.attach(boto3.client("dynamodb", config=config))
        layer = DynamoDBPersistenceLayer(table_name=table, boto3_client=self.client)
        self._config = IdempotencyConfig(event_key_jmespath="orderId", expires_after_seconds=RETENTION_SECONDS)
        self._config.register_lambda_context(Context())  # type: ignore[arg-type]  # the part of it that is asked for
        self._processor = BatchProcessor(event_type=EventType.SQS, raise_on_entire_batch_failure=False)
        decorate = idempotent_function(
            data_keyword_argument="order", persistence_store=layer, config=self._config, key_prefix="orders.fulfil"
        )
        self._once = decorate(self._function)

    def handle(self, event: Event) -> Any:
        self._config.register_lambda_context(Context())  # type: ignore[arg-type]  # the part of it that is asked for
        return process_partial_response(event=event, record_handler=self._record, processor=self._processor)

    def call(self, order: Any) -> Any:
        return self._once(order=order)

    def _record(self, record: SQSRecord) -> Any:
        return self._once(order=json.loads(record.body))

    def _function(self, order: Any) -> Any:
        return self.work(order)
