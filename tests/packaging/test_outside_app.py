"""The app of another team, with `stacks` and `handlers` of its own, on the installed wheel."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import aws_cdk as cdk
import pytest
from aws_cdk import aws_lambda as lambda_
from aws_cdk.assertions import Template

from tests.cdk import alone
from tests.cdk.linting import findings, lint_errors
from tests.cdk.reading import as_list, resources, statements
from tests.packaging.conftest import Environments


@pytest.fixture(scope="session")
def assembly(environment: Environments, outside: Path) -> Path:
    """Their `cdk.out`, as a program of their own wrote it."""
    out = outside / "cdk.out"
    run = environment("cdk", "cli", "lambda").run("python", "app.py", cwd=outside, more={"CDK_OUTDIR": str(out)})
    assert run.returncode == 0, run.stderr
    return out


@pytest.fixture(scope="session")
def parcels(assembly: Path) -> Template:
    return Template.from_json(json.loads((assembly / "Parcels.template.json").read_text()))


def test_it_makes_no_table_and_uses_the_teams_own(parcels: Template) -> None:
    parcels.resource_count_is("AWS::DynamoDB::Table", 0)
    functions = resources(parcels, "AWS::Lambda::Function").values()
    assert len(functions) == 3
    for function in functions:
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


def test_all_functions_share_one_asset_that_runs_by_itself(assembly: Path, parcels: Template) -> None:
    folder = alone.asset_of(assembly, "Parcels")
    handlers = [each["Handler"] for each in resources(parcels, "AWS::Lambda::Function").values()]
    assert len(handlers) == 3
    report = alone.run(folder, handlers, {"IDEMPOTENCY_SORT_VALUE": "IDEMPOTENCY"})
    assert report["strangers"] == []
    assert set(report["answers"]) == set(handlers)


def test_the_asset_holds_their_handlers_and_of_the_library_what_runs(assembly: Path) -> None:
    folder = alone.asset_of(assembly, "Parcels")
    assert {path.name for path in (folder / "handlers").iterdir()} == {
        "__init__.py",
        "parcels.py",
        "releases.py",
        "settings.py",
    }
    assert not (folder / "stacks").exists()
    shipped = {path.name for path in (folder / "idem").iterdir()}
    assert {"__init__.py", "__init__.pyi", "dynamo", "on_lambda", "webhooks"} <= shipped
    assert shipped.isdisjoint({"cdk", "operators", "testing.py", "__main__.py"})


def test_its_alarms_have_somebody_to_wake(parcels: Template) -> None:
    topic = next(iter(resources(parcels, "AWS::SNS::Topic")))
    alarms = resources(parcels, "AWS::CloudWatch::Alarm").values()
    woken = [alarm for alarm in alarms if "Hooks" not in str(alarm["Dimensions"])]
    assert len(woken) == 2 * (3 + 3)  # of each consumer: its three, and the three endings in doubt
    assert {str(alarm["AlarmActions"]) for alarm in woken} == {str([{"Ref": topic}])}


def test_cloudformation_would_accept_it(assembly: Path) -> None:
    assert lint_errors(assembly / "Parcels.template.json") == []


def test_it_passes_both_packs_of_cdk_nag(assembly: Path, outside: Path, tmp_path: Path) -> None:
    """In this process: cdk-nag is in no extra, and a `stacks` is imported here already."""
    spec = spec_from_file_location("parcel_stack", outside / "stacks" / "parcel_stack.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    app = cdk.App(outdir=str(tmp_path / "out"))
    code = lambda_.Code.from_asset(str(alone.asset_of(assembly, "Parcels")), asset_hash="theirs")
    module.ParcelStack(app, "Parcels", code=code)
    assert findings(app) == []


# In a store in memory, with everything else as it is: the same parcel twice.
DELIVER = """
import json
from dataclasses import replace
from handlers import parcels
from idem import MemoryStore
from idem.on_lambda import lambda_handler
from idem.testing import ManualClock, sqs_event
clock = ManualClock()
store = MemoryStore(clock)
handler = lambda_handler(lambda: replace(parcels.build(), store=store, clock=clock))
for _ in range(2):
    print(json.dumps({"answer": handler(sqs_event({"parcelId": "7"}), None)}))
"""
ENVIRONMENT = {
    "AWS_DEFAULT_REGION": "eu-central-1",
    "POWERTOOLS_SERVICE_NAME": "parcels",
    "IDEMPOTENCY_TABLE": "team-table",
    "QUEUE_URL": "https://sqs.eu-central-1.amazonaws.com/111111111111/parcels",
}


def test_its_consumer_works_once_and_the_observer_says_so(environment: Environments, outside: Path) -> None:
    printed = environment("lambda").python(DELIVER, cwd=outside, more=ENVIRONMENT).splitlines()
    lines = [json.loads(line) for line in printed]
    assert [line["answer"] for line in lines if "answer" in line] == [{"batchItemFailures": []}] * 2
    assert [line["outcome"] for line in lines if line.get("message") == "delivery"] == ["FirstRuns", "Replays"]
    counted = [line for line in lines if "_aws" in line]
    assert [(line.get("FirstRuns"), line.get("Replays")) for line in counted] == [([1.0], None), (None, [1.0])]
    assert {(line["service"], line["operation"]) for line in counted} == {("parcels", "parcels.ship")}


def test_the_command_reads_the_key_rule_of_its_consumer(environment: Environments, outside: Path) -> None:
    (outside / "parcel.json").write_text('{"parcelId": "7"}')
    arguments = ("key", "parcel.json", "--consumer", "handlers.parcels", "--json")
    done = environment("cdk", "cli", "lambda").run("idem", *arguments, cwd=outside, more=ENVIRONMENT)
    assert done.returncode == 0, done.stderr
    assert [found["key"] for found in json.loads(done.stdout)] == ["parcels.ship#7"]


def test_a_strict_type_checker_finds_everything_typed_in_its_handlers(environment: Environments, outside: Path) -> None:
    interpreter = environment("lambda").folder / "bin" / "python"
    arguments = ["--strict", "--no-incremental", "--python-executable", str(interpreter), "handlers"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *arguments], cwd=outside, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
