"""`release`, `settle`, `forget`, on a table in the local account."""

from __future__ import annotations

import pytest

from tests.operators.conftest import Cli
from tests.operators.records_in_every_state import RUNNING, STUCK

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("every_state")]


def test_a_decision_is_not_made_without_a_yes(cli: Cli) -> None:
    before = cli.store.get(STUCK.key)
    ran = cli("release", "orders.fulfil#stuck", "--why", "ticket 7")
    assert ran.status == 2
    assert "--yes" in ran.err
    assert cli.store.get(STUCK.key) == before


def test_release_settle_and_forget_say_what_happens_next_and_do_it(cli: Cli) -> None:
    released = cli("release", "orders.fulfil#stuck", "payments.credit#failed", "--why", "ticket 7", "--yes")
    assert released.status == 0
    assert "as attempt 3" in released.out
    assert "as attempt 2" in released.out
    settled = cli("settle", "orders.fulfil#stuck", "--result-id", "wh-7", "--why", "found", "-y", "--json").json
    assert settled["resultId"] == "wh-7"
    assert settled["decided"][-1]["why"] == "found"
    assert settled["decided"][-1]["by"].startswith("arn:")
    assert cli("forget", "orders.fulfil#stuck", "--why", "again", "--yes").status == 0
    assert "as attempt 1" in cli("show", "orders.fulfil#stuck").out
    assert cli("forget", "orders.fulfil#stuck", "--erase", "--why", "again", "--yes").status == 0
    assert cli("show", "orders.fulfil#stuck").status == 1


def test_a_decision_about_a_running_or_an_absent_record_is_refused(cli: Cli) -> None:
    ran = cli("release", "orders.fulfil#running", "--why", "ticket 7", "--yes")
    assert ran.status == 1
    assert "--force" in ran.err
    assert cli("release", "orders.fulfil#nothing", "--why", "ticket 7", "--yes").status == 1
    assert cli.store.get(RUNNING.key) == RUNNING


@pytest.mark.parametrize(("typed", "status"), [("n\n", 1), ("y\n", 0)])
def test_on_a_terminal_a_person_is_asked(cli: Cli, typed: str, status: int) -> None:
    before = cli.store.get(STUCK.key)
    shown, ended = cli.on_a_terminal("release", "orders.fulfil#stuck", "--why", "ticket 7", typed=typed)
    assert "Do it? [y/N]" in shown
    assert ended == status
    assert (cli.store.get(STUCK.key) == before) is (status == 1)


@pytest.mark.parametrize("why", ["x", "y" * 301])
def test_a_reason_of_the_wrong_length_is_said_to_be_that(cli: Cli, why: str) -> None:
    ran = cli("release", "orders.fulfil#stuck", "--why", why, "--yes")
    assert ran.status == 2
    assert ("too little" if why == "x" else "too long") in ran.err
    assert "3 to 300 characters" in ran.err
    assert cli.store.get(STUCK.key) == STUCK
