"""What people look at, against the names that the observer really writes."""

from __future__ import annotations

import ast
import re

import pytest

from idem.cdk.dashboard import ABSORBED, LINE, LOST, QUERIES, STUCK, TIMES
from tests.cdk.conftest import ROOT


def written(name: str) -> set[str]:
    """Every text in a file of the observer's wing."""
    tree = ast.parse((ROOT / f"idem/on_lambda/{name}.py").read_text())
    return {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}


TEXTS = written("observer") | written("metrics")


@pytest.mark.parametrize("name", [*ABSORBED, *STUCK, *LOST, *TIMES])
def test_every_metric_on_the_dashboard_is_one_that_the_observer_emits(name: str) -> None:
    assert name in TEXTS


@pytest.mark.parametrize("name", ["operation", *(field.split(".")[0] for field in LINE if not field.startswith("@"))])
def test_every_field_of_the_saved_queries_is_one_that_the_observer_logs(name: str) -> None:
    assert name in TEXTS


def test_every_outcome_that_a_saved_query_asks_for_exists() -> None:
    asked = {
        outcome
        for conditions in QUERIES.values()
        for condition in conditions
        if condition.startswith("outcome")
        for outcome in re.findall(r'"(\w+)"', condition)
    }
    assert asked
    assert asked <= TEXTS
