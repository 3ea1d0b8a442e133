"""One synthesis for the whole session: every stage in one app, with the flags of cdk.json."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

# jsii greets older Node versions on stderr; set before the first import of aws_cdk.
os.environ.setdefault("JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION", "1")

import aws_cdk as cdk
from aws_cdk.assertions import Template

from app import build
from stacks.stage import Stage

ROOT = Path(__file__).resolve().parents[2]
STAGES = ("sandbox", "dev", "prod")

MEASURED: dict[str, str] = {}
"""What the tests measured, printed at the end of the session."""


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for line in MEASURED.values():
        terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def assembly(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that `cdk deploy` would read, for all stages."""
    outdir = tmp_path_factory.mktemp("cdk-out")
    app = cdk.App(outdir=str(outdir), context=json.loads((ROOT / "cdk.json").read_text())["context"])
    for name in STAGES:
        build(app, Stage.named(name))
    app.synth()
    return outdir


@pytest.fixture(scope="session")
def templates(assembly: Path) -> Mapping[str, Template]:
    """Stage name -> its template."""
    return {
        name: Template.from_json(json.loads((assembly / f"Idem-{name}.template.json").read_text())) for name in STAGES
    }


@pytest.fixture(params=STAGES)
def template(request: pytest.FixtureRequest, templates: Mapping[str, Template]) -> Template:
    """The template of each stage in turn."""
    return templates[request.param]
