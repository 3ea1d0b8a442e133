"""One Lambda function with a role and a log group of its own.

The role is made here because the one that CDK would add carries AWSLambdaBasicExecutionRole, which may write to any
log group of the account. X-Ray tracing is off unless asked for: its permissions exist for all resources only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from idem.cdk.acknowledged import acknowledge
from idem.cdk.alarms import alarm_at
from idem.cdk.errors import LimitError

DEFAULT_MEMORY_MB = 512
"""CPU share follows memory: below this, importing boto3 dominates a cold start."""


class WorkerOptions(TypedDict, total=False):
    """Props of a function that the constructs around it pass on as they are."""

    memory_mb: int
    architecture: lambda_.Architecture | None
    runtime: lambda_.Runtime | None
    reserved_concurrency: int | None
    tracing: bool
    log_retention: logs.RetentionDays
    removal_policy: RemovalPolicy


class WorkerFunction(Construct):
    """A function, arm64 and Python 3.14 unless told otherwise; the code must be pure Python then.

    arm64 costs a fifth less per millisecond. 3.14 is the runtime with the longest support left; the asset holds no
    compiled code, so either prop can be changed without packaging anew.

    `timeout_seconds` has no upper check: Lambda's maximum has been raised more than once, and it says so itself.
    `reserved_concurrency` also caps what a public endpoint may cost, but an account with little concurrency of its
    own (a new one has 10) refuses it. `tracing` sends a segment of each invocation to X-Ray.
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
        memory_mb: int = DEFAULT_MEMORY_MB,
        architecture: lambda_.Architecture | None = None,
        runtime: lambda_.Runtime | None = None,
        reserved_concurrency: int | None = None,
        tracing: bool = False,
        log_retention: logs.RetentionDays = logs.RetentionDays.THREE_MONTHS,
        removal_policy: RemovalPolicy = RemovalPolicy.RETAIN,
    ) -> None:
        super().__init__(scope, construct_id)
        if timeout_seconds < 1:
            raise LimitError(self.node.path, "timeout_seconds", f"is {timeout_seconds}; give the function at least 1")
        self.log_group = logs.LogGroup(self, "Logs", retention=log_retention, removal_policy=removal_policy)
        self.role = iam.Role(self, "Role", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
        self.log_group.grant_write(self.role)
        self.function = lambda_.Function(
            self,
            "Function",
            code=code,
            handler=handler,
            runtime=runtime or lambda_.Runtime.PYTHON_3_14,
            architecture=architecture or lambda_.Architecture.ARM_64,
            memory_size=memory_mb,
            timeout=Duration.seconds(timeout_seconds),
            environment=dict(environment),
            role=self.role,
            log_group=self.log_group,
            reserved_concurrent_executions=reserved_concurrency,
            tracing=lambda_.Tracing.ACTIVE if tracing else lambda_.Tracing.DISABLED,
        )
        self.throttle_alarm = alarm_at(
            self,
            "ThrottleAlarm",
            metric=self.function.metric_throttles(period=Duration.minutes(1), statistic="Sum"),
            threshold=1,
            meaning="Invocations were refused for want of concurrency: messages burn receives, webhooks come again.",
        )
        self._acknowledge(tracing=tracing)

    def _acknowledge(self, *, tracing: bool) -> None:
        acknowledge(
            self.function,
            "Serverless-LambdaDLQ",
            "Lambda's own dead-letter target is for asynchronous invocations. This function is invoked by a queue, which"
            " has its dead-letter queue, or by HTTP, whose sender gets the error.",
        )
        if tracing:
            acknowledge(
                self.role,
                "AwsSolutions-IAM5[Resource::*]",
                "xray:PutTraceSegments and xray:PutTelemetryRecords can be granted for all resources only.",
            )
        else:
            acknowledge(
                self.function,
                "Serverless-LambdaTracing",
                "Tracing is an option (`tracing=True`): its permissions exist for all resources only, and each delivery"
                " is already one log line with its key, outcome and origin.",
            )
