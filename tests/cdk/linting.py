"""What others would find wrong: cfn-lint in one template, cdk-nag's packs in one app."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import aws_cdk as cdk
from aws_cdk import Validations
from cdk_nag import AwsSolutionsChecks, ServerlessChecks
from cfnlint.api import lint  # type: ignore[import-untyped]  # it ships no types
from cfnlint.config import ManualArgs  # type: ignore[import-untyped]

# W3005: CDK makes a function depend on its role by name, though the reference says so already; harmless.
IGNORED = ["W3005"]


def lint_errors(template: Path) -> list[str]:
    """What CloudFormation would find wrong, rule and message."""
    config = ManualArgs(regions=["us-east-1", "eu-central-1"], ignore_checks=IGNORED)
    return [f"{match.rule.id} {match.message}" for match in lint(template.read_text(), config=config)]


def findings(app: cdk.App) -> list[str]:
    """What both packs have to say against an app: rule and place."""
    Validations.of(app).add_plugins(AwsSolutionsChecks(app), ServerlessChecks(app))
    try:
        app.synth()
    except RuntimeError as error:
        assert "ValidationFailed" in str(error)  # noqa: PT017 - with findings CDK raises; the report is read below
    report: dict[str, Any] = json.loads((Path(app.outdir) / "validation-report.json").read_text())
    return sorted(
        f"{violation['ruleName']} {construct['constructPath']}"
        for plugin in report["pluginReports"]
        for violation in plugin["violations"]
        for construct in violation["violatingConstructs"]
    )
