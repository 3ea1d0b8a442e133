"""The loss test in its short form; `make soak` is the long one."""

from __future__ import annotations

import pytest

from sandbox.account import LocalAccount
from sandbox.deploy import deploy
from sandbox.soak import DUPLICATES, make_plan, run

MESSAGES = 200
SEED = 7


def test_a_seed_gives_the_same_plan_again() -> None:
    assert make_plan(500, 3) == make_plan(500, 3) != make_plan(500, 4)


def test_a_plan_holds_duplicates_poison_and_every_kind_of_trouble() -> None:
    plan = make_plan(2_000, 1)
    assert len(plan.bodies) == 2_000
    assert (
        len({body["orderId"] for body in plan.bodies})
        == len(plan.orders) + len(plan.poison)
        == 2_000 * (1 - DUPLICATES)
    )
    assert plan.poison
    told = [body.get("sandbox", {}) for body in plan.bodies]
    for trouble in ({"die": "before-effect"}, {"die": "before-record"}, {"hang": True}, {"fail": 1}, {"fail": 2}):
        assert any(trouble.items() <= one.items() for one in told)


@pytest.mark.e2e
def test_no_effect_is_lost_or_made_twice_by_workers_that_fail_and_are_killed() -> None:
    plan = make_plan(MESSAGES, SEED)
    with LocalAccount() as account:
        outputs = deploy(account, report=print)
        assert run(account, outputs, plan, print) == []
