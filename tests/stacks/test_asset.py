"""The asset that would be deployed, taken from the synthesised assembly and run by itself."""

from __future__ import annotations

import importlib
import io
import zipfile
from collections.abc import Callable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from idem.cdk.packaging import pins
from tests.cdk import alone
from tests.cdk.reading import resources
from tests.stacks.conftest import MEASURED, ROOT, STAGES

if TYPE_CHECKING:
    from aws_cdk.assertions import Template


def asset_of(assembly: Path, stage: str) -> Path:
    return alone.asset_of(assembly, f"Idem-{stage}")


def paths(asset: Path) -> set[str]:
    return {path.relative_to(asset).as_posix() for path in asset.rglob("*") if path.is_file()}


@pytest.fixture(scope="session", params=STAGES)
def ran(request: pytest.FixtureRequest, assembly: Path, templates: Mapping[str, Template]) -> dict[str, Any]:
    """What came of running every handler that a stage's template names, from its asset alone."""
    stage = request.param
    handlers = [each["Handler"] for each in resources(templates[stage], "AWS::Lambda::Function").values()]
    return alone.run(asset_of(assembly, stage), handlers) | {"handlers": handlers, "stage": stage}


def test_every_handler_runs_from_the_asset_alone(ran: dict[str, Any]) -> None:
    assert ran["strangers"] == []
    assert set(ran["answers"]) == set(ran["handlers"])


def test_without_an_account_that_answers_nothing_is_acknowledged(ran: dict[str, Any]) -> None:
    answers = {
        handler.split(".")[-2 if handler.startswith("handlers") else -1]: a for handler, a in ran["answers"].items()
    }
    assert answers.keys() == {"orders", "payments"}
    assert answers["orders"] == {"batchItemFailures": [{"itemIdentifier": "m-1"}]}
    assert answers["payments"]["statusCode"] == 503


@pytest.mark.parametrize("stage", STAGES)
def test_the_handler_names_are_real(templates: Mapping[str, Template], stage: str) -> None:
    handlers = [
        each["Handler"].rsplit(".", 1) for each in resources(templates[stage], "AWS::Lambda::Function").values()
    ]
    assert len(handlers) == 2
    for module, name in handlers:
        assert callable(getattr(importlib.import_module(module), name))


@pytest.mark.parametrize("stage", ["dev", "prod"])
def test_nothing_of_the_workshop_is_deployed(assembly: Path, stage: str) -> None:
    shipped = paths(asset_of(assembly, stage))
    tops = {path.split("/")[0] for path in shipped}
    assert not tops & {"tests", "stacks", "sandbox", "benchmarks", "events", "aws_cdk", "moto", "pytest"}
    assert "idem/consumer.py" in shipped
    assert not [path for path in shipped if path.startswith(("idem/operators/", "idem/cdk/"))]
    assert not shipped & {"idem/__main__.py", "idem/testing.py"}
    assert not [path for path in shipped if path.endswith((".pyc", ".so", "RECORD", "direct_url.json", "INSTALLER"))]


def test_dev_and_prod_run_the_same_bytes(assembly: Path) -> None:
    assert asset_of(assembly, "dev") == asset_of(assembly, "prod")


def test_the_sandbox_adds_the_faults_and_changes_nothing_else(assembly: Path) -> None:
    extra = paths(asset_of(assembly, "sandbox")) - paths(asset_of(assembly, "prod"))
    assert extra == {"sandbox/__init__.py", "sandbox/faults.py"}


def test_every_pinned_distribution_is_in_the_asset_with_its_licence(assembly: Path) -> None:
    shipped = paths(asset_of(assembly, "prod"))
    pinned = pins(ROOT / "requirements/lambda.txt")
    assert {"boto3", "aws-lambda-powertools"} <= pinned.keys()
    for name, version in pinned.items():
        info = f"{name.replace('-', '_')}-{version}.dist-info"
        assert f"{info}/METADATA" in shipped
        assert [path for path in shipped if path.startswith(f"{info}/") and "LICENSE" in path.upper()], name


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def zipped(folder: Path) -> int:
    """Its size as an archive, which is what Lambda fetches at a cold start."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            archive.write(path, path.relative_to(folder))
    return len(made.getvalue())


def test_the_asset_stays_small_and_starts_quickly(
    assembly: Path, ran: dict[str, Any], record_testsuite_property: Callable[[str, object], None]
) -> None:
    """Lambda's limit is 250 MB; ours is what still loads quickly."""
    asset = asset_of(assembly, ran["stage"])
    spared = size(Path(str(files("botocore") / "data"))) - size(asset / "botocore" / "data")
    MEASURED[ran["stage"]] = (
        f"asset of {ran['stage']}: {size(asset) / 1e6:.1f} MB, {zipped(asset) / 1e6:.1f} MB zipped, imported in"
        f" {ran['imported']:.2f} s without bytecode; {spared / 1e6:.0f} MB of botocore's other services left out"
    )
    record_testsuite_property("asset", MEASURED[ran["stage"]])
    assert size(asset) < 12 * 2**20
    assert zipped(asset) < 4 * 2**20
    assert spared > 15 * 2**20
