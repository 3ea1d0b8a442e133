"""Which deliveries are the same event: ids, accounts, kinds of events, and the second looks at their content."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from idem import (
    Consumer,
    Delivery,
    Forwarder,
    MemoryStore,
    Policy,
    Retention,
    SqsSource,
    Unreadable,
    WebhookSource,
    keys,
)
from idem.delivery import Arrival, Work
from idem.errors import MalformedDelivery, SignatureInvalid
from idem.keys import make_key
from idem.record import Key
from idem.testing import START_MS, ManualClock
from idem.webhooks import schemes
from idem.webhooks.forwarder import forwarded_event
from idem.webhooks.header_scheme import HeaderScheme
from idem.webhooks.scheme import Scheme
from idem.webhooks.signatures import HEX_SHA256
from idem.webhooks.signed_requests import as_event, sign
from idem.webhooks.source import object_and_type, same_content
from tests.webhooks.senders import HUBSPOT, NOW, SENDERS, URL

SECRET = "whsec_test"
SNAPSHOT = {
    "id": "evt_1",
    "object": "event",
    "type": "invoice.paid",
    "data": {"object": {"id": "in_1"}},
    "pending_webhooks": 1,
}
THIN = {
    "id": "evt_test_65R",
    "object": "v2.core.event",
    "type": "v1.billing.meter.error_report_triggered",
    "created": "2026-11-30T12:00:00.000Z",
    "context": "acct_7",
    "related_object": {"id": "mtr_1", "type": "billing.meter", "url": "/v1/billing/meters/mtr_1"},
}


def stripe(payload: Any, **source: Any) -> Delivery:
    event = as_event(sign("stripe", json.dumps(payload).encode(), [SECRET], START_MS))
    return delivery(WebhookSource(schemes.stripe(), lambda: [SECRET], **source).read(event, START_MS)[0])


def delivery(arrival: Arrival) -> Delivery:
    assert isinstance(arrival, Delivery), arrival
    return arrival


def test_a_connected_accounts_event_is_another_one() -> None:
    rule = keys.event_id()
    assert rule(stripe(SNAPSHOT)) == ("evt_1",)
    assert rule(stripe(SNAPSHOT | {"account": "acct_1"})) == ("acct_1", "evt_1")
    assert rule(stripe(SNAPSHOT | {"account": "acct_2"})) != rule(stripe(SNAPSHOT | {"account": "acct_1"}))


def test_a_thin_event_is_an_event_and_known_as_thin() -> None:
    found = stripe(THIN)
    assert (found.event_id, found.scope) == ("evt_test_65R", "acct_7")
    assert found.origin["objectId"] == "mtr_1"
    assert schemes.is_thin(found.payload)
    assert not schemes.is_thin(stripe(SNAPSHOT).payload)
    assert not schemes.is_thin([])


def test_an_endpoint_keeps_senders_apart_that_meet_in_one_operation() -> None:
    one, two = stripe(SNAPSHOT, endpoint="eu"), stripe(SNAPSHOT | {"account": "acct_1"}, endpoint="us")
    assert (one.scope, two.scope) == ("eu/", "us/acct_1")


NAMES = st.text(min_size=1, max_size=4).filter(str.strip) | st.sampled_from(
    ["eu", "eu/a", "a/b", "/", "%2F", "%", "a%2Fb"]
)


def scope_of(endpoint: str | None, account: str | None) -> str | None:
    return stripe(SNAPSHOT | ({"account": account} if account else {}), endpoint=endpoint).scope


@given(st.none() | NAMES, st.none() | NAMES, st.none() | NAMES, st.none() | NAMES)
@example("eu", "a/b", "eu/a", "b")
@example("x", None, None, "x")
@example("x", None, None, "x/")
@example("x", "", "x", None)
@example(None, "a%2Fb", None, "a/b")
def test_endpoint_and_account_never_meet_those_of_another_event(
    endpoint: str | None, account: str | None, other_endpoint: str | None, other_account: str | None
) -> None:
    same = (endpoint, account or None) == (other_endpoint, other_account or None)
    assert (scope_of(endpoint, account) == scope_of(other_endpoint, other_account)) == same


@pytest.mark.parametrize(("endpoint", "account"), [(None, None), (None, "acct_1"), ("eu", "acct_1")])
def test_scopes_without_slash_and_percent_sign_are_stored_as_ever(endpoint: str | None, account: str | None) -> None:
    assert scope_of(endpoint, account) == ("/".join(part for part in (endpoint, account) if part) or None)


def test_without_a_request_id_each_event_of_a_request_is_known_by_its_own() -> None:
    """A load balancer gives requests no id."""
    event = as_event(sign("hubspot", HUBSPOT, ["s"], START_MS, url=URL))
    event["requestContext"] = {"http": event["requestContext"]["http"]}
    first, second = map(delivery, WebhookSource(schemes.hubspot(URL), lambda: ["s"]).read(event, START_MS))
    assert (first.id, second.id) == (first.event_id, second.event_id)
    assert first.id != second.id


def test_what_a_users_own_scheme_raises_is_a_request_that_cannot_be_read() -> None:
    def raises(_given: Any) -> Any:
        raise KeyError("made up")

    rules: list[dict[str, Any]] = [{"parse": raises}, {"check": raises}, {"handshake": raises}]
    assert len(rules) == 3
    for rule in rules:
        own = HeaderScheme(provider="acme", header="x-signature", proofs={"": HEX_SHA256}, tolerance=None, **rule)
        blank = sign("github", b"{}", ["s"], START_MS)
        event = as_event(own.sign(blank, ["s"], START_MS))
        (found,) = WebhookSource(own, lambda: ["s"]).read(event, START_MS)
        assert isinstance(found, Unreadable)
        assert isinstance(found.error, MalformedDelivery)


def test_object_and_type_make_two_events_of_one_change_the_same() -> None:
    first, second = stripe(SNAPSHOT), stripe(SNAPSHOT | {"id": "evt_2"})
    assert object_and_type(first) == object_and_type(second) == ["in_1", "invoice.paid"]
    assert object_and_type(stripe(SNAPSHOT | {"account": "acct_1"})) == ["acct_1", "in_1", "invoice.paid"]
    with pytest.raises(MalformedDelivery, match="object"):
        object_and_type(stripe(SNAPSHOT | {"data": {}}))


def consumer(scheme: Scheme, secret: str, work: Work, **changes: Any) -> Consumer:
    clock = ManualClock()
    made = Consumer(
        operation="webhooks.test",
        source=WebhookSource(scheme, lambda: [secret]),
        key=keys.event_id(),
        work=work,
        policy=Policy(retention=Retention.WEBHOOK),
        store=MemoryStore(clock),
        clock=clock,
    )
    return replace(made, **changes)


def test_the_same_id_with_other_content_is_refused_and_what_may_differ_does_not_count() -> None:
    done: list[Any] = []
    receive = consumer(
        schemes.stripe(), SECRET, lambda one, _claim: done.append(one.event_id), check=same_content(schemes.stripe())
    )

    def post(payload: Any) -> int:
        status: int = receive(as_event(sign("stripe", json.dumps(payload).encode(), [SECRET], START_MS)))["statusCode"]
        return status

    assert post(SNAPSHOT) == 200
    assert post(SNAPSHOT | {"pending_webhooks": 0}) == 200
    assert post(SNAPSHOT | {"data": {"object": {"id": "in_2"}}}) == 422
    assert done == ["evt_1"]


def test_each_event_of_a_hubspot_batch_is_known_by_itself() -> None:
    done: list[str | None] = []
    receive = consumer(schemes.hubspot(URL), "s", lambda one, _claim: done.append(one.event_id))

    def post(*events: Any) -> dict[str, Any]:
        body = json.dumps(events).encode()
        answer: dict[str, Any] = receive(as_event(sign("hubspot", body, ["s"], START_MS, url=URL)))
        return answer

    first, second = json.loads(HUBSPOT)
    assert post(first)["statusCode"] == 200
    assert post(first | {"attemptNumber": 1}, second, second | {"attemptNumber": 2})["statusCode"] == 200
    assert done == ["62515/12345/123/1564113600000/1", "62515/12345/124/1564113600000/1"]
    association = {name: value for name, value in first.items() if name != "objectId"} | {
        "fromObjectId": 1,
        "toObjectId": 2,
    }
    unheard_of = {"subscriptionType": "contact.privacyDeletion", "portalId": 62515, "vid": 9}
    assert post(association, unheard_of, unheard_of | {"attemptNumber": 3})["statusCode"] == 200
    assert len(done) == 4


def test_one_failed_event_of_a_batch_has_the_whole_request_sent_again_and_only_it_runs_again() -> None:
    done: list[str | None] = []

    def work(one: Delivery, _claim: object) -> None:
        done.append(one.event_id)
        if one.payload["objectId"] == 124 and done.count(one.event_id) == 1:
            raise ConnectionError

    receive = consumer(schemes.hubspot(URL), "s", work)
    event = as_event(sign("hubspot", HUBSPOT, ["s"], START_MS, url=URL))
    first, second = receive(event), receive(event)
    assert (first["statusCode"], second["statusCode"]) == (503, 200)
    assert [one for one in done if one and "/123/" in one] == ["62515/12345/123/1564113600000/1"]


@pytest.mark.parametrize("body", [b"[]", b"{}", b'{"portalId": 1}'])
def test_a_hubspot_body_that_is_no_list_of_events_is_malformed(body: bytes) -> None:
    with pytest.raises(MalformedDelivery):
        schemes.hubspot(URL).events(sign("hubspot", body, ["s"], START_MS, url=URL), START_MS)


def test_shopifys_event_id_is_shared_by_subscriptions_and_its_webhook_id_is_not() -> None:
    one = sign(
        "shopify", b'{"id": 1}', ["s"], START_MS, headers={"x-shopify-webhook-id": "w-1", "x-shopify-event-id": "e-1"}
    )
    two = sign(
        "shopify", b'{"id": 1}', ["s"], START_MS, headers={"x-shopify-webhook-id": "w-2", "x-shopify-event-id": "e-1"}
    )

    def ids(scheme: Scheme) -> list[str]:
        return [scheme.events(request, START_MS)[0].identity.event_id for request in (one, two)]

    assert ids(schemes.shopify()) == ["w-1", "w-2"]
    assert ids(schemes.shopify(by_event=True)) == ["e-1", "e-1"]
    absent = sign("shopify", b'{"id": 1}', ["s"], START_MS, headers={"x-shopify-webhook-id": "w-3"})
    assert schemes.shopify(by_event=True).events(absent, START_MS)[0].identity.event_id == "w-3"


def test_linears_time_counts_only_where_it_is_signed() -> None:
    sent = sign(
        "linear", b'{"type": "Issue"}', ["s"], START_MS, headers={"linear-timestamp": str(START_MS + 3_600_000)}
    )
    scheme = schemes.linear()
    scheme.events(sent, START_MS)
    with pytest.raises(SignatureInvalid):
        scheme.events(sent, START_MS + 3_600_000)
    with pytest.raises(SignatureInvalid):
        scheme.events(replace(sent, body=b'{"type": "Issue"}'), START_MS)


def test_forms_are_events_too() -> None:
    status = b"MessageSid=SM1&MessageStatus=sent&AccountSid=AC1"
    twilio = schemes.twilio(URL)
    sent = sign("twilio", status, ["s"], START_MS, url=URL)
    (event,) = twilio.events(replace(sent, headers={"content-type": sent.headers["content-type"]}), START_MS)
    assert (event.identity.event_id, event.identity.scope) == ("SM1/sent", "AC1")
    command = sign("slack", b"command=%2Fdeploy&trigger_id=1.2&team_id=T1", ["s"], START_MS)
    (event,) = schemes.slack().events(command, START_MS)
    assert (event.identity.event_id, event.identity.event_type, event.identity.scope) == ("1.2", "/deploy", "T1")
    part = sign(
        "slack", b"payload=%7B%22trigger_id%22%3A%221.3%22%2C%22type%22%3A%22block_actions%22%7D", ["s"], START_MS
    )
    assert schemes.slack().events(part, START_MS)[0].identity.event_id == "1.3"


Ways = Mapping[str, Callable[..., tuple[Any, dict[str, str]]]]
"""How a provider can name an event: from the texts that name it to the body (an object, or a form) and the headers."""


def _adyen(code: str, reference: str, success: str, merchant: str) -> tuple[Any, dict[str, str]]:
    item = {"eventCode": code, "pspReference": reference, "success": success, "merchantAccountCode": merchant}
    return {"notificationItems": [{"NotificationRequestItem": item}]}, {}


def _of_subscription(portal: str, subscription: str, moment: str, event: str, **objects: str) -> Any:
    return [
        {"portalId": portal, "subscriptionId": subscription, "occurredAt": moment, "eventId": event, **objects}
        | {"subscriptionType": "contact.creation"}
    ]


WAYS: Mapping[str, Ways] = {
    "stripe": {
        "id": lambda one: ({**SNAPSHOT, "id": one}, {}),
        "id, account": lambda one, account: ({**SNAPSHOT, "id": one, "account": account}, {}),
    },
    "standard": {"id": lambda one: ({"type": "x"}, {"webhook-id": one})},
    "svix": {"id": lambda one: ({"type": "x"}, {"svix-id": one})},
    "github": {"id": lambda one: ({}, {"x-github-delivery": one})},
    "shopify": {
        "id, shop": lambda one, shop: ({}, {"x-shopify-webhook-id": one, "x-shopify-shop-domain": shop}),
    },
    "slack": {
        "id": lambda one: ({"event_id": one}, {}),
        "id, team": lambda one, team: ({"event_id": one, "team_id": team}, {}),
    },
    "square": {"id, merchant": lambda one, who: ({"event_id": one, "type": "x", "merchant_id": who}, {})},
    "paddle": {"id": lambda one: ({"event_id": one, "event_type": "x"}, {})},
    "twilio": {
        "token": lambda one: ("x=1", {"i-twilio-idempotency-token": one}),
        "token, account": lambda one, account: (
            urlencode({"AccountSid": account}, errors="surrogatepass"),
            {"i-twilio-idempotency-token": one},
        ),
        "sid, status": lambda sid, status: (
            urlencode({"MessageSid": sid, "MessageStatus": status}, errors="surrogatepass"),
            {"i-twilio-idempotency-token": ""},
        ),
        "body": lambda one: (
            urlencode({"Digits": one}, errors="surrogatepass"),
            {"i-twilio-idempotency-token": ""},
        ),
    },
    "hubspot": {
        "object": lambda a, b, c, d, e: (_of_subscription(a, b, c, d, objectId=e), {}),
        "pair": lambda a, b, c, d, e, f: (_of_subscription(a, b, c, d, fromObjectId=e, toObjectId=f), {}),
    },
    "adyen": {
        "code, reference, merchant": lambda code, reference, merchant: _adyen(code, reference, "", merchant),
        "with success": _adyen,
    },
    "adyen_platform": {
        "type, id, time": lambda kind, one, time: ({"type": kind, "data": {"id": one}, "timestamp": time}, {}),
        "body": lambda one: ({"note": one}, {}),
    },
    "linear": {"id, organization": lambda one, who: ({"type": "x", "organizationId": who}, {"linear-delivery": one})},
    "zendesk": {
        "id, account": lambda one, account: ({"account_id": account}, {"x-zendesk-webhook-invocation-id": one})
    },
    "lemon_squeezy": {
        "four": lambda name, kind, one, time: (
            {"meta": {"event_name": name}, "data": {"type": kind, "id": one, "attributes": {"updated_at": time}}},
            {},
        ),
        "body": lambda one: ({"meta": {"event_name": "x"}, "note": one}, {}),
    },
    "discord": {
        "id, application": lambda one, who: ({"id": one, "application_id": who}, {}),
        "body, application": lambda note, who: ({"note": note, "application_id": who}, {}),
    },
}

PLAIN_HOSTILE = ("a", "b", "a/b", "/", "%2F", "%", "%25", "a#b", "true", "x" * 600, "\x00", "a\x00", "\ud800")
COMPOSED_HOSTILE = ("é", "e\u0301", "\u212b", "a\u0301" * 3, "a" + "\u0301" * 40, "a" + "\u0301" * 41)
MARKED_HOSTILE = (
    "%hex:61",
    "%hex:c3a9",
    "%hex:65cc81",
    *(mark + "0" * 64 for mark in ("sha256:", "sha256%3A", "%sha256:")),
)
HOSTILE = st.sampled_from([*PLAIN_HOSTILE, *COMPOSED_HOSTILE, *MARKED_HOSTILE])


@st.composite
def named_events(draw: st.DrawFn, name: str) -> tuple[str | None, str, tuple[str, ...]]:
    """An endpoint, a way to name an event, and the texts that name it."""
    way = draw(st.sampled_from(sorted(WAYS[name])))
    count = WAYS[name][way].__code__.co_argcount
    texts = draw(st.lists(HOSTILE | st.text(min_size=1, max_size=3).filter(str.strip), min_size=count, max_size=count))
    return draw(st.none() | HOSTILE), way, tuple(texts)


def read_by_name(
    name: str, endpoint: str | None, way: str, texts: Sequence[str]
) -> tuple[dict[str, Any], WebhookSource]:
    sender = SENDERS[name]
    content, headers = WAYS[name][way](*texts)
    body = content.encode() if isinstance(content, str) else json.dumps(content).encode()
    usual = {"x-github-event": "x", "x-shopify-topic": "x"}
    sent = sign(name, body, [sender.signs], NOW, url=sender.url, headers=usual | headers)
    return as_event(sent), WebhookSource(sender.scheme, lambda: [sender.verifies], endpoint=endpoint)


class Sent:
    """A queue that keeps what it was sent, in the form in which Lambda delivers it."""

    def __init__(self) -> None:
        self.records: list[dict[str, Any]] = []

    def send_message_batch(self, *, QueueUrl: str, Entries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:  # noqa: ARG002, N803
        for entry in Entries:
            attributes = {
                name: {"stringValue": value["StringValue"], "dataType": "String"}
                for name, value in entry["MessageAttributes"].items()
            }
            record = {"messageId": "m", "eventSource": "aws:sqs", "body": entry["MessageBody"]}
            self.records.append(record | {"messageAttributes": attributes})
        return {"Successful": [{"Id": entry["Id"], "MessageId": "m"} for entry in Entries]}


@pytest.mark.parametrize("name", sorted(SENDERS))
@given(st.data())
def test_two_events_have_one_key_if_and_only_if_they_are_named_alike_inline_and_behind_a_queue(
    name: str, data: st.DataObject
) -> None:
    one = data.draw(named_events(name))
    other = data.draw(st.just(one) | named_events(name))

    def key(named: tuple[str | None, str, tuple[str, ...]]) -> Key:
        event, source = read_by_name(name, *named)
        inline = make_key("o", keys.event_id()(delivery(source.read(event, NOW)[0])))
        queue = Sent()
        Forwarder(source=source, client=queue, queue_url="q", clock=ManualClock(NOW))(event)
        (queued,) = SqsSource().read({"Records": queue.records}, NOW)
        assert make_key("o", forwarded_event(delivery(queued))) == inline
        return inline

    assert (key(one) == key(other)) == (one == other)


@pytest.mark.parametrize(
    ("name", "forged", "meant"),
    [
        ("twilio", ("token", "SM1/sent"), ("sid, status", "SM1", "sent")),
        ("twilio", ("token", f"sha256:{hashlib.sha256(b'Digits=7').hexdigest()}"), ("body", "7")),
        ("adyen", ("code, reference, merchant", "A", "P/true", "M"), ("with success", "A", "P", "true", "M")),
        ("adyen", ("with success", "A/B", "P", "true", "M"), ("with success", "A", "B/P", "true", "M")),
    ],
)
def test_an_id_cannot_be_written_like_an_id_of_another_kind(
    name: str, forged: tuple[str, ...], meant: tuple[str, ...]
) -> None:
    found = []
    for way, *texts in (forged, meant):
        event, source = read_by_name(name, None, way, texts)
        found.append(make_key("o", keys.event_id()(delivery(source.read(event, NOW)[0]))))
    assert found[0] != found[1]
