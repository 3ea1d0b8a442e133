"""What `cdk -c name=value` can ask of the app."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
import pytest

from app import stage_of
from idem.cdk import Front
from stacks.stage import Stage, StageError, TableName


def asked(**context: Any) -> Stage:
    return stage_of(cdk.App(context=context).node)


def test_without_context_it_is_the_development_stage() -> None:
    assert asked() == Stage.named("dev")


def test_the_stage_is_taken_by_its_name() -> None:
    assert asked(stage="prod-eu") == Stage.named("prod-eu")


@pytest.mark.parametrize("value", ["true", "True", True])
def test_a_flag_can_be_set_on_the_command_line_and_in_cdk_json(value: object) -> None:
    assert asked(tracing=value).tracing is True


def test_what_people_look_at_can_be_left_out() -> None:
    assert asked(console="false").with_console is False


@pytest.mark.parametrize(("flag", "sort_key"), [({}, False), ({"recordsSortKey": "true"}, True)])
def test_a_table_that_is_there_can_be_used_instead_of_a_new_one(flag: dict[str, str], *, sort_key: bool) -> None:
    assert asked(recordsTable="restored", **flag).records == TableName(name="restored", sort_key=sort_key)


def test_payments_can_be_enqueued_and_an_http_api_put_in_front() -> None:
    stage = asked(payments="enqueue", front="http-api")
    assert (stage.enqueues, stage.front) == (True, Front.HTTP_API)


@pytest.mark.parametrize(
    ("name", "choices"), [("payments", "inline or enqueue"), ("front", "function-url or http-api")]
)
def test_an_unknown_choice_is_refused_with_those_there_are(name: str, choices: str) -> None:
    with pytest.raises(StageError, match=f"-c {name}=maybe: say {choices}"):
        asked(**{name: "maybe"})


@pytest.mark.parametrize("name", ["tracing", "console"])
def test_a_flag_that_is_neither_is_refused_by_name(name: str) -> None:
    with pytest.raises(StageError, match=f"-c {name}=maybe: say true or false"):
        asked(**{name: "maybe"})
