"""One function: what its owner says of it, and what it may do."""

from __future__ import annotations

import aws_cdk as cdk
import pytest
from aws_cdk import aws_lambda as lambda_
from aws_cdk.assertions import Match, Template

from tests.cdk.apps import consumer, theirs
from tests.cdk.reading import as_list, granted


@pytest.fixture
def stack() -> cdk.Stack:
    return theirs()


def test_what_the_owner_says_of_the_function_is_kept(stack: cdk.Stack) -> None:
    consumer(
        stack,
        memory_mb=1024,
        architecture=lambda_.Architecture.X86_64,
        runtime=lambda_.Runtime.PYTHON_3_13,
        concurrency_max=7,
        reserved_concurrency=9,
        queue_url_variable="PARCELS",
    )
    template = Template.from_stack(stack)
    template.has_resource_properties(
        "AWS::Lambda::Function",
        {
            "MemorySize": 1024,
            "Architectures": ["x86_64"],
            "Runtime": "python3.13",
            "ReservedConcurrentExecutions": 9,
            "Environment": {"Variables": {"COLOUR": "blue", "PARCELS": Match.any_value()}},
        },
    )
    template.has_resource_properties("AWS::Lambda::EventSourceMapping", {"ScalingConfig": {"MaximumConcurrency": 7}})


def test_tracing_is_on_when_asked_for_and_its_permission_is_not_there_otherwise(stack: cdk.Stack) -> None:
    consumer(stack, "Traced", tracing=True)
    consumer(stack, "Untraced")
    template = Template.from_stack(stack)
    traced = [each for each in granted(template, "Traced") if "xray:PutTraceSegments" in as_list(each["Action"])]
    assert len(traced) == 1
    assert not [each for each in granted(template, "Untraced") if "xray" in str(each["Action"])]
    template.has_resource_properties("AWS::Lambda::Function", {"TracingConfig": {"Mode": "Active"}})
