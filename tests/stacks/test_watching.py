"""What people look at: alarms, dashboard and saved queries, against the names that the handlers really write."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from aws_cdk.assertions import Template

from handlers import orders, payments
from idem.cdk.alarms import ENDINGS
from idem.cdk.dashboard import ABSORBED, QUERIES, STUCK
from tests.cdk.reading import resources
from tests.stacks.conftest import ROOT

DEPLOYED = ("dev", "prod")


def body(template: Template) -> str:
    """The dashboard's body, with the references in it left out."""
    (dashboard,) = resources(template, "AWS::CloudWatch::Dashboard").values()
    parts = dashboard["DashboardBody"]["Fn::Join"][1]
    return "".join(part if isinstance(part, str) else json.dumps(part).replace('"', "'") for part in parts)


@pytest.mark.parametrize("stage", DEPLOYED)
def test_the_dashboard_asks_its_three_questions_of_each_operation(
    templates: Mapping[str, Template], stage: str
) -> None:
    widgets: list[dict[str, Any]] = json.loads(body(templates[stage]))["widgets"]
    titles = [widget["properties"]["title"] for widget in widgets]
    for operation in (orders.OPERATION, payments.OPERATION):
        mine = [title.removeprefix(f"{operation}: ") for title in titles if title.startswith(f"{operation}: ")]
        assert mine == [
            "are duplicates being absorbed?",
            "is anything stuck?",
            "is anything lost?",
            "how long it takes, p99 in ms",
        ]


@pytest.mark.parametrize("stage", DEPLOYED)
def test_the_dashboard_reads_the_metrics_under_the_names_they_are_emitted_with(
    templates: Mapping[str, Template], stage: str
) -> None:
    shown = body(templates[stage])
    for service, operation in (("orders", orders.OPERATION), ("payments", payments.OPERATION)):
        assert f'"Idem","Replays","operation","{operation}","service","{service}"' in shown


@pytest.mark.parametrize("stage", DEPLOYED)
def test_the_saved_queries_search_the_logs_of_every_function(templates: Mapping[str, Template], stage: str) -> None:
    groups = {name for name in resources(templates[stage], "AWS::Logs::LogGroup") if "WorkerLogs" in name}
    assert len(groups) == 2
    queries = list(resources(templates[stage], "AWS::Logs::QueryDefinition").values())
    assert {query["Name"] for query in queries} == {f"Idem-{stage}/{name}" for name in QUERIES}
    for query in queries:
        assert {group["Ref"] for group in query["LogGroupNames"]} == groups


def test_the_local_stage_has_nothing_that_its_engine_refuses(templates: Mapping[str, Template]) -> None:
    for kind in ("AWS::Logs::QueryDefinition", "AWS::CloudWatch::CompositeAlarm", "AWS::CloudWatch::Dashboard"):
        templates["sandbox"].resource_count_is(kind, 0)
    alarms = list(resources(templates["sandbox"], "AWS::CloudWatch::Alarm").values())
    assert len(alarms) > len(ENDINGS)
    assert [alarm for alarm in alarms if "Metrics" in alarm] == []  # metric math


def test_every_function_and_the_table_have_an_alarm_on_throttles(template: Template) -> None:
    alarms = resources(template, "AWS::CloudWatch::Alarm").values()
    throttled = [alarm for alarm in alarms if alarm["MetricName"] == "Throttles"]
    assert len({alarm["Dimensions"][0]["Value"]["Ref"] for alarm in throttled}) == 2
    assert [alarm for alarm in alarms if alarm["MetricName"] == "WriteThrottleEvents"]


def test_every_alarm_says_what_to_do_and_is_quiet_without_data(template: Template) -> None:
    alarms = resources(template, "AWS::CloudWatch::Alarm").values()
    assert len(alarms) == 2 * len(ENDINGS) + 5  # dead letters, age, throttles of both functions, throttled writes
    for alarm in alarms:
        assert len(alarm["AlarmDescription"]) > 20
        assert alarm["TreatMissingData"] == "notBreaching"


PAGE = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [*ENDINGS, *ABSORBED[1:], *STUCK, "DeliveryTime"])
def test_what_is_watched_is_explained_to_whoever_is_called(name: str) -> None:
    assert f"`{name}`" in PAGE


@pytest.mark.parametrize("module", sorted(set(re.findall(r"python -m ([a-z_.]+)", PAGE))))
def test_every_program_that_the_page_names_is_there(module: str) -> None:
    path = ROOT / Path(*module.split("."))
    assert path.with_suffix(".py").exists() or (path / "__main__.py").exists()


@pytest.mark.parametrize("name", sorted(set(re.findall(r"-c ([a-z]\w+)=", PAGE))))
def test_every_context_value_that_the_page_names_is_read_by_the_app(name: str) -> None:
    assert f'"{name}"' in (ROOT / "app.py").read_text(encoding="utf-8")
