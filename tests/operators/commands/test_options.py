from __future__ import annotations

import pytest

from idem.operators.commands.options import policy_of, rules_of, state_named
from idem.operators.operator_errors import Exit, OperatorError
from idem.operators.record_text import DEFAULT_POLICY, State
from tests.operators.conftest import Cli


def test_a_consumer_brings_its_policy_and_nobody_the_default_one() -> None:
    assert policy_of(None) is DEFAULT_POLICY
    assert policy_of("handlers.payments").retention != DEFAULT_POLICY.retention


def test_a_rule_beside_a_consumer_is_refused() -> None:
    with pytest.raises(OperatorError, match="Leave the others out"):
        rules_of("handlers.orders", None, by="message-id", fields=None, intent=None, header=None)
    with pytest.raises(OperatorError, match="Whose key"):
        rules_of(None, None, by="message-id", fields=None, intent=None, header=None)


@pytest.mark.parametrize("state", State)
def test_a_state_goes_by_its_name(state: State) -> None:
    assert state_named(state.value) is state


def test_a_state_that_is_none_is_refused_with_those_there_are(moto_cli: Cli) -> None:
    ran = moto_cli("list", "--state", "lost")
    assert ran.status == Exit.USAGE
    assert "Value error" not in ran.err
    for state in State:
        assert state.value in ran.err
