"""The doctor's look at functions: their event source mappings, the queues behind these, and their roles' permissions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from idem.operators.connection import Connection
from idem.operators.doctor import Finding, Grade, fault, ok, unknown, warning
from idem.operators.stack_resources import functions_of

TIMEOUTS_PER_VISIBILITY = 6  # AWS's rule for a queue that Lambda reads
RECEIVES_MIN = 5  # AWS's advice: throttling and waiting for a lease burn receives too
PARTIAL = "ReportBatchItemFailures"
STREAMS = ("kinesis", "dynamodb")

TABLE_ACTIONS = (
    "dynamodb:PutItem",
    "dynamodb:UpdateItem",
    "dynamodb:DeleteItem",
    "dynamodb:GetItem",
    "dynamodb:BatchGetItem",
    "dynamodb:PartiQLInsert",
    "dynamodb:PartiQLUpdate",
    "dynamodb:PartiQLDelete",
)
"""What the store calls, over all of its verbs."""

QUEUE_ACTIONS = (
    "sqs:ReceiveMessage",
    "sqs:DeleteMessage",
    "sqs:GetQueueAttributes",
    "sqs:ChangeMessageVisibility",
)


@dataclass(frozen=True, slots=True)
class Functions:
    """Which functions are looked at, by the name they are shown under, and which of the stack's are not."""

    looked_at: Mapping[str, str]
    left_out: Sequence[str]


def choose(connection: Connection, given: Sequence[str]) -> Functions:
    """Those that were given, and those of the stack that know the table's name."""
    others = {shown: name for shown, name in functions_of(connection.resources).items() if name not in given}
    knowing = {shown: name for shown, name in others.items() if _knows_table(connection, name)}
    left_out = [shown for shown in others if shown not in knowing]
    return Functions({name: name for name in given} | knowing, left_out)


def _knows_table(connection: Connection, name: str) -> bool:
    """Whether a function's environment names the table. Others of a stack, such as the CDK's own, have no use for it."""
    settings = connection.client("lambda").get_function_configuration(FunctionName=name)
    return connection.table in settings.get("Environment", {}).get("Variables", {}).values()


def function_findings(connection: Connection, shown: str, name: str) -> Iterator[Finding]:
    """One function: what it is wired to, and what its role may do."""
    client = connection.client("lambda")
    try:
        settings = client.get_function_configuration(FunctionName=name)
        pages = client.get_paginator("list_event_source_mappings").paginate(FunctionName=name)
        mappings = [mapping for page in pages for mapping in page["EventSourceMappings"]]
    except ClientError as error:
        yield unknown(f"{shown}: function", error)
        return
    sources = f"{len(mappings)} event source mapping{'' if len(mappings) == 1 else 's'}"
    yield ok(f"{shown}: function", f"{name}: a time-out of {settings.get('Timeout')} s, {sources}")
    queues: list[str] = []
    for mapping in mappings:
        source = str(mapping.get("EventSourceArn", ""))
        service = source.split(":")[2] if source.count(":") > 2 else ""
        yield from _mapping(f"{shown}: mapping", mapping, service)
        if service == "sqs":
            queues.append(source)
            yield from _queue(connection, f"{shown}: queue", source, int(settings.get("Timeout", 0)), mapping)
    yield from _permissions(connection, f"{shown}: permissions", str(settings.get("Role", "")), queues)


def _mapping(about: str, mapping: Mapping[str, Any], service: str) -> Iterator[Finding]:
    if mapping.get("State") not in {"Enabled", "Enabling", "Creating", "Updating"}:
        yield warning(about, f"the mapping is {mapping.get('State')}", "Nothing is delivered until it is enabled.")
    if PARTIAL in (mapping.get("FunctionResponseTypes") or ()):
        yield ok(about, f"the mapping has {PARTIAL}")
    elif service == "sqs":
        yield fault(
            about,
            f"the mapping has no {PARTIAL}: Lambda ignores the answer and deletes the whole batch, failures included",
            "Switch it on (report_batch_item_failures=True).",
        )
    elif service in STREAMS:
        yield warning(about, f"the mapping has no {PARTIAL}", "A failure repeats the whole batch: switch it on.")


def _queue(
    connection: Connection, about: str, arn: str, timeout_s: int, mapping: Mapping[str, Any]
) -> Iterator[Finding]:
    client = connection.client("sqs")
    try:
        url = client.get_queue_url(QueueName=arn.rpartition(":")[2])["QueueUrl"]
        attributes = client.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    except ClientError as error:
        yield unknown(about, error)
        return
    visibility, window = (
        int(attributes.get("VisibilityTimeout", 0)),
        int(mapping.get("MaximumBatchingWindowInSeconds") or 0),
    )
    needed = TIMEOUTS_PER_VISIBILITY * timeout_s + window
    if visibility >= needed:
        yield ok(about, f"visibility {visibility} s, at least 6 x time-out + batch window ({needed} s)")
    else:
        yield fault(
            about,
            f"visibility {visibility} s is less than 6 x the time-out of {timeout_s} s + the window of {window} s",
            f"Set it to {needed} s: with less, messages come again while their first delivery still runs.",
        )
    yield _redrive(about, attributes)


def _redrive(about: str, attributes: Mapping[str, str]) -> Finding:
    try:
        policy = json.loads(attributes.get("RedrivePolicy") or "{}")
        receives = int(policy.get("maxReceiveCount", 0))
    except (ValueError, AttributeError):
        receives = 0
    if not receives:
        return fault(about, "no dead-letter queue: a poison message comes again for days", "Give it a redrive policy.")
    if receives < RECEIVES_MIN:
        return warning(
            about, f"{receives} receives before the dead-letter queue", "Use 5 or more: throttling burns receives too."
        )
    return ok(about, f"{receives} receives before the dead-letter queue")


def _permissions(connection: Connection, about: str, role: str, queues: list[str]) -> Iterator[Finding]:
    """What IAM's simulator says of the function's role."""
    if connection.local_endpoint:
        yield Finding(Grade.UNKNOWN, about, "a local engine does not enforce policies: see the tests of the template")
        return
    try:
        table = connection.dynamodb.describe_table(TableName=connection.table)["Table"]["TableArn"]
        for resource, actions in [(str(table), TABLE_ACTIONS), *((queue, QUEUE_ACTIONS) for queue in queues)]:
            answer = connection.client("iam").simulate_principal_policy(
                PolicySourceArn=role, ActionNames=list(actions), ResourceArns=[resource]
            )
            denied = [one["EvalActionName"] for one in answer["EvaluationResults"] if one["EvalDecision"] != "allowed"]
            yield _allowed(about, resource.rpartition(":")[2], denied)
    except ClientError as error:
        yield unknown(about, error)


def _allowed(about: str, resource: str, denied: list[str]) -> Finding:
    if not denied:
        return ok(about, f"its role may do all that is needed on {resource}")
    return fault(
        about,
        f"its role may not {', '.join(denied)} on {resource}",
        "Allow them: grant_claims() of the construct does.",
    )
