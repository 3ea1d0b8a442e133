"""The Lambda asset of this repository: the library, `handlers/`, and what `requirements/lambda.txt` pins."""

from __future__ import annotations

from pathlib import Path

from idem.cdk import Package, StagedAsset, library, stage_packages

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "requirements" / "lambda.txt"


def stage_asset(into: Path, *, with_faults: bool = False) -> StagedAsset:
    """Stage it below `into`; `with_faults` adds `sandbox.faults`, the handlers that can be told to die."""
    packages = [library(), Package(root=ROOT, name="handlers")]
    if with_faults:
        packages.append(Package(root=ROOT, name="sandbox", only=frozenset({"__init__", "faults"})))
    return stage_packages(packages, lock=LOCK, into=into)
