"""An API whose clients send an Idempotency-Key."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from idem import Consumer, Delivery, MemoryStore, Policy, Unreadable, keys
from idem.errors import MalformedDelivery
from idem.sources.idempotency_key import IdempotencyKeySource
from idem.testing import Crash, FaultyStore, ManualClock, crash_before, refuse
from tests.sources.api import KEY, Api, Closed, NoFunds, post, replayed


def test_the_same_request_gets_the_same_status_headers_and_body() -> None:
    api = Api()
    first, again = api(post()), api(post())
    assert (first["statusCode"], first["body"]) == (again["statusCode"], again["body"]) == (201, '{"id":"tr_1"}')
    assert first["headers"]["location"] == again["headers"]["location"] == "/transfers/tr_1"
    assert (replayed(first), replayed(again)) == (False, True)
    assert api.ran == [{"amount": 5}]


def test_the_source_compares_requests_unless_it_is_told_not_to() -> None:
    first, other = (
        read_one(IdempotencyKeySource(caller=lambda _request: "ada"), event) for event in (post(), post(path="/refund"))
    )
    compare = IdempotencyKeySource(caller=lambda _request: "ada").check
    assert compare is not None
    assert compare(first) == compare(first) != compare(other)
    assert IdempotencyKeySource(caller=lambda _request: "ada", check=None).check is None


def read_one(source: IdempotencyKeySource, event: Any) -> Delivery:
    (found,) = source.read(event, 0)
    assert isinstance(found, Delivery), found
    return found


@pytest.mark.parametrize("rule", ["parse", "caller"])
def test_what_a_users_own_function_raises_is_a_request_that_cannot_be_read(rule: str) -> None:
    def raises(_given: Any) -> Any:
        raise KeyError("made up")

    rules: dict[str, Any] = {"caller": lambda _request: "ada"} | {rule: raises}
    (found,) = IdempotencyKeySource(**rules).read(post(), 0)
    assert isinstance(found, Unreadable)
    assert isinstance(found.error, MalformedDelivery)


def test_a_failure_for_good_is_replayed_with_its_status_and_body() -> None:
    api = Api(errors=[NoFunds("the account has 3 EUR")])
    first, again = api(post()), api(post())
    assert (first["statusCode"], first["body"]) == (again["statusCode"], again["body"])
    assert json.loads(first["body"]) == {"title": "NoFunds", "status": 402, "detail": "the account has 3 EUR"}
    assert first["headers"]["content-type"] == "application/problem+json"
    assert (replayed(first), replayed(again)) == (False, True)
    assert len(api.ran) == 1


def test_a_failure_that_is_not_listed_does_not_show_its_message() -> None:
    api = Api(errors=[Closed("row 7 of table x")])
    first, again = api(post()), api(post())
    assert first["statusCode"] == again["statusCode"] == 500
    assert first["body"] == again["body"]
    assert "row 7" not in first["body"]


def test_a_failure_for_now_can_be_tried_again_under_the_same_key() -> None:
    api = Api(errors=[ConnectionError("the bank is away")])
    first, again = api(post()), api(post())
    assert (first["statusCode"], again["statusCode"]) == (503, 201)
    assert "retry-after" in first["headers"]
    assert "bank" not in first["body"]


@pytest.mark.parametrize(
    "other",
    [
        post({"amount": 6}),
        post(path="/refunds"),
        post(rawQueryString="dry=1"),
        post(requestContext={"http": {"method": "PATCH"}, "authorizer": {"jwt": {"claims": {"sub": "ada"}}}}),
        post(body="", isBase64Encoded=False) | {"body": None},
    ],
    ids=["payload", "path", "query", "method", "no body"],
)
def test_the_key_with_another_request_is_refused(other: dict[str, Any]) -> None:
    api = Api()
    assert api(post())["statusCode"] == 201
    assert api(other)["statusCode"] == 422
    assert api(post())["statusCode"] == 201
    assert len(api.ran) == 1


def test_the_same_json_written_in_another_way_is_the_same_request() -> None:
    api = Api()
    api(post({"amount": 5, "to": "x"}))
    answer = api(post() | {"body": '{ "to":"x",\n"amount":5.0 }'})
    assert replayed(answer)


def test_a_second_request_while_the_first_runs_is_told_when_to_come_back() -> None:
    api = Api()
    inner: list[dict[str, Any]] = []
    work = api.work

    def nested(delivery: Any, claim: Any) -> Any:
        inner.extend([api(post()), api(post({"amount": 6}))])
        return work(delivery, claim)

    api.work = nested  # type: ignore[method-assign, assignment]
    assert api(post())["statusCode"] == 201
    assert [answer["statusCode"] for answer in inner] == [409, 422]
    assert int(inner[0]["headers"]["retry-after"]) > 0


def test_callers_with_the_same_key_are_strangers() -> None:
    api = Api()
    assert not replayed(api(post(caller="ada")))
    assert not replayed(api(post({"amount": 6}, caller="bob")))
    assert len(api.ran) == 2


@pytest.mark.parametrize("caller", [None, "", " "])
def test_a_request_by_nobody_claims_nothing(caller: str | None) -> None:
    api = Api()
    assert api(post(caller=caller))["statusCode"] == 401
    assert api.store.records == {}


@pytest.mark.parametrize(
    "key", [None, "", " ", '""', "a,b", '"a', 'a"', "é", "a b", "x" * 256, '"a";b', "\x00", f'"{KEY}", "2"']
)
def test_a_missing_or_unreadable_key_claims_nothing(key: str | None) -> None:
    api = Api()
    answer = api(post(key=key))
    assert answer["statusCode"] == 400
    assert "Idempotency-Key" in answer["body"]
    assert api.store.records == {}


def test_a_body_that_is_not_json_is_malformed() -> None:
    api = Api()
    assert api(post() | {"body": "{"})["statusCode"] == 400
    assert api(post() | {"body": "%%%", "isBase64Encoded": True})["statusCode"] == 400


def test_without_an_answer_from_the_table_nothing_runs() -> None:
    api = Api()
    api.store = FaultyStore(api.store, refuse("claim"))
    assert api(post())["statusCode"] == 503
    assert api.ran == []
    assert api(post())["statusCode"] == 201


def test_a_crash_holds_the_key_until_the_lease_ends() -> None:
    api = Api()
    api.store = FaultyStore(api.store, crash_before("complete"))
    with pytest.raises(Crash):
        api(post())
    assert api(post())["statusCode"] == 409
    api.clock.advance(timedelta(minutes=1))
    assert api(post())["statusCode"] == 201


def test_a_key_is_new_again_after_its_time() -> None:
    api = Api()
    api(post())
    api.clock.advance(timedelta(hours=25))
    assert not replayed(api(post({"amount": 9})))


def test_a_load_balancer_gets_lists_of_headers() -> None:
    event = {
        "httpMethod": "POST",
        "path": "/",
        "requestContext": {"elb": {}},
        "multiValueHeaders": {"Idempotency-Key": [KEY]},
        "body": "",
    }
    consumer = Consumer(
        operation="t",
        source=IdempotencyKeySource(caller=lambda _request: "ada"),
        key=keys.event_id(),
        work=lambda _delivery, _claim: None,
        policy=Policy(retention=None),
        store=MemoryStore(ManualClock()),
        clock=ManualClock(),
    )
    assert consumer(event)["multiValueHeaders"]["content-type"] == ["application/json"]
