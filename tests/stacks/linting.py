"""cfn-lint, over one template."""

from __future__ import annotations

from pathlib import Path

from cfnlint.api import lint  # type: ignore[import-untyped]  # it ships no types
from cfnlint.config import ManualArgs  # type: ignore[import-untyped]

# W3005: CDK makes a function depend on its role by name, though the reference says so already; harmless.
IGNORED = ["W3005"]


def lint_errors(template: Path) -> list[str]:
    """What CloudFormation would find wrong, rule and message."""
    config = ManualArgs(regions=["us-east-1", "eu-central-1"], ignore_checks=IGNORED)
    return [f"{match.rule.id} {match.message}" for match in lint(template.read_text(), config=config)]
