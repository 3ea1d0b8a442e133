"""A public endpoint for a provider's webhooks, and the secret their signatures are checked with.

Two decisions are the owner's:

- the front: a function URL costs nothing and has no limits of its own; an HTTP API can have a domain name, and bounds
  the requests per second before they reach the function.
- inline or enqueue: by default the function does the work while the provider waits. With `enqueue_to` it checks the
  signature, puts the event on a queue and answers; a QueueConsumer behind it does the work. Choose it for work that
  takes longer than the provider waits, or for a provider that never retries.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Unpack

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from idem.cdk.acknowledged import acknowledge
from idem.cdk.errors import LimitError, require_between
from idem.cdk.function import WorkerFunction, WorkerOptions
from idem.cdk.http_front import PublicApi, Rate
from idem.cdk.queue_consumer import grant_send
from idem.cdk.queue_limits import DAY

SECRET_CHARACTERS = 48
"""Letters and digits: 285 bits, more than the 256 that HMAC-SHA256 can use."""


RESEND_SECONDS = 30 * DAY  # the longest any provider we know resends by hand: Stripe's command line, GitHub
WEBHOOK_RECORDS_KEPT_SECONDS = 35 * DAY
"""As `idem.Retention.WEBHOOK`: longer than any resend."""


class Front(Enum):
    """What the provider calls. The value: the longest time-out that makes sense behind it, in seconds."""

    FUNCTION_URL = 30  # the most patient provider hangs up after 30 s (Stripe, Shopify and Slack sooner)
    HTTP_API = 29  # an HTTP API gives up after 30 s: the function must answer before


class WebhookReceiver(Construct):
    """A function behind a public address, and its signing secret, which only this function may read.

    The address asks for no AWS credentials: a provider has none. The signature is the authentication, and the handler
    checks it before anything else; without a valid one nothing is claimed.

    The secret starts with a generated value, so that a new deployment refuses strangers from its first second. The
    operator replaces it with the provider's (`aws secretsmanager put-secret-value`); deployments leave it alone as
    long as these props do not change. Its ARN is in the environment variable named by `secret_variable`.

    `enqueue_to`: the queue that events are put on, its URL in the variable named by `queue_url_variable`.
    `records_kept` is the retention of the policy behind it, None for ever; it is not asked of a receiver that
    enqueues. `resends` is for how long the provider can deliver an event again. `rate` and `path` are an HTTP API's.
    Raises LimitError for what no provider waits for, and for records that are forgotten too soon.
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
        front: Front = Front.FUNCTION_URL,
        path: str = "/",
        rate: Rate | None = None,
        enqueue_to: sqs.IQueue | None = None,
        queue_url_variable: str = "QUEUE_URL",
        records_kept: Duration | None = Duration.seconds(WEBHOOK_RECORDS_KEPT_SECONDS),  # noqa: B008 - a constant
        resends: Duration = Duration.seconds(RESEND_SECONDS),  # noqa: B008 - a constant
        **worker: Unpack[WorkerOptions],
    ) -> None:
        super().__init__(scope, construct_id)
        why = "providers hang up after that; put longer work behind a queue (enqueue_to)"
        require_between(self.node.path, "timeout_seconds", timeout_seconds, (1, front.value), why)
        if enqueue_to is None:
            self._check_life(records_kept, resends, timeout_seconds)
        self.secret = self._secret(worker.get("removal_policy", RemovalPolicy.RETAIN))
        variables = {**environment, secret_variable: self.secret.secret_arn}
        if enqueue_to is not None:
            variables[queue_url_variable] = enqueue_to.queue_url
        self.worker = WorkerFunction(
            self,
            "Worker",
            code=code,
            handler=handler,
            timeout_seconds=timeout_seconds,
            environment=variables,
            **worker,
        )
        self.function = self.worker.function
        self.alarms = (self.worker.throttle_alarm,)
        iam.Grant.add_to_principal(
            grantee=self.function,
            actions=["secretsmanager:GetSecretValue"],
            resource_arns=[self.secret.secret_arn],
        )
        if enqueue_to is not None:
            grant_send(self.function, enqueue_to)
        self.url = self._address(front, path, rate, worker)

    def _check_life(self, records_kept: Duration | None, resends: Duration, timeout_seconds: int) -> None:
        if records_kept is None:
            return
        kept, again = int(records_kept.to_seconds()), int(resends.to_seconds())
        if kept <= max(again, timeout_seconds):
            raise LimitError(
                self.node.path,
                "records_kept",
                f"is {kept} s, and the provider can deliver an event again for {again} s: the work would run twice;"
                " keep records longer, or say in `resends` for how long it really does",
            )

    def _secret(self, removal_policy: RemovalPolicy) -> secretsmanager.Secret:
        secret = secretsmanager.Secret(
            self,
            "Secret",
            description="Signing secret of the webhook provider. Replace the generated value with the provider's.",
            generate_secret_string=secretsmanager.SecretStringGenerator(
                password_length=SECRET_CHARACTERS, exclude_punctuation=True
            ),
            removal_policy=removal_policy,
        )
        acknowledge(
            secret,
            "AwsSolutions-SMG4",
            "The provider makes this secret and rolls it; the handler takes the old and the new one meanwhile.",
        )
        return secret

    def _address(self, front: Front, path: str, rate: Rate | None, worker: WorkerOptions) -> str:
        """Publish the function; what the provider is to be told."""
        if front is Front.FUNCTION_URL:
            if rate is not None or path != "/":
                prop = "path" if rate is None else "rate"
                raise LimitError(self.node.path, prop, "is for an HTTP API; a function URL has none")
            return self.function.add_function_url(auth_type=lambda_.FunctionUrlAuthType.NONE).url
        api = PublicApi(
            self,
            "Api",
            function=self.function,
            path=path,
            rate=rate or Rate(),
            log_retention=worker.get("log_retention", logs.RetentionDays.THREE_MONTHS),
            removal_policy=worker.get("removal_policy", RemovalPolicy.RETAIN),
        )
        return api.url
