"""The constructs as the README shows them, word for word, in a stack of their own."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from aws_cdk import aws_lambda as lambda_
from aws_cdk.assertions import Template

from tests.cdk.apps import theirs
from tests.cdk.conftest import ROOT
from tests.cdk.reading import function

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_sample_of_the_readme_is_synthesised(tmp_path: Path) -> None:
    (code,) = [block for block in README.split("```")[1::2] if "stage_packages(" in block]
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "__init__.py").touch()
    shutil.copy(ROOT / "requirements" / "lambda.txt", tmp_path)
    stack = theirs()
    names: dict[str, Any] = {"HERE": tmp_path, "self": stack, "lambda_": lambda_}
    exec(compile(code, "README.md", "exec"), names)  # noqa: S102 - our own README
    variables = function(Template.from_stack(stack), "orders")["Environment"]["Variables"]
    assert variables["POWERTOOLS_SERVICE_NAME"] == "shop"
    assert "IDEMPOTENCY_TABLE" in variables
    assert {path.name for path in names["asset"].path.iterdir()} >= {"shop", "idem", "boto3"}
