"""Constructs in somebody else's stack, with the props that every one needs."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_lambda as lambda_

from idem.cdk import QueueConsumer, WebhookReceiver


def theirs() -> cdk.Stack:
    """An empty stack of another app, in a Region that is known."""
    return cdk.Stack(cdk.App(), "Theirs", env=cdk.Environment(account="111111111111", region="eu-central-1"))


def consumer(stack: cdk.Stack, construct_id: str = "Parcels", **props: Any) -> QueueConsumer:
    required: dict[str, Any] = {
        "code": lambda_.Code.from_inline("handler = print"),
        "handler": "index.handler",
        "timeout_seconds": 30,
        "environment": {"COLOUR": "blue"},
    }
    return QueueConsumer(stack, construct_id, **(required | props))


def receiver(stack: cdk.Stack, **props: Any) -> WebhookReceiver:
    required: dict[str, Any] = {
        "code": lambda_.Code.from_inline("handler = print"),
        "handler": "index.handler",
        "timeout_seconds": 10,
        "environment": {"COLOUR": "blue"},
    }
    return WebhookReceiver(stack, "Refunds", **(required | props))
