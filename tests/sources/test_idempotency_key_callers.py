"""An API's Idempotency-Key header, and whose key it is."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idem.errors import MalformedDelivery, MissingKeyPart
from idem.sources.idempotency_key import IdempotencyKeySource, caller_at, parse_key
from tests.sources.test_idempotency_key import KEY, post


@pytest.mark.parametrize(
    ("header", "key"),
    [
        (KEY, KEY),
        (f'"{KEY}"', KEY),
        (f" {KEY} ", KEY),
        ('"a b"', "a b"),
        (r'"a\"\\b"', 'a"\\b'),
        ("x" * 255, "x" * 255),
    ],
)
def test_bare_and_quoted_keys_are_one_key(header: str, key: str) -> None:
    assert parse_key(header) == key


@given(st.text(max_size=300))
def test_any_header_is_a_key_or_refused(header: str) -> None:
    with suppress(MissingKeyPart, MalformedDelivery):
        assert 1 <= len(parse_key(header)) <= 255


@pytest.mark.parametrize(
    ("context", "steps"),
    [
        ({"authorizer": {"iam": {"userArn": "arn:aws:iam::1:user/ada"}}}, ("authorizer", "iam", "userArn")),
        ({"authorizer": {"claims": {"sub": "ada"}}}, ("authorizer", "claims", "sub")),
        ({"authorizer": {"principalId": "ada"}}, ("authorizer", "principalId")),
    ],
)
def test_callers_are_found_where_each_front_door_puts_them(context: dict[str, Any], steps: tuple[str, ...]) -> None:
    source = IdempotencyKeySource(caller=caller_at(*steps))
    event = post(requestContext={"http": {"method": "POST"}} | context)
    assert "ada" in str(getattr(source.read(event, 0)[0], "scope", None))
    nobody = post(requestContext={"http": {"method": "POST"}, "authorizer": None})
    assert type(getattr(source.read(nobody, 0)[0], "error", None)).__name__ == "UnknownCaller"
