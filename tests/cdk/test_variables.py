"""What the constructs put into a function's environment, read by what `idem.on_lambda` reads it with."""

from __future__ import annotations

import pytest

from idem import Ending, Rejected, Unreadable
from idem.cdk import ExistingTable, Reporting
from idem.cdk.variables import METRICS_NAMESPACE
from idem.dynamo.schema import SORT_VALUE
from idem.errors import MalformedDelivery
from idem.on_lambda import Observer, TableEnvironment
from idem.on_lambda.metrics import NAMESPACE
from tests.cdk.apps import theirs


@pytest.mark.parametrize(("sort_key", "sort_value"), [(True, SORT_VALUE), (False, "")])
def test_a_function_finds_the_table_that_it_was_told_of(*, sort_key: bool, sort_value: str) -> None:
    table = ExistingTable(theirs(), "Memory", table_name="team-table", sort_key=sort_key)
    assert TableEnvironment.from_environment(table.variables()) == TableEnvironment(
        idempotency_table="team-table", idempotency_sort_value=sort_value
    )


def test_a_function_that_was_told_nothing_counts_where_the_alarms_look() -> None:
    assert NAMESPACE == METRICS_NAMESPACE


def test_what_is_reported_bears_the_names_that_the_stack_gave(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in Reporting(service="parcels", namespace="Parcels", log_level="ERROR").variables().items():
        monkeypatch.setenv(name, value)
    observer = Observer("parcels.ship")
    unread = Unreadable(id="m-1", error=MalformedDelivery("made up"))
    rejected = Rejected(unread.error, recorded=False)
    with observer.invocation(None):
        observer(Ending(operation="parcels.ship", arrival=unread, outcome=rejected, key=None, started=0, ended=0))
    printed = capsys.readouterr().out.replace(" ", "")
    assert '"Namespace":"Parcels"' in printed
    assert '"service":"parcels"' in printed
