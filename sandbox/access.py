"""How programs reach a local account that runs: clients, posts to deployed addresses, the environment of children."""

from __future__ import annotations

import http.client
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, overload
from urllib.parse import urlsplit

from botocore.config import Config

from sandbox.isolation import HOST, blind_session, child_environment

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_lambda import LambdaClient
    from mypy_boto3_logs import CloudWatchLogsClient
    from mypy_boto3_secretsmanager import SecretsManagerClient
    from mypy_boto3_sqs import SQSClient

CONNECT_SECONDS = 2
READ_SECONDS = 15
"""The engine is on this machine, but a call that starts a Lambda worker waits for the worker."""

POST_SECONDS = 60.0
"""A function's time-out is shorter than this, so the function's own time-out is seen and not this one."""


@dataclass(frozen=True, slots=True)
class Response:
    """An HTTP answer. Header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Access:
    """The way to the engine that listens on `port` of this machine."""

    def __init__(self, port: int) -> None:
        self.port = port

    @property
    def endpoint(self) -> str:
        """The address that answers for every service, without a slash at the end."""
        return f"http://{HOST}:{self.port}"

    def environment(self) -> dict[str, str]:
        """Return the environment for programs that work on this account and can reach no other.

        Everything of the caller's AWS set-up is left out: profiles, sessions, endpoints, files.
        """
        return child_environment(self.endpoint)

    @overload
    def client(self, service: Literal["cloudformation"]) -> CloudFormationClient: ...
    @overload
    def client(self, service: Literal["dynamodb"]) -> DynamoDBClient: ...
    @overload
    def client(self, service: Literal["lambda"]) -> LambdaClient: ...
    @overload
    def client(self, service: Literal["logs"]) -> CloudWatchLogsClient: ...
    @overload
    def client(self, service: Literal["secretsmanager"]) -> SecretsManagerClient: ...
    @overload
    def client(self, service: Literal["sqs"]) -> SQSClient: ...
    def client(self, service: str) -> Any:
        """Return a new boto3 client of this account, blind to the caller's AWS set-up."""
        # A table of proxies without an entry for http: a proxy of the caller's cannot see this machine's loopback.
        config = Config(
            connect_timeout=CONNECT_SECONDS,
            read_timeout=READ_SECONDS,
            retries={"mode": "standard", "total_max_attempts": 2},
            proxies={"https": ""},
        )
        create: Any = blind_session().client
        return create(service, endpoint_url=self.endpoint, config=config)

    def post(
        self, url: str, body: bytes, headers: Mapping[str, str], *, timeout_seconds: float = POST_SECONDS
    ) -> Response:
        """Post `body` to a deployed `url`. Raises `OSError` when the engine does not answer in time.

        The name in the address exists nowhere: the request goes to the engine and carries the name as its `Host`.
        """
        parts = urlsplit(url)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        return self._request(
            "POST", target, body=body, headers={**headers, "Host": parts.netloc}, timeout_seconds=timeout_seconds
        )

    def answers(self) -> bool:
        """Does an engine answer there?"""
        try:
            return self._request("GET", "/_ministack/health", timeout_seconds=CONNECT_SECONDS).status == http.client.OK
        except OSError:
            return False

    def _request(
        self,
        method: str,
        target: str,
        *,
        timeout_seconds: float,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        connection = http.client.HTTPConnection(HOST, self.port, timeout=timeout_seconds)
        try:
            connection.request(method, target, body=body, headers=dict(headers or {}))
            answer = connection.getresponse()
            names = {name.lower(): value for name, value in answer.getheaders()}
            return Response(status=answer.status, headers=names, body=answer.read())
        finally:
            connection.close()
