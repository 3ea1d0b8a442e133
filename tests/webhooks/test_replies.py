"""Answers where providers differ. The answers they share are in test_source.py."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from idem import Consumer, MemoryStore, Policy, Retention, WebhookSource, keys
from idem.delivery import Work
from idem.testing import START_MS, ManualClock
from idem.webhooks.header_scheme import HeaderScheme
from idem.webhooks.signed_requests import as_event, sign
from tests.webhooks.senders import NOW, SENDERS, URL, Sender


class Refused(Exception):
    pass


def receiver(sender: Sender, work: Work) -> Consumer:
    clock = ManualClock(NOW)
    return Consumer(
        operation="webhooks.test",
        source=WebhookSource(sender.scheme, lambda: [sender.verifies]),
        key=keys.event_id(),
        work=work,
        policy=Policy(retention=Retention.WEBHOOK, permanent=(Refused,)),
        store=MemoryStore(clock),
        clock=clock,
    )


def fails(error: Exception) -> Work:
    def work(_delivery: object, _claim: object) -> Any:
        raise error

    return work


HANG_UP = "<Response><Hangup/></Response>"
every = pytest.mark.parametrize("sender", SENDERS.values(), ids=SENDERS)


@every
def test_success_is_exactly_200_and_never_a_redirect(sender: Sender) -> None:
    receive = receiver(sender, lambda _delivery, _claim: {"ok": True})
    first, again = (receive(as_event(sender.send())) for _ in range(2))
    assert first["statusCode"] == again["statusCode"] == 200
    assert first["body"] == again["body"]
    if len(sender.identities) == 1:
        assert again["headers"]["idempotent-replayed"] == "true"


@every
def test_what_failed_for_good_is_acknowledged_so_that_the_provider_stops(sender: Sender) -> None:
    receive = receiver(sender, fails(Refused("never")))
    for _ in range(2):
        assert receive(as_event(sender.send()))["statusCode"] == 200


@every
def test_what_failed_for_now_is_asked_for_again(sender: Sender) -> None:
    answer = receiver(sender, fails(ConnectionError()))(as_event(sender.send()))
    assert answer["statusCode"] == 503
    assert int(answer["headers"]["retry-after"]) > 0


@every
def test_a_bad_signature_has_the_status_that_the_provider_expects(sender: Sender) -> None:
    receive = receiver(sender, lambda _delivery, _claim: pytest.fail("it ran"))
    answer = receive(as_event(sender.send(sender.other_signs)))
    assert answer["statusCode"] == (401 if sender.name == "discord" else 400)
    assert "x-slack-no-retry" not in answer["headers"]


def test_adyen_gets_the_word_that_it_waits_for() -> None:
    answer = receiver(SENDERS["adyen"], lambda _delivery, _claim: {"secret": 1})(as_event(SENDERS["adyen"].send()))
    assert (answer["body"], answer["headers"]["content-type"]) == ("[accepted]", "text/plain")


@pytest.mark.parametrize(
    ("result", "body"),
    [
        ({"a": 1}, "<Response/>"),
        (HANG_UP, HANG_UP),
        ("", "<Response/>"),
    ],
)
def test_twilio_gets_xml(result: Any, body: str) -> None:
    answer = receiver(SENDERS["twilio"], lambda _delivery, _claim: result)(as_event(SENDERS["twilio"].send()))
    assert (answer["body"], answer["headers"]["content-type"]) == (body, "text/xml")


@pytest.mark.parametrize(
    ("name", "payload", "status", "body"),
    [
        ("slack", {"type": "url_verification", "challenge": "3eZbrw1a", "token": "t"}, 200, {"challenge": "3eZbrw1a"}),
        ("discord", {"type": 1, "id": "1", "token": "t", "application_id": "7"}, 200, {"type": 1}),
        ("discord", {"type": 0, "version": 1, "application_id": "7"}, 204, None),
    ],
)
def test_a_check_of_the_address_is_answered_and_nothing_runs(name: str, payload: Any, status: int, body: Any) -> None:
    sender = SENDERS[name]
    receive = receiver(sender, lambda _delivery, _claim: pytest.fail("it ran"))
    answer = receive(as_event(sender.send(body=json.dumps(payload).encode())))
    assert answer["statusCode"] == status
    assert (json.loads(answer["body"]) if answer["body"] else None) == body
    forged = receive(as_event(sender.send(sender.other_signs, body=json.dumps(payload).encode())))
    assert forged["statusCode"] in {400, 401}


@pytest.mark.parametrize("challenge", [None, 7, "\ud800", "é", ["x"]])
def test_a_check_without_a_usable_challenge_is_malformed(challenge: Any) -> None:
    payload = {"type": "url_verification", "challenge": challenge}
    answer = receiver(SENDERS["slack"], fails(AssertionError()))(
        as_event(SENDERS["slack"].send(body=json.dumps(payload).encode()))
    )
    assert answer["statusCode"] == 400
    assert answer["headers"]["x-slack-no-retry"] == "1"


def test_a_discord_event_of_type_1_is_no_ping() -> None:
    payload = {"version": 1, "application_id": "7", "type": 1, "event": {"type": "APPLICATION_AUTHORIZED", "data": {}}}
    done: list[Any] = []
    receive = receiver(SENDERS["discord"], lambda delivery, _claim: done.append(delivery.origin["eventType"]))
    for _ in range(2):
        assert receive(as_event(SENDERS["discord"].send(body=json.dumps(payload).encode())))["statusCode"] == 200
    assert done == ["APPLICATION_AUTHORIZED"]


def test_a_load_balancer_that_sends_lists_of_headers_gets_lists() -> None:
    sender = SENDERS["stripe"]
    event = as_event(sender.send())
    headers: Any = event.pop("headers")
    balanced = event | {
        "requestContext": {"elb": {"targetGroupArn": "arn"}},
        "httpMethod": "POST",
        "path": "/",
        "multiValueHeaders": {name: [value] for name, value in headers.items()},
    }
    receive = receiver(sender, lambda _delivery, _claim: 1)
    for changed in (balanced, balanced | {"multiValueHeaders": {}}):
        answer = receive(changed)
        assert answer["multiValueHeaders"]["content-type"] == ["application/json"]
    assert "multiValueHeaders" not in receive(as_event(sender.send()))


@pytest.mark.parametrize("name", ["twilio", "hubspot", "square"])
def test_the_query_is_part_of_the_signed_address_through_every_front_door(name: str) -> None:
    sender = SENDERS[name]
    scheme = sender.scheme
    assert isinstance(scheme, HeaderScheme)
    blank = replace(sign(name, sender.body, [sender.signs], NOW, url=URL, headers=sender.headers), query="a=1&b=x%20y")
    sent = scheme.sign(blank, [sender.signs], NOW)
    event = as_event(sent)
    receive = receiver(sender, lambda _delivery, _claim: 1)
    assert receive(event)["statusCode"] == 200
    assert receive(event | {"rawQueryString": "a=2&b=x%20y"})["statusCode"] == 400
    parts = {name: value for name, value in event.items() if name not in {"rawQueryString", "rawPath", "version"}}
    rest = parts | {
        "httpMethod": "POST",
        "path": "/",
        "requestContext": {"httpMethod": "POST", "requestId": "r"},
        "multiValueQueryStringParameters": {"a": ["1"], "b": ["x y"]},
    }
    assert receive(rest)["statusCode"] == 200
    elb = parts | {
        "httpMethod": "POST",
        "path": "/",
        "requestContext": {"elb": {}},
        "queryStringParameters": {"a": "1", "b": "x%20y"},
    }
    assert receive(elb)["statusCode"] == 200


def test_a_scheme_of_ones_own_is_a_value() -> None:
    from idem.webhooks.header_forms import Pairs  # noqa: PLC0415 - as its user would
    from idem.webhooks.request_parts import Field  # noqa: PLC0415
    from idem.webhooks.signatures import Hmac  # noqa: PLC0415

    own = HeaderScheme(
        provider="acme",
        header="X-Acme-Signature",
        form=Pairs(separator=",", stamp="t", labels=("s",)),
        proofs={"s": Hmac(encoding="base64", algorithm="sha512")},
        signed="{method}\n{timestamp}\n{body}",
        event_id=Field("id"),
        event_type=Field("kind"),
    )
    blank = sign("github", b'{"id": "1", "kind": "made"}', ["x"], START_MS)
    sent = own.sign(blank, ["s"], START_MS)
    own.verify(sent, ["s"], START_MS)
    assert own.events(sent, START_MS)[0].identity.event_type == "made"
