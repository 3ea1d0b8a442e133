"""The asset that would be deployed, taken from the synthesised assembly and run by itself."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from stacks.packaging import pins
from tests.stacks.conftest import ROOT, STAGES
from tests.stacks.reading import resources

if TYPE_CHECKING:
    from aws_cdk.assertions import Template

# Run with -I -S: no environment, no site-packages; the asset is all there is besides the standard library.
ALONE = """
import importlib, json, sys
asset, *handlers = sys.argv[1:]
sys.path.insert(0, asset)
for handler in handlers:
    module, name = handler.rsplit(".", 1)
    assert callable(getattr(importlib.import_module(module), name)), handler
import boto3
for service in ("dynamodb", "sqs", "secretsmanager"):
    boto3.client(service, region_name="eu-central-1", aws_access_key_id="x", aws_secret_access_key="x")
strangers = sorted({
    name for name, module in sys.modules.items()
    if (file := getattr(module, "__file__", None)) and not file.startswith((asset, sys.base_prefix))
})
print(json.dumps(strangers))
"""


def asset_of(assembly: Path, stage: str) -> Path:
    """The one staged folder that both functions of a stage use."""
    files = json.loads((assembly / f"Idem-{stage}.assets.json").read_text())["files"]
    folders = [str(each["source"]["path"]) for each in files.values() if each["source"]["packaging"] == "zip"]
    assert len(folders) == 1
    return assembly / folders[0]


def paths(asset: Path) -> set[str]:
    return {path.relative_to(asset).as_posix() for path in asset.rglob("*") if path.is_file()}


@pytest.mark.parametrize("stage", STAGES)
def test_the_handlers_import_from_the_asset_alone(
    assembly: Path, templates: Mapping[str, Template], stage: str
) -> None:
    handlers = [each["Handler"] for each in resources(templates[stage], "AWS::Lambda::Function").values()]
    run = subprocess.run(
        [sys.executable, "-I", "-S", "-B", "-c", ALONE, str(asset_of(assembly, stage)), *handlers],
        capture_output=True,
        text=True,
        check=False,
        env={},
        timeout=60,
    )
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout) == []


@pytest.mark.parametrize("stage", STAGES)
def test_the_handler_names_are_real(templates: Mapping[str, Template], stage: str) -> None:
    for each in resources(templates[stage], "AWS::Lambda::Function").values():
        module, name = each["Handler"].rsplit(".", 1)
        assert callable(getattr(importlib.import_module(module), name))


@pytest.mark.parametrize("stage", ["dev", "prod"])
def test_nothing_of_the_workshop_is_deployed(assembly: Path, stage: str) -> None:
    shipped = paths(asset_of(assembly, stage))
    tops = {path.split("/")[0] for path in shipped}
    assert not tops & {"tests", "stacks", "sandbox", "benchmarks", "events", "aws_cdk", "moto", "pytest"}
    assert not shipped & {"idem/cli.py", "idem/__main__.py", "idem/testing.py"}
    assert not [path for path in shipped if path.endswith((".pyc", ".so", "RECORD", "direct_url.json", "INSTALLER"))]


def test_dev_and_prod_run_the_same_bytes(assembly: Path) -> None:
    assert asset_of(assembly, "dev") == asset_of(assembly, "prod")


def test_the_sandbox_adds_the_faults_and_changes_nothing_else(assembly: Path) -> None:
    extra = paths(asset_of(assembly, "sandbox")) - paths(asset_of(assembly, "prod"))
    assert extra == {"sandbox/__init__.py", "sandbox/faults.py"}


def test_every_pinned_distribution_is_in_the_asset_with_its_licence(assembly: Path) -> None:
    shipped = paths(asset_of(assembly, "prod"))
    for name, version in pins(ROOT / "requirements/lambda.txt").items():
        info = f"{name.replace('-', '_')}-{version}.dist-info"
        assert f"{info}/METADATA" in shipped
        assert [path for path in shipped if path.startswith(f"{info}/") and "LICENSE" in path.upper()], name


def test_the_asset_stays_small(assembly: Path) -> None:
    """Lambda's limit is 250 MB; ours is what still loads quickly. botocore untrimmed would be 30 MB alone."""
    asset = asset_of(assembly, "prod")
    assert sum(path.stat().st_size for path in asset.rglob("*") if path.is_file()) < 12 * 2**20
