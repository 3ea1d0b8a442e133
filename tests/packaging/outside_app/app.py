"""A team's own CDK app on an installed idem: `cdk synth -a "python app.py"`.

Parcels are shipped from a FIFO queue. GitHub tells of releases by webhook: the receiver puts them on a queue at once,
because GitHub never delivers again by itself. Records live in the table that the team has already.

Its lock file, `lambda.txt`, pins what the functions are shipped with.
"""

from __future__ import annotations

from pathlib import Path

import aws_cdk as cdk
from aws_cdk import aws_lambda as lambda_
from stacks.parcel_stack import ParcelStack

from idem.cdk import Package, library, stage_packages

HERE = Path(__file__).resolve().parent


def build(app: cdk.App) -> ParcelStack:
    """The stack, with one asset for its three functions: the team's handlers, the library, and what is locked."""
    packages = [Package(root=HERE, name="handlers"), library()]
    asset = stage_packages(packages, lock=HERE / "lambda.txt", into=Path(app.outdir) / "staging")
    return ParcelStack(app, "Parcels", code=lambda_.Code.from_asset(str(asset.path), asset_hash=asset.digest))


if __name__ == "__main__":
    whole = cdk.App()
    build(whole)
    whole.synth()
