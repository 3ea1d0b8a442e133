"""A queue, its dead-letter queue, and the function that empties it.

Some settings only work together, so one construct derives or checks them (`idem.cdk.queue_limits`): the visibility from
the function's time-out, the receives before a message is given up, the lives of messages and of records. And one must
be there at all: ReportBatchItemFailures on the mapping. Without it Lambda ignores the consumer's answer and deletes
the whole batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Unpack

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from idem.cdk.acknowledged import acknowledge
from idem.cdk.alarms import alarm_at
from idem.cdk.errors import LimitError
from idem.cdk.function import WorkerFunction, WorkerOptions
from idem.cdk.queue_limits import (
    QUEUE_RECORDS_KEPT_SECONDS,
    QUEUE_RETENTION_SECONDS,
    RECEIVES_LIMITS,
    QueueLimits,
    visibility_seconds,
)

CONSUME_ACTIONS = (
    "sqs:ReceiveMessage",
    "sqs:DeleteMessage",
    "sqs:GetQueueAttributes",
    "sqs:ChangeMessageVisibility",  # the consumer itself: a held message sleeps until the lease's end
)


class QueueConsumer(Construct):
    """Queue, dead-letter queue, function and mapping, with alarms that the owner can add actions to.

    The function finds its queue's URL in the environment variable named by `queue_url_variable`. `concurrency_max`
    bounds the mapping's invocations, so that a backlog cannot take the account's whole concurrency; None leaves it
    to the account. `fifo` makes both queues FIFO. `dead_letter_queue` is one that others share, instead of an own
    one, with its `dead_letter_retention`. `records_kept` is the retention of the consumer's policy, None for ever.
    Raises LimitError for props that cannot work together.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        code: lambda_.Code,
        handler: str,
        timeout_seconds: int,
        environment: Mapping[str, str],
        queue_url_variable: str = "QUEUE_URL",
        batch_size: int = 10,
        batch_window_seconds: int = 0,
        receives_max: int = RECEIVES_LIMITS[0],
        concurrency_max: int | None = None,
        visibility: Duration | None = None,
        queue_retention: Duration | None = None,
        dead_letter_retention: Duration | None = None,
        dead_letter_queue: sqs.IQueue | None = None,
        records_kept: Duration | None = Duration.seconds(QUEUE_RECORDS_KEPT_SECONDS),  # noqa: B008 - a constant
        fifo: bool = False,
        **worker: Unpack[WorkerOptions],
    ) -> None:
        super().__init__(scope, construct_id)
        self.limits = QueueLimits(
            timeout_seconds=timeout_seconds,
            batch_size=batch_size,
            batch_window_seconds=batch_window_seconds,
            receives_max=receives_max,
            concurrency_max=concurrency_max,
            reserved_concurrency=worker.get("reserved_concurrency"),
            visibility_seconds=_seconds(visibility)
            or visibility_seconds(timeout_seconds=timeout_seconds, batch_window_seconds=batch_window_seconds),
            queue_retention_seconds=_seconds(queue_retention) or QUEUE_RETENTION_SECONDS,
            dead_letter_retention_seconds=_seconds(dead_letter_retention) or QUEUE_RETENTION_SECONDS,
            records_kept_seconds=_seconds(records_kept),
            fifo=fifo,
        )
        self.limits.check(self.node.path)
        removal_policy = worker.get("removal_policy", RemovalPolicy.RETAIN)
        self.dead_letter_queue = self._dead_letter_queue(dead_letter_queue, removal_policy)
        self.queue = self._queue(removal_policy)
        self.worker = WorkerFunction(
            self,
            "Worker",
            code=code,
            handler=handler,
            timeout_seconds=timeout_seconds,
            environment={**environment, queue_url_variable: self.queue.queue_url},
            **worker,
        )
        self.function = self.worker.function
        self.mapping = self._attach()
        self.alarms = (self._alarm_dead_letters(), self._alarm_age(), self.worker.throttle_alarm)

    def grant_send(self, grantee: iam.IGrantable) -> None:
        """Let `grantee` put messages on the queue."""
        grant_send(grantee, self.queue)

    def _dead_letter_queue(self, shared: sqs.IQueue | None, removal_policy: RemovalPolicy) -> sqs.IQueue:
        fifo = self.limits.fifo
        if shared is None:
            own = sqs.Queue(
                self,
                "DeadLetterQueue",
                fifo=fifo or None,  # CloudFormation wants the property absent, not false
                retention_period=Duration.seconds(self.limits.dead_letter_retention_seconds),
                encryption=sqs.QueueEncryption.SQS_MANAGED,
                enforce_ssl=True,
                removal_policy=removal_policy,
            )
            acknowledge(own, "Serverless-SQSRedrivePolicy", "It is the dead-letter queue: what is here a person reads.")
            return own
        if shared.fifo is not fifo:
            kinds = ("standard", "FIFO")
            raise LimitError(
                self.node.path,
                "dead_letter_queue",
                f"is {kinds[shared.fifo]} and the queue {kinds[fifo]}: SQS moves messages within one kind only",
            )
        return shared

    def _queue(self, removal_policy: RemovalPolicy) -> sqs.Queue:
        return sqs.Queue(
            self,
            "Queue",
            fifo=self.limits.fifo or None,
            visibility_timeout=Duration.seconds(self.limits.visibility_seconds),
            dead_letter_queue=sqs.DeadLetterQueue(
                queue=self.dead_letter_queue, max_receive_count=self.limits.receives_max
            ),
            retention_period=Duration.seconds(self.limits.queue_retention_seconds),
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            removal_policy=removal_policy,
        )

    def _attach(self) -> lambda_.EventSourceMapping:
        iam.Grant.add_to_principal(
            grantee=self.function, actions=list(CONSUME_ACTIONS), resource_arns=[self.queue.queue_arn]
        )
        # A FIFO queue refuses the window property even when it is 0.
        window = self.limits.batch_window_seconds
        mapping = lambda_.EventSourceMapping(
            self,
            "Mapping",
            target=self.function,
            event_source_arn=self.queue.queue_arn,
            batch_size=self.limits.batch_size,
            max_batching_window=Duration.seconds(window) if window else None,
            max_concurrency=self.limits.concurrency_max,
            report_batch_item_failures=True,
        )
        acknowledge(
            mapping,
            "Serverless-LambdaEventSourceMappingDestination",
            "A queue's failures go to its dead-letter queue by the redrive policy, with their ids and bodies.",
        )
        return mapping

    def _alarm_dead_letters(self) -> cloudwatch.Alarm:
        return alarm_at(
            self,
            "DeadLetterAlarm",
            metric=self.dead_letter_queue.metric_approximate_number_of_messages_visible(
                period=Duration.minutes(1), statistic="Maximum"
            ),
            threshold=1,
            meaning="Messages were given up: read the records of their keys, mend, redrive.",
        )

    def _alarm_age(self) -> cloudwatch.Alarm:
        """Alarm on a message older than all its receives take: it is not retried, it is not read."""
        return alarm_at(
            self,
            "AgeAlarm",
            metric=self.queue.metric_approximate_age_of_oldest_message(period=Duration.minutes(1), statistic="Maximum"),
            threshold=self.limits.visibility_seconds * self.limits.receives_max,
            meaning="A message waits longer than all its retries take: the consumer does not keep up.",
        )


def grant_send(grantee: iam.IGrantable, queue: sqs.IQueue) -> None:
    """Let `grantee` put messages on `queue`, and nothing else."""
    iam.Grant.add_to_principal(grantee=grantee, actions=["sqs:SendMessage"], resource_arns=[queue.queue_arn])


def _seconds(duration: Duration | None) -> int | None:
    return None if duration is None else int(duration.to_seconds())
