"""The CDK app: `cdk deploy -c stage=NAME`, by default the stage `dev`. See `Stage.named` for the names.

Further context: `-c payments=enqueue` to answer webhooks at once and work behind a queue; `-c front=http-api` for an
HTTP API instead of a function URL; `-c tracing=true` for X-Ray; `-c console=false` without dashboard and saved queries;
`-c recordsTable=NAME` to use a table that is there already instead of making one, with `-c recordsSortKey=true` if its
primary key is `pk` and `sk`.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import aws_cdk as cdk
from aws_cdk import aws_lambda as lambda_
from constructs import Node

from idem.cdk import Front, StackError
from stacks.asset import stage_asset
from stacks.idempotency_stack import IdempotencyStack
from stacks.stage import Stage, StageError, TableName

STAGING = Path(__file__).resolve().parent / "cdk.out" / "staging"
DEFAULT_STAGE = "dev"
FRONTS = {"function-url": Front.FUNCTION_URL, "http-api": Front.HTTP_API}

T = TypeVar("T")


def build(app: cdk.App, stage: Stage) -> IdempotencyStack:
    """Add the stack of one stage to `app`. Needs no credentials, no Docker and no network."""
    asset = stage_asset(STAGING, with_faults=stage.with_faults)
    # The digest is handed over so that CDK names the asset by content alone and reads the folder once.
    code = lambda_.Code.from_asset(str(asset.path), asset_hash=asset.digest)
    return IdempotencyStack(app, f"Idem-{stage.name}", stage=stage, code=code)


def stage_of(context: Node) -> Stage:
    """The stage that the context asks for. Raises StageError for an unknown name or a flag that is neither."""
    stage = Stage.named(str(context.try_get_context("stage") or DEFAULT_STAGE))
    table = context.try_get_context("recordsTable")
    if table:
        sort_key = _flag(context, "recordsSortKey", otherwise=False)
        stage = replace(stage, records=TableName(name=str(table), sort_key=sort_key))
    return replace(
        stage,
        enqueues=_choice(context, "payments", {"inline": False, "enqueue": True}, otherwise=stage.enqueues),
        front=_choice(context, "front", FRONTS, otherwise=stage.front),
        tracing=_flag(context, "tracing", otherwise=stage.tracing),
        with_console=_flag(context, "console", otherwise=stage.with_console),
    )


def _flag(context: Node, name: str, *, otherwise: bool) -> bool:
    """A context value that says yes or no; the command line gives it as text, cdk.json as a boolean."""
    return _choice(context, name, {"true": True, "false": False}, otherwise=otherwise)


def _choice(context: Node, name: str, choices: Mapping[str, T], *, otherwise: T) -> T:
    """What a context value stands for. Raises StageError that names the choices."""
    given = context.try_get_context(name)
    if given is None:
        return otherwise
    if str(given).lower() not in choices:
        raise StageError(f"-c {name}={given}: say {' or '.join(choices)}")
    return choices[str(given).lower()]


def main() -> None:
    """Synthesise the stage that the context asks for; a mistake in it is one line, not a traceback."""
    app = cdk.App()
    try:
        build(app, stage_of(app.node))
    except StackError as error:
        sys.exit(f"cannot build the stack: {error}")
    app.synth()


if __name__ == "__main__":
    main()
