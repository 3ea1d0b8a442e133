"""What a stage's name says."""

from __future__ import annotations

import pytest

from stacks.stage import Stage, StageError


@pytest.mark.parametrize("name", ["sandbox", "sandbox-2", "dev", "dev-ada", "prod", "prod-eu1"])
def test_a_stage_name_says_what_may_get_lost_and_who_gets_the_faults(name: str) -> None:
    stage = Stage.named(name)
    assert stage.name == name
    assert stage.keeps_data is name.startswith("prod")
    assert stage.with_faults is name.startswith("sandbox")
    assert stage.with_console is not name.startswith("sandbox")


@pytest.mark.parametrize("name", ["", "production", "Prod", "prod-", "dev ada", "prod\n", "prod-" + "x" * 21])
def test_an_unknown_stage_is_refused_by_name(name: str) -> None:
    with pytest.raises(StageError, match="use sandbox, dev or prod"):
        Stage.named(name)
