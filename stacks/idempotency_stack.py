"""The whole deployment: two tables, one consumer of a queue, one receiver of webhooks, and what watches them.

By the stage's choice the receiver works inline, or enqueues for a second consumer.
"""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from idem.cdk import (
    Dashboard,
    EndingAlarms,
    ExistingTable,
    IdempotencyTable,
    LedgerTable,
    LogQueries,
    QueueConsumer,
    RecordTable,
    Reporting,
    TableAlarms,
    Watched,
    WebhookReceiver,
    WorkerFunction,
    WorkerOptions,
)
from idem.cdk.webhook_receiver import WEBHOOK_RECORDS_KEPT_SECONDS
from stacks.environment import CREDITS_URL_VARIABLE, LEDGER_VARIABLE, QUEUE_URL_VARIABLE, SECRET_VARIABLE
from stacks.stage import Stage

RETENTION_BY_DAYS = {
    1: logs.RetentionDays.ONE_DAY,
    7: logs.RetentionDays.ONE_WEEK,
    90: logs.RetentionDays.THREE_MONTHS,
}


class IdempotencyStack(cdk.Stack):
    """Composes the constructs and hands out the grants; every rule is in the constructs."""

    def __init__(self, scope: Construct, construct_id: str, *, stage: Stage, code: lambda_.Code) -> None:
        super().__init__(scope, construct_id, termination_protection=stage.keeps_data)
        removal = cdk.RemovalPolicy.RETAIN if stage.keeps_data else cdk.RemovalPolicy.DESTROY
        self._stage, self._code = stage, code
        self._shared = WorkerOptions(
            log_retention=RETENTION_BY_DAYS[stage.log_retention_days], removal_policy=removal, tracing=stage.tracing
        )
        self.idempotency = self._records(stage, removal)
        self.ledger = LedgerTable(self, "Ledger", removal_policy=removal)
        self.orders = self._orders()
        self.credits = self._credits() if stage.enqueues else None
        self.payments = self._payments(self.credits)
        watched = (
            Watched(service="orders", operation="orders.fulfil", worker=self.orders.worker, queue=self.orders),
            Watched(
                service="payments",
                operation="payments.credit",
                worker=(self.credits or self.payments).worker,
                queue=self.credits,
            ),
        )
        for one in watched:
            self.idempotency.grant_claims(one.worker.function, operations=[one.operation])
            self.ledger.grant_append(one.worker.function)
        self._watch(watched, stage)
        self._outputs()

    def _orders(self) -> QueueConsumer:
        return QueueConsumer(
            self,
            "Orders",
            code=self._code,
            handler=self._stage.orders_handler,
            timeout_seconds=self._stage.orders_timeout_seconds,
            batch_window_seconds=self._stage.orders_batch_window_seconds,
            concurrency_max=self._stage.orders_concurrency_max,
            environment=self._environment("orders"),
            queue_url_variable=QUEUE_URL_VARIABLE,
            **self._shared,
        )

    def _payments(self, credits_: QueueConsumer | None) -> WebhookReceiver:
        """Inline, or in front of the queue. It is the same construct for both, so that a change keeps secret and address."""
        inline = credits_ is None
        return WebhookReceiver(
            self,
            "Payments",
            code=self._code,
            handler=self._stage.payments_handler if inline else self._stage.receiver_handler,
            timeout_seconds=self._stage.payments_timeout_seconds,
            environment=self._environment("payments") if inline else self._reporting("payments"),
            secret_variable=SECRET_VARIABLE,
            front=self._stage.front,
            enqueue_to=credits_.queue if credits_ else None,
            queue_url_variable=CREDITS_URL_VARIABLE,
            **self._shared,
        )

    def _credits(self) -> QueueConsumer:
        return QueueConsumer(
            self,
            "Credits",
            code=self._code,
            handler=self._stage.credits_handler,
            timeout_seconds=self._stage.payments_timeout_seconds,
            environment=self._environment("payments"),
            queue_url_variable=CREDITS_URL_VARIABLE,
            records_kept=cdk.Duration.seconds(WEBHOOK_RECORDS_KEPT_SECONDS),
            **self._shared,
        )

    def _records(self, stage: Stage, removal: cdk.RemovalPolicy) -> RecordTable:
        if stage.records is None:
            return IdempotencyTable(self, "Idempotency", removal_policy=removal)
        name, sort_key = stage.records.name, stage.records.sort_key
        return ExistingTable(self, "ExistingRecords", table_name=name, sort_key=sort_key)

    def _environment(self, service: str) -> dict[str, str]:
        tables = {**self.idempotency.variables(), LEDGER_VARIABLE: self.ledger.table.table_name}
        return tables | self._reporting(service)

    def _reporting(self, service: str) -> dict[str, str]:
        return Reporting(service=service, log_level=self._stage.log_level).variables()

    def _watch(self, watched: tuple[Watched, ...], stage: Stage) -> None:
        for one in watched:
            EndingAlarms(self, f"{one.service.title()}Endings", service=one.service, operation=one.operation)
        TableAlarms(self, "IdempotencyAlarms", table=self.idempotency.table)
        if stage.with_console:
            Dashboard(self, "Dashboard", watched=watched)
            LogQueries(self, "Queries", workers=[*(one.worker for one in watched), *self._receivers()])

    def _receivers(self) -> list[WorkerFunction]:
        """Functions that claim nothing, and so are not watched as consumers."""
        return [self.payments.worker] if self.credits else []

    def _outputs(self) -> None:
        """Publish what the sandbox, the smoke check and an operator need; they know these names."""
        outputs = {
            "IdempotencyTableName": self.idempotency.table.table_name,
            "LedgerTableName": self.ledger.table.table_name,
            "OrdersQueueUrl": self.orders.queue.queue_url,
            "OrdersDlqUrl": self.orders.dead_letter_queue.queue_url,
            "OrdersFunctionName": self.orders.function.function_name,
            "PaymentsUrl": self.payments.url,
            "PaymentsFunctionName": self.payments.function.function_name,
            "PaymentsSecretArn": self.payments.secret.secret_arn,
        }
        if self.credits:
            outputs |= {
                "CreditsQueueUrl": self.credits.queue.queue_url,
                "CreditsDlqUrl": self.credits.dead_letter_queue.queue_url,
                "CreditsFunctionName": self.credits.function.function_name,
            }
        for name, value in outputs.items():
            cdk.CfnOutput(self, name, value=value)
