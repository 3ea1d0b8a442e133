"""Where a command looks: the AWS credentials and region in force, and a table, by its name or found in a stack."""

from __future__ import annotations

import getpass
import os
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from idem.dynamo.store import DynamoStore
from idem.operators.operator_errors import Exit, OperatorError
from idem.operators.stack_resources import Resource, records_table, resources_of

AWS = Config(
    connect_timeout=5,
    read_timeout=30,  # a page of a scan takes a while, and on a local engine a function's start
    retries={"mode": "standard", "total_max_attempts": 3},
    user_agent_extra="idem-cli",
)


@dataclass(frozen=True)
class Connection:
    """The account, and what in it is meant. Clients are made, and AWS is asked, when that is first needed."""

    table_name: str | None = None
    stack: str | None = None
    sort_value: str | None = None
    profile: str | None = None
    region: str | None = None
    endpoint_url: str | None = None

    @cached_property
    def session(self) -> Any:
        # boto3 reads AWS_DEFAULT_REGION alone; AWS_REGION is what Lambda, the CDK and every other SDK use.
        return boto3.Session(profile_name=self.profile, region_name=self.region or os.environ.get("AWS_REGION"))

    def client(self, service: str) -> Any:
        """A new client, through the normal chain of credentials."""
        return self.session.client(service, endpoint_url=self.endpoint_url, config=AWS)

    @cached_property
    def dynamodb(self) -> Any:
        return self.client("dynamodb")

    @cached_property
    def resources(self) -> list[Resource]:
        """What the stack is made of; nothing without a stack."""
        return resources_of(self.client("cloudformation"), self.stack) if self.stack else []

    @cached_property
    def table(self) -> str:
        """The table's name, as given or found among the stack's tables. Raises OperatorError."""
        if self.table_name:
            return self.table_name
        if not self.stack:
            raise OperatorError(
                "Which table?", "Pass --table, or --stack to find it among a stack's tables.", Exit.USAGE
            )
        return records_table(self.dynamodb, self.stack, self.resources, self.sort_value)

    def store(self, client: Any = None) -> DynamoStore:
        """The store on this table."""
        return DynamoStore(client or self.dynamodb, self.table, sort_value=self.sort_value)

    @property
    def address(self) -> str:
        """Where requests go, for people: the region, or the endpoint if it is not AWS's own."""
        endpoint = str(self.dynamodb.meta.endpoint_url)
        region = f"region {self.dynamodb.meta.region_name}"
        return region if is_aws(endpoint) else f"{region} at {endpoint}"

    @property
    def local_endpoint(self) -> str | None:
        """The engine's address if it is not AWS: the names of its deployed URLs exist nowhere, so posts go there."""
        endpoint = str(self.client("lambda").meta.endpoint_url)
        return None if is_aws(endpoint) else endpoint

    @property
    def known_table(self) -> str:
        """The table and where it is, as far as that is known without asking AWS."""
        name = self.table_name or self.__dict__.get("table")
        return f"{name} in {self.address}" if name else ""

    def who(self) -> str:
        """Who acts: the caller's identity in AWS, or else the user of this machine."""
        try:
            return str(self.client("sts").get_caller_identity()["Arn"])
        except (BotoCoreError, ClientError, KeyError):
            return getpass.getuser()


def is_aws(endpoint: str) -> bool:
    """Whether an endpoint is AWS's own."""
    host = urlsplit(endpoint).hostname or ""
    return bool(re.search(r"(^|\.)(amazonaws\.com(\.cn)?|api\.aws|amazonwebservices\.com\.cn)$", host))
