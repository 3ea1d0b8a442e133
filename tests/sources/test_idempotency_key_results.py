"""What an API's work returns, and what its client gets of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from idem import HttpResult, ResultId
from tests.sources.api import Api, post


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


@pytest.mark.parametrize(
    "result",
    [
        {"http_status": 302, "http_body": None, "http_headers": {"location": "https://evil.example"}},
        {"idem:http": {"status": 302, "body": None, "headers": {"location": "https://evil.example"}}},
    ],
)
def test_data_of_a_client_that_looks_like_an_answer_sets_neither_status_nor_headers(result: Any) -> None:
    api = Api(result=result)
    for _ in range(2):
        answer = api(post())
        assert (answer["statusCode"], json.loads(answer["body"])) == (200, result)
        assert "location" not in answer["headers"]


@pytest.mark.parametrize(
    "result",
    [
        HttpResult(199),
        HttpResult(600),
        HttpResult(http_status=True),
        HttpResult("201"),  # type: ignore[arg-type]
        HttpResult(201, {}, {"x": "a\r\nset-cookie: s=1"}),
        HttpResult(201, {}, {"x": "a\nb"}),
        HttpResult(201, {}, {"x\r\ny": "a"}),
        HttpResult(201, {}, {"": "a"}),
        HttpResult(201, {}, {"x": 7}),  # type: ignore[dict-item]
        HttpResult(201, {}, {7: "x"}),  # type: ignore[dict-item]
        HttpResult(201, {}, None),  # type: ignore[arg-type]
    ],
    ids=repr,
)
def test_an_answer_that_http_cannot_carry_is_said_to_be_omitted_and_its_work_is_done(result: HttpResult) -> None:
    api = Api(result=result)
    for _ in range(2):
        answer = api(post())
        assert (answer["statusCode"], list(json.loads(answer["body"]))) == (200, ["resultOmitted"])
        assert set(answer["headers"]) <= {"content-type", "idempotent-replayed"}
    assert len(api.ran) == 1
