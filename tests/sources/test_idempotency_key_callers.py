"""An API's Idempotency-Key header, and whose key it is."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from idem import Delivery, Key, keys
from idem.errors import MalformedDelivery, MissingKeyPart
from idem.keys import make_key
from idem.sources.idempotency_key import IdempotencyKeySource, caller_at, parse_key
from tests.sources.api import KEY, post


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


CALLERS = st.text(min_size=1, max_size=6) | st.sampled_from(
    ["café", "cafe\u0301", "caf%C3%A9", "cafe%CC%81", "%", "%25", "\u212b", "\u00c5", "A\u030a", "\ud800", "auth0|7"]
)


def key_of(caller: str) -> Key | None:
    (found,) = IdempotencyKeySource(caller=lambda _request: caller).read(post(), 0)
    return make_key("o", keys.event_id()(found)) if isinstance(found, Delivery) else None


@given(CALLERS, CALLERS)
@example("café", "cafe\u0301")
@example("\u212b", "\u00c5")
@example("cafe\u0301", "cafe%CC%81")
@example("%25", "%")
def test_two_callers_share_a_key_if_and_only_if_they_are_the_same_bytes(one: str, other: str) -> None:
    first, second = key_of(one), key_of(other)
    assume(first is not None and second is not None)
    assert (first == second) == (one == other)


@pytest.mark.parametrize("caller", ["ada", "auth0|7", "arn:aws:iam::1:user/ada", "café", "a b"])
def test_the_usual_callers_are_in_the_key_as_they_are(caller: str) -> None:
    assert key_of(caller) == make_key("o", [caller, KEY])
