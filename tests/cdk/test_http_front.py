"""An HTTP API in front of a webhook receiver."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk.assertions import Template

from idem.cdk import Front, LimitError, Rate
from tests.cdk.apps import receiver, theirs
from tests.cdk.reading import resources


@pytest.fixture
def stack() -> cdk.Stack:
    return theirs()


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"rate": Rate()}, "rate"),
    ({"path": "/hooks"}, "path"),
    ({"front": Front.HTTP_API, "path": "hooks"}, "path"),
    ({"front": Front.HTTP_API, "rate": Rate(per_second=0)}, "rate"),
    ({"front": Front.HTTP_API, "rate": Rate(per_second=9, burst=8)}, "rate"),
]


@pytest.mark.parametrize(("props", "refused"), REFUSED)
def test_props_that_cannot_work_are_refused_by_name(props: dict[str, Any], refused: str) -> None:
    with pytest.raises(LimitError) as caught:
        receiver(theirs(), **props)
    assert caught.value.prop == refused
    assert str(caught.value).startswith("Theirs/")


def test_an_http_api_posts_one_path_to_the_function_at_a_bounded_rate_and_logs_no_header(stack: cdk.Stack) -> None:
    made = receiver(stack, front=Front.HTTP_API, path="/hooks/stripe", rate=Rate(per_second=5, burst=6))
    template = Template.from_stack(stack)
    template.has_resource_properties("AWS::ApiGatewayV2::Route", {"RouteKey": "POST /hooks/stripe"})
    template.has_resource_properties("AWS::ApiGatewayV2::Integration", {"PayloadFormatVersion": "2.0"})
    stage = next(iter(resources(template, "AWS::ApiGatewayV2::Stage").values()))
    assert stage["DefaultRouteSettings"] == {"ThrottlingBurstLimit": 6, "ThrottlingRateLimit": 5}
    assert "header" not in stage["AccessLogSettings"]["Format"].lower()
    assert made.url.endswith("/hooks/stripe")
    assert not template.find_resources("AWS::Lambda::Url")
