"""Rules of cdk-nag that do not fit, each acknowledged on the one construct it speaks of, with the reason.

The names are cdk-nag's; the acknowledgement is CDK's own (`Validations`), so an app that does not use cdk-nag needs
nothing more. A rule that reports several findings has its finding in the name: `AwsSolutions-IAM5[Resource::*]`.
"""

from __future__ import annotations

from aws_cdk import Acknowledgment, Validations
from constructs import IConstruct


def acknowledge(construct: IConstruct, rule: str, reason: str) -> None:
    """Accept what `rule` says of `construct`, and of nothing else."""
    Validations.of(construct).acknowledge(Acknowledgment(id=rule, reason=reason))
