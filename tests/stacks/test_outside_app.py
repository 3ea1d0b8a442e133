"""The app of another team: copied out of this repository, synthesised there by a program of its own, and looked at."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import aws_cdk as cdk
import pytest
from aws_cdk.assertions import Template

from tests.cdk import alone
from tests.cdk.linting import lint_errors
from tests.cdk.reading import as_list, resources, statements
from tests.stacks.conftest import ROOT
from tests.stacks.test_nag import findings

THEIRS = ROOT / "tests" / "stacks" / "outside_app"


@pytest.fixture(scope="session")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder their app was copied to, with its `cdk.out`."""
    folder = tmp_path_factory.mktemp("another-team") / "parcels-app"
    shutil.copytree(THEIRS, folder, ignore=shutil.ignore_patterns("__pycache__", "__init__.py"))
    (folder / "parcels" / "__init__.py").touch()
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "CDK_OUTDIR": str(folder / "cdk.out"),
        "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "1",
        "HOME": str(folder),
    }
    kept = {name: os.environ[name] for name in ("JSII_RUNTIME_PACKAGE_CACHE_ROOT",) if name in os.environ}
    run = subprocess.run(
        [sys.executable, "app.py"],
        cwd=folder,
        env=environment | kept,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert run.returncode == 0, run.stderr
    return folder


@pytest.fixture(scope="session")
def parcels(outside: Path) -> Template:
    return Template.from_json(json.loads((outside / "cdk.out" / "Parcels.template.json").read_text()))


def test_it_makes_no_table_and_uses_the_teams_own(parcels: Template) -> None:
    parcels.resource_count_is("AWS::DynamoDB::Table", 0)
    for function in resources(parcels, "AWS::Lambda::Function").values():
        variables = function["Environment"]["Variables"]
        assert (variables["IDEMPOTENCY_TABLE"], variables["IDEMPOTENCY_SORT_VALUE"]) == ("team-table", "IDEMPOTENCY")


def test_each_consumer_may_touch_its_own_records_and_the_receiver_none(parcels: Template) -> None:
    leading = {
        owner.split("Worker")[0]: statement["Condition"]["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]
        for owner, statement in statements(parcels)
        if "dynamodb:PutItem" in as_list(statement["Action"])
    }
    assert leading == {
        "Ship": ["IDEMPOTENCY#parcels.ship#*"],
        "Releases": ["IDEMPOTENCY#releases.announce#*"],
    }


def test_all_functions_share_one_asset_that_runs_by_itself(outside: Path, parcels: Template) -> None:
    folder = alone.asset_of(outside / "cdk.out", "Parcels")
    handlers = [each["Handler"] for each in resources(parcels, "AWS::Lambda::Function").values()]
    assert len(handlers) == 3
    report = alone.run(folder, handlers, {"IDEMPOTENCY_SORT_VALUE": "IDEMPOTENCY"})
    assert report["strangers"] == []
    assert set(report["answers"]) == set(handlers)


def test_its_alarms_have_somebody_to_wake(parcels: Template) -> None:
    topic = next(iter(resources(parcels, "AWS::SNS::Topic")))
    for alarm in resources(parcels, "AWS::CloudWatch::Alarm").values():
        if "Hooks" not in str(alarm["Dimensions"]):
            assert alarm["AlarmActions"] == [{"Ref": topic}]


def test_cloudformation_would_accept_it(outside: Path) -> None:
    assert lint_errors(outside / "cdk.out" / "Parcels.template.json") == []


def test_it_passes_both_packs_of_cdk_nag(outside: Path, tmp_path: Path) -> None:
    module = ModuleType("their_app")
    module.__dict__["__file__"] = str(outside / "app.py")
    code = compile((outside / "app.py").read_text(), "app.py", "exec", dont_inherit=True)
    exec(code, module.__dict__)  # noqa: S102 - our own file, at the place it was copied to
    app = cdk.App(outdir=str(tmp_path / "out"))
    module.build(app, tmp_path / "staging")
    assert findings(app) == []
