from __future__ import annotations

import pytest

from idem.operators import consumer_rules, samples
from idem.operators.operator_errors import OperatorError


def test_a_rule_on_the_command_line_is_a_key_rule() -> None:
    rules = consumer_rules.written("o.p", by=None, fields=["a", "b"], intent=None, header=None)
    (delivery,) = samples.deliveries({"a": 1, "b": "x"}, None, print)
    assert str(rules.key_of(delivery)) == "o.p#1#x"


@pytest.mark.parametrize(("by", "fields"), [("message-id", ["a"]), (None, []), ("luck", [])])
def test_no_rule_two_rules_and_unknown_rules_are_refused(by: str | None, fields: list[str]) -> None:
    with pytest.raises(OperatorError):
        consumer_rules.written("o.p", by=by, fields=fields, intent=None, header=None)


@pytest.mark.parametrize("name", ["no.such.module", "json", "handlers.orders:fulfil_order", "handlers.orders:nothing"])
def test_what_is_no_consumer_is_refused_with_what_is_expected(name: str) -> None:
    with pytest.raises(OperatorError, match="OPERATION and KEY"):
        consumer_rules.load(name)
