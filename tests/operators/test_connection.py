from __future__ import annotations

import pytest

from idem.operators.connection import Connection, is_aws
from idem.operators.operator_errors import Exit, OperatorError


def test_a_name_that_is_given_is_not_looked_up() -> None:
    assert Connection(table_name="mine", stack="Any").table == "mine"


def test_without_a_table_and_a_stack_both_options_are_named() -> None:
    with pytest.raises(OperatorError, match=r"--table.*--stack") as refused:
        _ = Connection().table
    assert refused.value.status is Exit.USAGE


def test_a_connection_says_where_it_looks(connection: Connection) -> None:
    assert connection.known_table == "records in region us-east-1"
    assert Connection(stack="Any", region="us-east-1").known_table == ""
    elsewhere = Connection(table_name="t", region="us-east-1", endpoint_url="http://127.0.0.1:1")
    assert elsewhere.address == "region us-east-1 at http://127.0.0.1:1"
    assert elsewhere.local_endpoint == "http://127.0.0.1:1"
    assert connection.local_endpoint is None


def test_who_acts_is_the_identity_in_aws(connection: Connection) -> None:
    assert connection.who().startswith("arn:aws:")


@pytest.mark.parametrize(
    ("endpoint", "ours"),
    [
        ("https://dynamodb.eu-central-1.amazonaws.com", True),
        ("https://dynamodb.eu-central-1.api.aws", True),
        ("https://dynamodb.cn-north-1.amazonaws.com.cn", True),
        ("http://localhost:4566", False),
        ("https://amazonaws.com.example.org", False),
        ("https://notamazonaws.com", False),
    ],
)
def test_an_endpoint_is_aws_by_its_host_alone(endpoint: str, ours: bool) -> None:  # noqa: FBT001
    assert is_aws(endpoint) is ours
