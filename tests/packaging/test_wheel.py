"""The wheel in fresh environments: what it puts there, what it imports, and what each extra opens."""

from __future__ import annotations

import json
from importlib.metadata import distributions
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

from tests.packaging.conftest import Environments
from tests.packaging.fresh import ROOT


def test_it_puts_idem_into_site_packages_and_nothing_else(environment: Environments) -> None:
    site = environment().site
    names = sorted(path.name for path in site.iterdir())
    assert names[0] == "idem"
    assert [name.partition("-")[0] for name in names[1:]] == ["idem_lambda"]
    assert names[1].endswith(".dist-info")
    for needed in ("py.typed", "__init__.pyi", "cdk/tables.py", "on_lambda/observer.py", "operators/cli.py"):
        assert (site / "idem" / needed).is_file()


def test_every_file_of_the_package_is_in_it(environment: Environments) -> None:
    installed = {path.relative_to(environment().site) for path in environment().site.glob("idem/**/*.py*")}
    here = {path.relative_to(ROOT) for path in ROOT.glob("idem/**/*.py*")}
    assert {path for path in installed if path.suffix != ".pyc"} == {path for path in here if path.suffix != ".pyc"}


# Every module that is loaded and comes neither from idem nor from Python itself.
STRANGERS = """
import sys, sysconfig
library = tuple({sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")})
known = set(sys.modules)
%s
strangers = [
    name for name in set(sys.modules) - known
    if (file := getattr(sys.modules[name], "__file__", None))
    and name.split(".")[0] != "idem" and (not file.startswith(library) or "site-packages" in file)
]
print(*sorted(strangers))
"""
DOOR = "import idem\nfor name in idem.__all__: getattr(idem, name)"


@pytest.mark.parametrize("code", ["import idem", DOOR], ids=["import", "every-name-of-the-door"])
def test_the_library_loads_the_standard_library_only_though_all_is_there(
    environment: Environments, tmp_path: Path, code: str
) -> None:
    everything = environment("cdk", "cli", "lambda")
    assert everything.python(STRANGERS % code, cwd=tmp_path).split() == []
    assert "boto3" in everything.python(STRANGERS % "import boto3", cwd=tmp_path).split()


THIRD_PARTY = {
    "aws_cdk",
    "constructs",
    "jsii",
    "aws_lambda_powertools",
    "boto3",
    "botocore",
    "typer",
    "rich",
    "pydantic",
}
STRANGE = {"moto", "pytest", "starlette", "stripe", "cdk_nag", "uv"}  # this repository's, and in no extra
BROUGHT = {
    (): set[str](),
    ("lambda",): {"aws_lambda_powertools", "boto3", "botocore"},
    ("cdk",): {"aws_cdk", "constructs", "jsii"},
    ("cli",): {"boto3", "botocore", "typer", "rich", "pydantic"},
    ("pydantic",): {"pydantic"},
}
WINGS = {"idem.on_lambda": "lambda", "idem.cdk": "cdk", "idem.operators.cli": "cli"}
IMPORTABLE = """
import importlib, json, sys
def there(name):
    try:
        importlib.import_module(name)
    except ModuleNotFoundError:
        return False
    return True
print(json.dumps({name: there(name) for name in sys.argv[1:]}))
"""


@pytest.mark.parametrize("extras", BROUGHT, ids=lambda extras: "-".join(extras) or "none")
def test_an_extra_opens_its_own_wing_and_makes_importable_what_it_names(
    environment: Environments, tmp_path: Path, extras: tuple[str, ...]
) -> None:
    names = sorted(THIRD_PARTY | STRANGE | {"stacks", "handlers", "sandbox", "tests"} | WINGS.keys() | {"idem"})
    done = environment(*extras).run("python", "-c", IMPORTABLE, *names, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    there = {name for name, found in json.loads(done.stdout.splitlines()[-1]).items() if found}
    wings = {wing for wing, extra in WINGS.items() if extra in extras}
    assert there == BROUGHT[extras] | wings | {"idem"}


BOTO3 = {"boto3", "botocore", "jmespath", "python-dateutil", "s3transfer", "six", "urllib3"}
PYDANTIC = {"annotated-types", "pydantic", "pydantic-core", "typing-extensions", "typing-inspection"}
JSII = {"attrs", "cattrs", "jsii", "publication", "python-dateutil", "six", "typeguard", "typing-extensions"}
DISTRIBUTIONS = {
    (): set[str](),
    ("lambda",): BOTO3 | {"aws-lambda-powertools", "typing-extensions"},
    ("cdk",): JSII
    | {"aws-cdk-asset-awscli-v1", "aws-cdk-asset-node-proxy-agent-v6", "aws-cdk-cloud-assembly-schema"}
    | {"aws-cdk-lib", "constructs"},
    ("cli",): BOTO3
    | PYDANTIC
    | {"annotated-doc", "markdown-it-py", "mdurl", "pygments", "rich", "shellingham", "typer"},
    ("pydantic",): PYDANTIC,
}


@pytest.mark.parametrize("extras", DISTRIBUTIONS, ids=lambda extras: "-".join(extras) or "none")
def test_an_extra_brings_these_distributions_and_no_more(environment: Environments, extras: tuple[str, ...]) -> None:
    brought = distributions(path=[str(environment(*extras).folder / "brought")])
    assert {canonicalize_name(one.name) for one in brought} == DISTRIBUTIONS[extras]


def test_without_the_extra_the_command_says_which_one_it_needs(environment: Environments, tmp_path: Path) -> None:
    done = environment().run("idem", cwd=tmp_path)
    assert done.returncode == 1
    assert "its extra `cli`" in done.stderr
    assert "idem-lambda[" not in done.stderr  # it is not published under this name


def test_with_the_extra_the_command_derives_a_key(environment: Environments, tmp_path: Path) -> None:
    (tmp_path / "parcel.json").write_text('{"parcelId": "7"}')
    arguments = ("key", "parcel.json", "--operation", "parcels.ship", "--field", "parcelId", "--json")
    done = environment("cli").run("idem", *arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert [found["key"] for found in json.loads(done.stdout)] == ["parcels.ship#7"]


CONSTRUCTS = """
import json, aws_cdk as cdk
from aws_cdk import aws_lambda as lambda_
from idem.cdk import IdempotencyTable, QueueConsumer
stack = cdk.Stack(cdk.App(), "Theirs")
table = IdempotencyTable(stack, "Memory")
code = lambda_.Code.from_inline("handler = print")
queue = QueueConsumer(
    stack, "Parcels", code=code, handler="index.handler", timeout_seconds=30, environment=table.variables()
)
table.grant_claims(queue.function, operations=["parcels.ship"])
resources = cdk.assertions.Template.from_stack(stack).to_json()["Resources"].values()
print(json.dumps(sorted({each["Type"] for each in resources})))
"""


def test_with_its_extra_alone_the_constructs_are_synthesised(environment: Environments, tmp_path: Path) -> None:
    kinds = json.loads(environment("cdk").python(CONSTRUCTS, cwd=tmp_path).splitlines()[-1])
    assert {"AWS::DynamoDB::Table", "AWS::SQS::Queue", "AWS::Lambda::EventSourceMapping"} <= set(kinds)
