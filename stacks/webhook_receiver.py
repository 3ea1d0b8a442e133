"""A public endpoint for a provider's webhooks, and the secret their signatures are checked with."""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from stacks.errors import require_between
from stacks.function import DEFAULT_MEMORY_MB, WorkerFunction

TIMEOUT_MAX_SECONDS = 30
"""The most patient provider hangs up after 30 s (Stripe, Shopify and Slack sooner): work beyond that answers nobody."""

SECRET_CHARACTERS = 48
"""Letters and digits: 285 bits, more than the 256 that HMAC-SHA256 can use."""


class WebhookReceiver(Construct):
    """A function behind a function URL, and its signing secret, which only this function may read.

    The URL asks for no AWS credentials: a provider has none. The signature is the authentication, and the handler
    checks it before anything else; without a valid one nothing is claimed.

    The secret starts with a generated value, so that a new deployment refuses strangers from its first second. The
    operator replaces it with the provider's (`aws secretsmanager put-secret-value`); deployments leave it alone as
    long as these props do not change. Its ARN is in the environment variable named by `secret_variable`.
    Raises LimitError for a time-out that no provider waits for.
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
        secret_variable: str = "WEBHOOK_SECRET_ID",  # noqa: S107 - the name of a variable
        reserved_concurrency: int | None = None,
        memory_mb: int = DEFAULT_MEMORY_MB,
        architecture: lambda_.Architecture | None = None,
        runtime: lambda_.Runtime | None = None,
        log_retention: logs.RetentionDays = logs.RetentionDays.THREE_MONTHS,
        removal_policy: RemovalPolicy = RemovalPolicy.RETAIN,
    ) -> None:
        super().__init__(scope, construct_id)
        require_between(
            self.node.path,
            "timeout_seconds",
            timeout_seconds,
            (1, TIMEOUT_MAX_SECONDS),
            "providers hang up after that; put longer work behind a queue",
        )
        self.secret = secretsmanager.Secret(
            self,
            "Secret",
            description="Signing secret of the webhook provider. Replace the generated value with the provider's.",
            generate_secret_string=secretsmanager.SecretStringGenerator(
                password_length=SECRET_CHARACTERS, exclude_punctuation=True
            ),
            removal_policy=removal_policy,
        )
        self.worker = WorkerFunction(
            self,
            "Worker",
            code=code,
            handler=handler,
            timeout_seconds=timeout_seconds,
            environment={**environment, secret_variable: self.secret.secret_arn},
            memory_mb=memory_mb,
            architecture=architecture,
            runtime=runtime,
            reserved_concurrency=reserved_concurrency,
            log_retention=log_retention,
            removal_policy=removal_policy,
        )
        self.function = self.worker.function
        iam.Grant.add_to_principal(
            grantee=self.function,
            actions=["secretsmanager:GetSecretValue"],
            resource_arns=[self.secret.secret_arn],
        )
        self.url = self.function.add_function_url(auth_type=lambda_.FunctionUrlAuthType.NONE)
