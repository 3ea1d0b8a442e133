"""A dashboard that answers three questions: are duplicates being absorbed, is anything stuck, is anything lost.

And the searches behind its numbers: saved queries over the structured logs of the functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aws_cdk import Duration, Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_logs as logs
from constructs import Construct

from idem.cdk.alarms import consumer_metric
from idem.cdk.function import WorkerFunction
from idem.cdk.queue_consumer import QueueConsumer
from idem.cdk.variables import METRICS_NAMESPACE

ABSORBED = ("Claims", "FirstRuns", "Replays", "Held", "StoredFailures")
STUCK = ("Unsettled", "TransientFailures", "StoreUnavailable", "NotStarted")
LOST = ("LostClaims", "Unrecorded", "Mismatches", "Malformed", "PermanentFailures")
TIMES = ("ClaimTime", "RecordTime", "DeliveryTime")

WIDTH = 8  # three columns of CloudWatch's 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """One consumer to watch: under which names its metrics come, what runs it, and its queue if it has one."""

    service: str
    operation: str
    worker: WorkerFunction
    queue: QueueConsumer | None = None
    namespace: str = METRICS_NAMESPACE

    def metrics(self, names: Sequence[str], statistic: str = "Sum") -> list[cloudwatch.IMetric]:
        """The observer's metrics of these names."""
        return [
            consumer_metric(
                name,
                namespace=self.namespace,
                service=self.service,
                operation=self.operation,
                statistic=statistic,
            )
            for name in names
        ]


class Dashboard(Construct):
    """One column for each question, one row of them for each consumer."""

    def __init__(self, scope: Construct, construct_id: str, *, watched: Sequence[Watched]) -> None:
        super().__init__(scope, construct_id)
        self.dashboard = cloudwatch.Dashboard(self, "Dashboard", default_interval=Duration.hours(12))
        for one in watched:
            self.dashboard.add_widgets(_absorbed(one), _stuck(one), _lost(one))
            self.dashboard.add_widgets(_times(one))


def _absorbed(one: Watched) -> cloudwatch.GraphWidget:
    return _graph(f"{one.operation}: are duplicates being absorbed?", one.metrics(ABSORBED))


def _stuck(one: Watched) -> cloudwatch.GraphWidget:
    waits: list[cloudwatch.IMetric] = []
    if one.queue is not None:
        waits.append(one.queue.queue.metric_approximate_age_of_oldest_message(statistic="Maximum"))
    return _graph(f"{one.operation}: is anything stuck?", one.metrics(STUCK), right=waits)


def _lost(one: Watched) -> cloudwatch.GraphWidget:
    signs = [one.worker.function.metric_errors(), one.worker.function.metric_throttles()]
    if one.queue is not None:
        dead = one.queue.dead_letter_queue
        signs.append(dead.metric_approximate_number_of_messages_visible(statistic="Maximum"))
    return _graph(f"{one.operation}: is anything lost?", [*one.metrics(LOST), *signs])


def _times(one: Watched) -> cloudwatch.GraphWidget:
    return _graph(f"{one.operation}: how long it takes, p99 in ms", one.metrics(TIMES, "p99"))


def _graph(
    title: str, left: Sequence[cloudwatch.IMetric], right: Sequence[cloudwatch.IMetric] = ()
) -> cloudwatch.GraphWidget:
    return cloudwatch.GraphWidget(title=title, left=list(left), right=list(right), width=WIDTH)


LINE = ("@timestamp", "operation", "key", "outcome", "attempt", "receive_count", "error", "origin.messageId")
"""What of a delivery's log line a person wants to see; the observer of `idem.on_lambda` writes these names."""

QUERIES = {
    "what happened to this message": ('origin.messageId = "PASTE-MESSAGE-ID"',),
    "what happened to this key": ('key = "PASTE-OPERATION#IDENTITY"',),
    "where once is in doubt": ('outcome in ["LostClaims", "Unrecorded", "Unsettled"]',),
    "duplicates that did nothing": ('outcome in ["Replays", "Held", "StoredFailures"]',),
    "what is on its way to the dead-letter queue": ("receive_count >= 3", 'outcome not in ["FirstRuns", "Replays"]'),
}
"""Name -> what a line must fulfil."""


class LogQueries(Construct):
    """Saved Logs Insights queries over the log groups of `workers`, in a folder named after the stack."""

    def __init__(self, scope: Construct, construct_id: str, *, workers: Sequence[WorkerFunction]) -> None:
        super().__init__(scope, construct_id)
        for number, (name, conditions) in enumerate(QUERIES.items(), start=1):
            logs.QueryDefinition(
                self,
                f"Query{number}",
                query_definition_name=f"{Stack.of(self).stack_name}/{name}",
                query_string=logs.QueryString(
                    fields=list(LINE),
                    filter_statements=['message = "delivery"', *conditions],
                    sort="@timestamp asc",
                    limit=1000,
                ),
                log_groups=[worker.log_group for worker in workers],
            )
