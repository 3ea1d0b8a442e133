"""The webhook source: verify, parse, claim, work, and an answer that the provider understands."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from idem import Consumer, MemoryStore, NotKept, Policy, ResultId, WebhookSource, keys
from idem.delivery import Busy, Delivery, Done, NotStarted, Outcome, Rejected, Retry, Unavailable, Unreadable
from idem.errors import (
    MalformedDelivery,
    MissingKeyPart,
    RequestMismatch,
    SecretsUnavailable,
    SignatureInvalid,
    StoredFailure,
    StoreUnavailable,
    UnsettledWork,
    WrongEvent,
)
from idem.record import Status
from idem.testing import sign_stripe
from idem.webhooks.replies import reply_to
from idem.webhooks.scheme import ReplyStyle
from idem.webhooks.schemes import stripe
from tests.idem.builders import NOW, NOW_S, record
from tests.idem.clocks import TestClock
from tests.sources.http_events import SHAPES, Shape, function_url

SECRET = "whsec_test"
EVENT = {"id": "evt_1", "object": "event", "type": "charge.succeeded", "account": "acct_1", "amount": 7}
BODY = json.dumps(EVENT, indent=2).encode()
every_shape = pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)


def signed(body: bytes, secret: str = SECRET, at: int = NOW_S) -> dict[str, str]:
    return {"Stripe-Signature": sign_stripe(body, secret, at)}


def read(event: Any, secrets: Sequence[str] = (SECRET,)) -> Delivery | Unreadable:
    (found,) = WebhookSource(stripe(), lambda: secrets).read(event, NOW)
    return found


@every_shape
@pytest.mark.parametrize("encoded", [False, True])
def test_a_signed_event_is_read_from_every_front_door(shape: Shape, *, encoded: bool) -> None:
    found = read(shape(BODY, signed(BODY), encoded=encoded))
    assert isinstance(found, Delivery)
    assert (found.payload, found.body, found.event_id, found.scope) == (EVENT, BODY, "evt_1", "acct_1")
    assert found.origin["eventId"] == "evt_1"
    assert found.id in {"r-1", "evt_1"}


@pytest.mark.parametrize("body", [b"{", b"\xff", b"", b"[]", b'{"object": "event"}', b"NaN", b"[" * 100_000])
def test_nothing_is_parsed_before_it_is_verified(body: bytes) -> None:
    forged = read(function_url(body, signed(body, secret="whsec_other")))
    assert isinstance(forged, Unreadable)
    assert isinstance(forged.error, SignatureInvalid)
    genuine = read(function_url(body, signed(body)))
    assert isinstance(genuine, Unreadable)
    assert isinstance(genuine.error, MalformedDelivery)


def test_a_body_that_was_parsed_and_written_again_does_not_verify() -> None:
    found = read(function_url(json.dumps(json.loads(BODY)).encode(), signed(BODY)))
    assert isinstance(found, Unreadable)


def test_secrets_that_cannot_be_read_are_neither_trust_nor_refusal() -> None:
    def secrets() -> Sequence[str]:
        raise OSError("the secrets manager is away")

    (found,) = WebhookSource(stripe(), secrets).read(function_url(BODY, signed(BODY)), NOW)
    assert isinstance(found, Unreadable)
    assert isinstance(found.error, SecretsUnavailable)


@pytest.mark.parametrize("secrets", [[], [""], [" "]])
def test_without_any_secret_nothing_is_trusted_and_nothing_refused(secrets: list[str]) -> None:
    found = read(function_url(BODY, signed(BODY, secret="")), secrets)
    assert isinstance(found, Unreadable)
    assert isinstance(found.error, SecretsUnavailable)


def test_an_event_that_is_no_request_is_the_wrong_event() -> None:
    with pytest.raises(WrongEvent):
        WebhookSource(stripe(), lambda: [SECRET]).read({"Records": []}, NOW)


TROUBLE = ValueError("made up")
STORED = record(Status.FAILED)
ANSWERS: dict[str, tuple[Outcome, int, dict[str, str]]] = {
    "done": (Done({"a": 1}, replayed=False, attempt=1), 200, {}),
    "replayed": (Done({"a": 1}, replayed=True, attempt=1), 200, {"idempotent-replayed": "true"}),
    "busy": (Busy(NOW + 12_001), 409, {"retry-after": "13"}),
    "busy until now": (Busy(NOW - 5), 409, {"retry-after": "1"}),
    "bad signature": (Rejected(SignatureInvalid("x"), recorded=False), 400, {}),
    "malformed": (Rejected(MalformedDelivery("x"), recorded=False), 400, {}),
    "no key": (Rejected(MissingKeyPart("x"), recorded=False), 400, {}),
    "mismatch": (Rejected(RequestMismatch(STORED), recorded=True), 422, {}),
    "rejected for good": (Rejected(TROUBLE, recorded=True), 200, {}),
    "rejected before": (Rejected(StoredFailure(STORED), recorded=True), 200, {}),
    "rejected for good with an input error": (Rejected(MalformedDelivery("x"), recorded=True), 200, {}),
    "rejected and not recorded": (Rejected(TROUBLE, recorded=False), 503, {"retry-after": "5"}),
    "retry": (Retry(TROUBLE), 503, {"retry-after": "5"}),
    "unsettled": (Retry(UnsettledWork(STORED, "x")), 503, {"retry-after": "5"}),
    "unavailable": (Unavailable(StoreUnavailable("claim", "X", "x"), ran=False), 503, {"retry-after": "5"}),
    "unrecorded": (Unavailable(StoreUnavailable("complete", "X", "x"), ran=True), 503, {"retry-after": "5"}),
    "no secrets": (Unavailable(SecretsUnavailable("x"), ran=False), 503, {"retry-after": "5"}),
    "not started": (NotStarted("x"), 503, {"retry-after": "5"}),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_each_ending_has_its_answer(name: str) -> None:
    outcome, status, headers = ANSWERS[name]
    found = reply_to(outcome, NOW, ReplyStyle()).to_event()
    assert found["statusCode"] == status
    assert found["headers"] == {"content-type": "application/json"} | headers
    json.loads(found["body"])


@pytest.mark.parametrize("name", ["retry", "rejected for good", "unavailable", "unrecorded"])
def test_an_answer_does_not_tell_strangers_what_went_wrong_inside(name: str) -> None:
    assert "made up" not in reply_to(ANSWERS[name][0], NOW, ReplyStyle()).to_event()["body"]


RESULTS: list[tuple[Any, Any]] = [
    (None, None),
    (0, 0),
    ("", ""),
    ({"a": [1, "é"]}, {"a": [1, "é"]}),
    (ResultId("ord-7"), {"resultId": "ord-7"}),
    (NotKept("too large"), {"resultOmitted": "too large"}),
]


@pytest.mark.parametrize(("result", "body"), RESULTS, ids=repr)
def test_a_result_is_shown_the_same_first_and_again(result: Any, body: Any) -> None:
    for replayed in (False, True):
        assert (
            json.loads(reply_to(Done(result, replayed=replayed, attempt=1), NOW, ReplyStyle()).to_event()["body"])
            == body
        )


@pytest.mark.parametrize(
    "result",
    [object(), float("nan"), [float("inf")], "\ud800", {1, 2}, b"x", 10**5000],
    ids=lambda one: type(one).__name__,
)
def test_a_result_that_is_not_json_is_answered_with_success_all_the_same(result: Any) -> None:
    found = reply_to(Done(result, replayed=False, attempt=1), NOW, ReplyStyle()).to_event()
    assert found["statusCode"] == 200
    assert "resultOmitted" in json.loads(found["body"])
    assert "NaN" not in found["body"]
    found["body"].encode("utf-8")


def test_an_event_is_worked_on_once_and_its_replay_is_marked(clock: TestClock) -> None:
    ran: list[Any] = []

    def work(delivery: Delivery, _claim: object) -> Any:
        ran.append(delivery.payload)
        return {"amount": delivery.payload["amount"]}

    consumer = Consumer(
        operation="payments.record",
        source=WebhookSource(stripe(), lambda: [SECRET]),
        key=keys.event_id(),
        work=work,
        policy=Policy(retention=None),
        store=MemoryStore(clock),
        clock=clock,
    )
    first = consumer(function_url(BODY, signed(BODY)))
    again = consumer(function_url(BODY, signed(BODY, at=NOW_S + 60)))
    assert first["statusCode"] == again["statusCode"] == 200
    assert first["body"] == again["body"] == '{"amount":7}'
    assert (first["headers"].get("idempotent-replayed"), again["headers"].get("idempotent-replayed")) == (None, "true")
    assert ran == [EVENT]


def test_a_forged_event_claims_nothing(clock: TestClock) -> None:
    store = MemoryStore(clock)
    consumer = Consumer(
        operation="payments.record",
        source=WebhookSource(stripe(), lambda: [SECRET]),
        key=keys.event_id(),
        work=lambda _delivery, _claim: pytest.fail("work ran for a forged event"),
        policy=Policy(retention=None),
        store=store,
        clock=clock,
    )
    assert consumer(function_url(BODY, signed(BODY, secret="whsec_other")))["statusCode"] == 400
    assert store.records == {}
