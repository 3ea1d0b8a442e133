"""The whole deployment: two tables, one consumer of a queue, one receiver of webhooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

import aws_cdk as cdk
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs

from stacks.ending_alarms import EndingAlarms
from stacks.environment import METRICS_NAMESPACE, QUEUE_URL_VARIABLE, SECRET_VARIABLE, HandlerEnvironment
from stacks.queue_consumer import QueueConsumer
from stacks.stage import Stage
from stacks.tables import IdempotencyTable, LedgerTable
from stacks.webhook_receiver import WebhookReceiver

if TYPE_CHECKING:
    from constructs import Construct

RETENTION_BY_DAYS = {
    1: logs.RetentionDays.ONE_DAY,
    7: logs.RetentionDays.ONE_WEEK,
    90: logs.RetentionDays.THREE_MONTHS,
}


class Shared(TypedDict):
    """Props that both functions get."""

    code: lambda_.Code
    log_retention: logs.RetentionDays
    removal_policy: cdk.RemovalPolicy


class IdempotencyStack(cdk.Stack):
    """Composes the constructs and hands out the grants; every rule is in the constructs."""

    def __init__(self, scope: Construct, construct_id: str, *, stage: Stage, code: lambda_.Code) -> None:
        super().__init__(scope, construct_id, termination_protection=stage.keeps_data)
        removal = cdk.RemovalPolicy.RETAIN if stage.keeps_data else cdk.RemovalPolicy.DESTROY
        shared = Shared(code=code, log_retention=RETENTION_BY_DAYS[stage.log_retention_days], removal_policy=removal)
        self.idempotency = IdempotencyTable(self, "Idempotency", removal_policy=removal)
        self.ledger = LedgerTable(self, "Ledger", removal_policy=removal)
        self.orders = QueueConsumer(
            self,
            "Orders",
            **shared,
            handler=stage.orders_handler,
            timeout_seconds=stage.orders_timeout_seconds,
            batch_window_seconds=stage.orders_batch_window_seconds,
            concurrency_max=stage.orders_concurrency_max,
            environment=self._environment("orders", stage),
            queue_url_variable=QUEUE_URL_VARIABLE,
        )
        self.payments = WebhookReceiver(
            self,
            "Payments",
            **shared,
            handler=stage.payments_handler,
            timeout_seconds=stage.payments_timeout_seconds,
            environment=self._environment("payments", stage),
            secret_variable=SECRET_VARIABLE,
        )
        for function in (self.orders.function, self.payments.function):
            self.idempotency.grant_claims(function)
            self.ledger.grant_append(function)
        self._watch("orders", "orders.fulfil")
        self._watch("payments", "payments.credit")
        self._outputs()

    def _environment(self, service: str, stage: Stage) -> dict[str, str]:
        return HandlerEnvironment(
            idempotency_table=self.idempotency.table.table_name,
            ledger_table=self.ledger.table.table_name,
            service=service,
            log_level=stage.log_level,
        ).variables()

    def _watch(self, service: str, operation: str) -> None:
        EndingAlarms(
            self,
            f"{service.title()}Endings",
            namespace=METRICS_NAMESPACE,
            service=service,
            operation=operation,
        )

    def _outputs(self) -> None:
        """Publish what the sandbox, the smoke check and an operator need; they know these names."""
        outputs = {
            "IdempotencyTableName": self.idempotency.table.table_name,
            "LedgerTableName": self.ledger.table.table_name,
            "OrdersQueueUrl": self.orders.queue.queue_url,
            "OrdersDlqUrl": self.orders.dead_letter_queue.queue_url,
            "OrdersFunctionName": self.orders.function.function_name,
            "PaymentsUrl": self.payments.url.url,
            "PaymentsFunctionName": self.payments.function.function_name,
            "PaymentsSecretArn": self.payments.secret.secret_arn,
        }
        for name, value in outputs.items():
            cdk.CfnOutput(self, name, value=value)
