"""A queue, its dead-letter queue, and the function that empties it.

Three settings only work together, so one construct derives or checks all of them:

- visibility = 6 x the function's time-out + the batch window. Lambda needs the room to retry a throttled batch; with
  less, a message is delivered again while its first delivery still runs.
- at least 5 receives before a message goes to the dead-letter queue: throttling burns receives too, and so does
  waiting for another delivery's lease when the consumer could not move the visibility.
- ReportBatchItemFailures on the mapping. Without it Lambda ignores the consumer's answer and deletes the whole batch.
"""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from stacks.errors import LimitError, require_between
from stacks.function import DEFAULT_MEMORY_MB, WorkerFunction

TIMEOUTS_PER_VISIBILITY = 6  # AWS's own rule for a queue that Lambda reads
VISIBILITY_MAX_SECONDS = 12 * 3600  # SQS
RECEIVES_LIMITS = (5, 1000)  # AWS's advice for a queue that Lambda reads; SQS
BATCH_MAX = 10_000  # Lambda, standard queue
BATCH_MAX_WITHOUT_WINDOW = 10  # Lambda; also the most a FIFO queue can have
WINDOW_LIMITS_SECONDS = (0, 300)  # Lambda
CONCURRENCY_LIMITS = (2, 1000)  # Lambda, per mapping
RETENTION = Duration.days(14)
"""SQS's longest, for both queues: on a standard queue a message keeps its age when it moves to the DLQ."""

CONSUME_ACTIONS = (
    "sqs:ReceiveMessage",
    "sqs:DeleteMessage",
    "sqs:GetQueueAttributes",
    "sqs:ChangeMessageVisibility",  # the consumer itself: a held message sleeps until the lease's end
)


def visibility_seconds(*, timeout_seconds: int, batch_window_seconds: int) -> int:
    """How long a received message stays hidden, derived from what may take that long."""
    return TIMEOUTS_PER_VISIBILITY * timeout_seconds + batch_window_seconds


class QueueConsumer(Construct):
    """Queue, dead-letter queue, function and mapping, with two alarms that the owner can add actions to.

    The function finds its queue's URL in the environment variable named by `queue_url_variable`. `concurrency_max`
    bounds the mapping's invocations, so that a backlog cannot take the account's whole concurrency; None leaves it
    to the account. `fifo` makes both queues FIFO. Raises LimitError for props that cannot work together.
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
        fifo: bool = False,
        memory_mb: int = DEFAULT_MEMORY_MB,
        architecture: lambda_.Architecture | None = None,
        runtime: lambda_.Runtime | None = None,
        log_retention: logs.RetentionDays = logs.RetentionDays.THREE_MONTHS,
        removal_policy: RemovalPolicy = RemovalPolicy.RETAIN,
    ) -> None:
        super().__init__(scope, construct_id)
        self.visibility_seconds = visibility_seconds(
            timeout_seconds=timeout_seconds, batch_window_seconds=batch_window_seconds
        )
        self._check(batch_size, batch_window_seconds, receives_max, concurrency_max, fifo=fifo)
        self.dead_letter_queue = self._queue("DeadLetterQueue", fifo=fifo, removal_policy=removal_policy)
        self.queue = self._queue(
            "Queue",
            fifo=fifo,
            removal_policy=removal_policy,
            visibility=Duration.seconds(self.visibility_seconds),
            dead_letter=sqs.DeadLetterQueue(queue=self.dead_letter_queue, max_receive_count=receives_max),
        )
        self.worker = WorkerFunction(
            self,
            "Worker",
            code=code,
            handler=handler,
            timeout_seconds=timeout_seconds,
            environment={**environment, queue_url_variable: self.queue.queue_url},
            memory_mb=memory_mb,
            architecture=architecture,
            runtime=runtime,
            log_retention=log_retention,
            removal_policy=removal_policy,
        )
        self.function = self.worker.function
        self._attach(batch_size, batch_window_seconds, concurrency_max)
        self.alarms = (
            self._alarm_dead_letters(),
            self._alarm_age(self.visibility_seconds * receives_max),
        )

    def _check(
        self,
        batch_size: int,
        batch_window_seconds: int,
        receives_max: int,
        concurrency_max: int | None,
        *,
        fifo: bool,
    ) -> None:
        path, visibility = self.node.path, self.visibility_seconds
        batch_limits = (1, BATCH_MAX_WITHOUT_WINDOW if fifo else BATCH_MAX)
        require_between(path, "batch_window_seconds", batch_window_seconds, WINDOW_LIMITS_SECONDS, "Lambda's limits")
        require_between(path, "batch_size", batch_size, batch_limits, "Lambda's limits for this kind of queue")
        require_between(path, "receives_max", receives_max, RECEIVES_LIMITS, "throttled deliveries burn receives too")
        if concurrency_max is not None:
            require_between(path, "concurrency_max", concurrency_max, CONCURRENCY_LIMITS, "Lambda's limits")
        if batch_size > BATCH_MAX_WITHOUT_WINDOW and batch_window_seconds == 0:
            raise LimitError(path, "batch_size", f"is {batch_size}; above 10 set batch_window_seconds to 1 or more")
        if fifo and batch_window_seconds:
            raise LimitError(path, "batch_window_seconds", "must be 0: a FIFO queue has no batch window")
        if visibility > VISIBILITY_MAX_SECONDS:
            raise LimitError(
                path,
                "timeout_seconds",
                f"makes the visibility 6 x time-out + batch window = {visibility} s, and SQS ends at"
                f" {VISIBILITY_MAX_SECONDS} s; shorten it",
            )

    def _queue(
        self,
        construct_id: str,
        *,
        fifo: bool,
        removal_policy: RemovalPolicy,
        visibility: Duration | None = None,
        dead_letter: sqs.DeadLetterQueue | None = None,
    ) -> sqs.Queue:
        return sqs.Queue(
            self,
            construct_id,
            fifo=fifo or None,  # CloudFormation wants the property absent, not false
            visibility_timeout=visibility,
            dead_letter_queue=dead_letter,
            retention_period=RETENTION,
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            removal_policy=removal_policy,
        )

    def _attach(self, batch_size: int, batch_window_seconds: int, concurrency_max: int | None) -> None:
        iam.Grant.add_to_principal(
            grantee=self.function, actions=list(CONSUME_ACTIONS), resource_arns=[self.queue.queue_arn]
        )
        # A FIFO queue refuses the window property even when it is 0.
        window = Duration.seconds(batch_window_seconds) if batch_window_seconds else None
        self.mapping = lambda_.EventSourceMapping(
            self,
            "Mapping",
            target=self.function,
            event_source_arn=self.queue.queue_arn,
            batch_size=batch_size,
            max_batching_window=window,
            max_concurrency=concurrency_max,
            report_batch_item_failures=True,
        )

    def _alarm_dead_letters(self) -> cloudwatch.Alarm:
        return self.dead_letter_queue.metric_approximate_number_of_messages_visible(
            period=Duration.minutes(1), statistic="Maximum"
        ).create_alarm(
            self,
            "DeadLetterAlarm",
            alarm_description="Messages were given up: read the records of their keys, mend, redrive.",
            threshold=1,
            evaluation_periods=1,
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        )

    def _alarm_age(self, age_seconds: int) -> cloudwatch.Alarm:
        """Alarm on a message older than all its receives take: it is not retried, it is not read."""
        return self.queue.metric_approximate_age_of_oldest_message(
            period=Duration.minutes(1), statistic="Maximum"
        ).create_alarm(
            self,
            "AgeAlarm",
            alarm_description="A message waits longer than all its retries take: the consumer does not keep up.",
            threshold=age_seconds,
            evaluation_periods=1,
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        )
