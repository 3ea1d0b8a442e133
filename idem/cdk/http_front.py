"""A public HTTP API with one route, for a webhook receiver that wants a bounded rate or a domain name of its own."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import cast

from aws_cdk import RemovalPolicy
from aws_cdk import aws_apigatewayv2 as apigateway
from aws_cdk import aws_apigatewayv2_integrations as integrations
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from idem.cdk.acknowledged import acknowledge
from idem.cdk.errors import LimitError

LOGGED = ("requestId", "requestTime", "httpMethod", "path", "status", "responseLatency", "integrationErrorMessage")
"""What of a request is logged: never its body, and no header, where the signature is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """How many requests per second are let through, on average and at once. Beyond it the provider gets 429 and retries."""

    per_second: int = 100
    burst: int = 200


class PublicApi(Construct):
    """`POST path` goes to `function`, at most at `rate`, with one access log line each. `url` is the address."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        function: lambda_.IFunction,
        path: str,
        rate: Rate,
        log_retention: logs.RetentionDays,
        removal_policy: RemovalPolicy,
    ) -> None:
        super().__init__(scope, construct_id)
        if not path.startswith("/"):
            raise LimitError(self.node.path, "path", f"is {path!r}; it starts with a slash")
        if rate.per_second < 1 or rate.burst < rate.per_second:
            raise LimitError(self.node.path, "rate", "lets nothing through; per_second from 1, burst not below it")
        self.api = apigateway.HttpApi(self, "Api", create_default_stage=False)
        self.routes = self.api.add_routes(
            path=path,
            methods=[apigateway.HttpMethod.POST],
            integration=integrations.HttpLambdaIntegration("Integration", function),
        )
        for route in self.routes:
            acknowledge(
                route,
                "AwsSolutions-APIG4",
                "A provider has no AWS credentials: the signature over the body is the authentication, checked first.",
            )
        self.log_group = logs.LogGroup(self, "AccessLogs", retention=log_retention, removal_policy=removal_policy)
        stage = apigateway.HttpStage(
            self,
            "Stage",
            http_api=self.api,
            auto_deploy=True,
            throttle=apigateway.ThrottleSettings(rate_limit=rate.per_second, burst_limit=rate.burst),
        )
        # The level below: above it, access logs want an object that implements a TypeScript interface.
        resource = cast("apigateway.CfnStage", stage.node.default_child)
        resource.access_log_settings = apigateway.CfnStage.AccessLogSettingsProperty(
            destination_arn=self.log_group.log_group_arn,
            format=json.dumps({name: f"$context.{name}" for name in LOGGED}),
        )
        self.url = self.api.api_endpoint + path
