"""An API whose clients send an Idempotency-Key."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest

from idem import Consumer, HttpResult, MemoryStore, Policy, ResultId, keys
from idem.sources.idempotency_key import IdempotencyKeySource, caller_at, same_request
from idem.testing import Crash, FaultyStore, LambdaContext, ManualClock, crash_before, refuse

KEY = "8e03978e-40d5-43e8-bc93-6894a57f9324"


class NoFunds(Exception):
    pass


class Closed(Exception):
    pass


def post(
    body: Any = None, *, key: str | None = KEY, caller: str | None = "ada", path: str = "/transfers", **event: Any
) -> dict[str, Any]:
    """A request through an HTTP API that has checked a token."""
    claims = {"sub": caller} if caller is not None else {}
    return {
        "version": "2.0",
        "rawPath": path,
        "rawQueryString": "",
        "headers": {"content-type": "application/json"} | ({"idempotency-key": key} if key is not None else {}),
        "requestContext": {
            "http": {"method": "POST", "path": path},
            "requestId": "r-1",
            "authorizer": {"jwt": {"claims": claims}},
        },
        "body": json.dumps(body if body is not None else {"amount": 5}),
        "isBase64Encoded": False,
    } | event


@dataclass
class Api:
    clock: ManualClock = field(default_factory=ManualClock)
    ran: list[Any] = field(default_factory=list)
    errors: list[Exception] = field(default_factory=list)
    result: Any = field(default_factory=lambda: HttpResult(201, {"id": "tr_1"}, {"location": "/transfers/tr_1"}))

    def __post_init__(self) -> None:
        self.store: Any = MemoryStore(self.clock)

    def __call__(self, event: Any) -> dict[str, Any]:
        consumer = Consumer(
            operation="transfers.create",
            source=IdempotencyKeySource(
                caller=caller_at("authorizer", "jwt", "claims", "sub"), failures={"NoFunds": 402}
            ),
            key=keys.event_id(),
            check=same_request,
            work=self.work,
            policy=Policy(retention=timedelta(hours=24), permanent=(NoFunds, Closed)),
            store=self.store,
            clock=self.clock,
        )
        answer: dict[str, Any] = consumer(event, LambdaContext(self.clock))
        return answer

    def work(self, delivery: Any, _claim: Any) -> Any:
        self.ran.append(delivery.payload)
        if self.errors:
            raise self.errors.pop(0)
        return self.result


def replayed(answer: dict[str, Any]) -> bool:
    return bool(answer["headers"].get("idempotent-replayed") == "true")


def test_the_same_request_gets_the_same_status_headers_and_body() -> None:
    api = Api()
    first, again = api(post()), api(post())
    assert (first["statusCode"], first["body"]) == (again["statusCode"], again["body"]) == (201, '{"id":"tr_1"}')
    assert first["headers"]["location"] == again["headers"]["location"] == "/transfers/tr_1"
    assert (replayed(first), replayed(again)) == (False, True)
    assert api.ran == [{"amount": 5}]


@pytest.mark.parametrize(
    ("result", "status", "body"),
    [
        ({"a": 1}, 200, '{"a":1}'),
        (None, 200, "null"),
        (HttpResult(204), 204, ""),
        (HttpResult(402, {"error": "declined"}), 402, '{"error":"declined"}'),
        (ResultId("tr_1"), 200, '{"resultId":"tr_1"}'),
    ],
)
def test_any_result_is_an_answer(result: Any, status: int, body: str) -> None:
    api = Api(result=result)
    for _ in range(2):
        answer = api(post())
        assert (answer["statusCode"], answer["body"]) == (status, body)
    assert len(api.ran) == 1


@pytest.mark.parametrize("result", [HttpResult(201, {"pad": "x" * 10_000}), HttpResult(201, {"bad": float("nan")})])
def test_a_result_that_cannot_be_kept_is_answered_once_and_then_said_to_be_omitted(result: HttpResult) -> None:
    api = Api(result=result)
    first, again = api(post()), api(post())
    assert first["statusCode"] == 201
    assert (again["statusCode"], "resultOmitted" in json.loads(again["body"])) == (200, True)
    assert len(api.ran) == 1


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
