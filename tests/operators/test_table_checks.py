"""Each verb of the store, tried once on a table: a sound one on moto, and ones that break a promise."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from idem.operators.connection import Connection
from idem.operators.table_checks import check
from tests.idem.partiql import Partiql


class Forgetful(Partiql):
    """An engine that puts every item without a look at the condition."""

    def answer(self, name: str, number: int, method: Any, request: dict[str, Any]) -> Any:
        if name == "put_item":
            conditions = ("ConditionExpression", "ExpressionAttributeNames", "ExpressionAttributeValues")
            request = {key: value for key, value in request.items() if key not in conditions}
        return super().answer(name, number, method, request)


@dataclass(frozen=True)
class With(Connection):
    """A connection whose engine stands behind a wrapper."""

    wrapper: type[Partiql] = Partiql

    @cached_property
    def dynamodb(self) -> Any:
        return self.wrapper(self.client("dynamodb"))


def test_a_sound_table_passes_and_nothing_is_left(connection: Connection) -> None:
    checked = list(check(With(table_name=connection.table, region=connection.region)))
    assert len(checked) == 6
    assert [one.wrong for one in checked] == [""] * 6
    assert connection.dynamodb.scan(TableName=connection.table)["Count"] == 0


def test_a_table_that_ignores_conditions_is_found_and_the_other_checks_go_on(connection: Connection) -> None:
    forgetful = With(table_name=connection.table, region=connection.region, wrapper=Forgetful)
    checked = list(check(forgetful))
    assert len(checked) == 6
    assert "the second claim got Claim" in checked[0].wrong
    assert connection.dynamodb.scan(TableName=connection.table)["Count"] == 0
