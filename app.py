"""The CDK app: `cdk deploy -c stage=NAME`, by default the stage `dev`. See `Stage.named` for the names."""

from __future__ import annotations

import sys
from pathlib import Path

import aws_cdk as cdk
from aws_cdk import aws_lambda as lambda_

from stacks import IdempotencyStack, StackError, Stage, stage_asset

ROOT = Path(__file__).resolve().parent
DEFAULT_STAGE = "dev"


def build(app: cdk.App, stage: Stage) -> IdempotencyStack:
    """Add the stack of one stage to `app`. Needs no credentials, no Docker and no network."""
    asset = stage_asset(
        root=ROOT,
        lock=ROOT / "requirements" / "lambda.txt",
        into=ROOT / "cdk.out" / "staging",
        with_faults=stage.with_faults,
    )
    # The digest is handed over so that CDK names the asset by content alone and reads the folder once.
    code = lambda_.Code.from_asset(str(asset.path), asset_hash=asset.digest)
    return IdempotencyStack(app, f"Idem-{stage.name}", stage=stage, code=code)


def main() -> None:
    """Synthesise the stage that the context asks for; a mistake in it is one line, not a traceback."""
    app = cdk.App()
    try:
        build(app, Stage.named(str(app.node.try_get_context("stage") or DEFAULT_STAGE)))
    except StackError as error:
        sys.exit(f"cannot build the stack: {error}")
    app.synth()


if __name__ == "__main__":
    main()
