"""HTTP events of every kind become one request: the raw body, and header names in lower case."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idem.errors import MalformedDelivery, TooLarge, WrongEvent
from idem.sources.http import QUERY_CHARS_MAX, REQUEST_BYTES_MAX, json_reply, parse_request
from tests.sources.http_events import SHAPES, Shape, function_url, load_balancer_multi

every_shape = pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)


@every_shape
@pytest.mark.parametrize("encoded", [False, True])
@pytest.mark.parametrize("body", [b"", b'{"a": "\xc3\xa9"}', b"a=1&b=2", b'{"a":\r\n  1}'])
def test_the_body_is_the_bytes_that_were_sent(shape: Shape, *, encoded: bool, body: bytes) -> None:
    request = parse_request(shape(body, {"X-Id": "1"}, encoded=encoded))
    assert (request.method, request.path, request.body) == ("POST", "/hook", body)
    assert dict(request.headers) == {"x-id": "1"}


@every_shape
def test_a_body_that_is_not_text_arrives_encoded_and_is_decoded(shape: Shape) -> None:
    assert parse_request(shape(b"\xff\x00\xfe", {}, encoded=True)).body == b"\xff\x00\xfe"


@pytest.mark.parametrize("body", [None, ""])
def test_a_request_without_a_body_has_an_empty_one(body: Any) -> None:
    assert parse_request(function_url(b"", {}) | {"body": body, "isBase64Encoded": False}).body == b""


@pytest.mark.parametrize("body", ["not base64!", "YWI", "YW=I", "\u00e9", "YWI=\n"])
def test_a_body_that_only_claims_to_be_base64_is_malformed(body: str) -> None:
    with pytest.raises(MalformedDelivery):
        parse_request(function_url(b"", {}) | {"body": body, "isBase64Encoded": True})


@pytest.mark.parametrize("body", [7, ["x"], {"a": 1}, True])
def test_a_body_that_is_not_text_is_malformed(body: Any) -> None:
    with pytest.raises(MalformedDelivery):
        parse_request(function_url(b"", {}) | {"body": body, "isBase64Encoded": False})


def test_header_names_in_any_case_are_one_name_and_several_values_one_list() -> None:
    event = load_balancer_multi(b"", {})
    event["multiValueHeaders"] = {"X-Id": ["1", "2"], "Other": []}
    event["headers"] = {"X-ID": "2", "Broken": None}
    assert dict(parse_request(event).headers) == {"x-id": "1,2"}


@pytest.mark.parametrize(
    "event",
    [
        None,
        {},
        [],
        "event",
        {"Records": []},
        {"requestContext": None},
        {"requestContext": {}},
        {"requestContext": {"http": {}}},
        {"requestContext": {"connectionId": "c", "eventType": "CONNECT"}},
        {"detail-type": "x", "detail": {}},
    ],
    ids=repr,
)
def test_an_event_that_is_no_http_request_is_the_wrong_event(event: Any) -> None:
    with pytest.raises(WrongEvent):
        parse_request(event)


JUNK: st.SearchStrategy[Any] = st.one_of(
    st.none(), st.integers(), st.text(max_size=4), st.lists(st.text(max_size=2), max_size=2), st.just({})
)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "requestContext": JUNK | st.fixed_dictionaries({}, optional={"http": JUNK, "requestId": JUNK}),
            "headers": JUNK | st.dictionaries(st.text(max_size=3), JUNK, max_size=2),
            "multiValueHeaders": JUNK | st.dictionaries(st.text(max_size=3), JUNK, max_size=2),
            "httpMethod": JUNK,
            "path": JUNK,
            "body": JUNK,
            "isBase64Encoded": st.booleans() | JUNK,
        },
    )
)
def test_any_event_is_read_or_refused_with_an_input_error(event: Any) -> None:
    try:
        request = parse_request(event)
    except (WrongEvent, MalformedDelivery):
        return
    assert isinstance(request.body, bytes)
    assert all(name == name.lower() and isinstance(value, str) for name, value in request.headers.items())


def test_an_answer_is_json_text_that_every_front_door_takes() -> None:
    answer = json_reply(409, {"a": "é"}, {"retry-after": "5"}).to_event()
    assert answer == {
        "statusCode": 409,
        "headers": {"content-type": "application/json", "retry-after": "5"},
        "body": '{"a":"é"}',
        "isBase64Encoded": False,
    }
    assert json.loads(answer["body"]) == {"a": "é"}


@every_shape
@pytest.mark.parametrize("encoded", [False, True])
def test_a_body_is_read_up_to_its_limit(shape: Shape, *, encoded: bool) -> None:
    assert len(parse_request(shape(b"x" * 1_000, {}, encoded=encoded), 1_000).body) == 1_000
    with pytest.raises(TooLarge, match="at most 1000 are read"):
        parse_request(shape(b"x" * 1_001, {}, encoded=encoded), 1_000)


@every_shape
def test_what_is_too_large_is_refused_before_it_is_decoded(shape: Shape) -> None:
    event = shape(b"", {}) | {"body": "!" * (2 * REQUEST_BYTES_MAX), "isBase64Encoded": True}
    with pytest.raises(TooLarge):
        parse_request(event)
    with pytest.raises(MalformedDelivery, match="is not"):
        parse_request(event | {"body": "!" * 100})


def test_a_query_is_read_up_to_its_limit() -> None:
    event = function_url(b"", {})
    assert parse_request(event | {"rawQueryString": "a" * QUERY_CHARS_MAX}).query
    with pytest.raises(TooLarge, match="the query of the request"):
        parse_request(event | {"rawQueryString": "a" * (QUERY_CHARS_MAX + 1)})
