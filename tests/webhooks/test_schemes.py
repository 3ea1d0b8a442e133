"""What must hold for every scheme: who signed is let in, everybody else is refused with one error."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idem.delivery import Delivery
from idem.errors import (
    ConfigurationError,
    InputRefused,
    MalformedDelivery,
    NotAnEvent,
    SecretsUnavailable,
    SignatureInvalid,
)
from idem.sources.http import HttpRequest
from idem.webhooks import schemes
from idem.webhooks.signed_requests import as_event
from idem.webhooks.source import WebhookSource
from tests.webhooks.senders import NOW, SENDERS, URL, Sender, signature_header, with_header

every = pytest.mark.parametrize("sender", SENDERS.values(), ids=SENDERS)
timed = pytest.mark.parametrize("sender", [one for one in SENDERS.values() if one.timed], ids=lambda one: one.name)
untimed = pytest.mark.parametrize(
    "sender", [one for one in SENDERS.values() if not one.timed], ids=lambda one: one.name
)
headed = pytest.mark.parametrize(
    "sender", [one for one in SENDERS.values() if signature_header(one)], ids=lambda one: one.name
)
SIGN_URL = ["square", "twilio", "hubspot"]
MINUTE, DAY = 60_000, 86_400_000


def test_type_checkers_and_the_table_name_the_same_schemes() -> None:
    """Each scheme is imported when it is first asked for, so that what a type checker reads is never run."""
    lines = [line.split() for line in Path(schemes.__file__).read_text(encoding="utf-8").splitlines()]
    offered = {
        words[3]: words[1] for words in lines if words[:1] == ["from"] and words[2:3] == ["import"] and len(words) == 6
    }
    home = "idem.webhooks.providers."
    assert {name: f"{home}{one.file}" for name, one in schemes.PROVIDERS.items()} == {
        name: module for name, module in offered.items() if name != "is_thin"
    }
    assert {name for name, one in schemes.PROVIDERS.items() if one.signs_url} == set(SIGN_URL)


def test_a_scheme_is_reached_by_its_name_and_nothing_else_is() -> None:
    assert schemes.stripe().provider == schemes.by_name("stripe").provider == "stripe"
    with pytest.raises(AttributeError, match="nobody"):
        getattr(schemes, "nobody")  # noqa: B009 - the type checker knows that it is not there


def test_every_scheme_is_listed_and_nothing_that_only_serves_them() -> None:
    assert set(dir(schemes)) == {*schemes.PROVIDERS, "PROVIDERS", "Provider", "by_name", "is_thin"}


def test_every_scheme_is_here() -> None:
    assert set(SENDERS) == schemes.PROVIDERS.keys()


@every
def test_a_signed_request_brings_its_events(sender: Sender) -> None:
    assert [event.identity.event_id for event in sender.receive(sender.send())] == list(sender.identities)


@every
def test_a_changed_body_is_refused(sender: Sender) -> None:
    sent = sender.send()
    changed = replace(sent, body=sender.change(sent.body))
    assert changed != sent
    with pytest.raises(SignatureInvalid):
        sender.receive(changed)


@every
def test_another_endpoints_secret_is_refused(sender: Sender) -> None:
    with pytest.raises(SignatureInvalid):
        sender.receive(sender.send(sender.other_signs))


@every
def test_either_secret_is_accepted_while_one_is_rolled(sender: Sender) -> None:
    for secret in (sender.signs, sender.other_signs):
        for order in ((sender.verifies, sender.other_verifies), (sender.other_verifies, sender.verifies)):
            assert sender.accepts(sender.send(secret), *order)


@pytest.mark.parametrize("name", ["stripe", "standard", "svix", "paddle"])
def test_one_signature_of_several_is_enough(name: str) -> None:
    sender = SENDERS[name]
    both = sender.send(sender.other_signs, sender.signs)
    assert sender.accepts(both, sender.verifies)
    assert sender.accepts(both, sender.other_verifies)


@timed
def test_a_request_from_another_time_is_refused_in_both_directions(sender: Sender) -> None:
    sent = sender.send()
    assert sender.accepts(sent, now_ms=NOW + MINUTE)
    assert sender.accepts(sent, now_ms=NOW - MINUTE)
    for away in (-10 * 365 * DAY, -6 * MINUTE, 6 * MINUTE, 10 * 365 * DAY):
        with pytest.raises(SignatureInvalid):
            sender.receive(sent, now_ms=NOW + away)


@untimed
def test_a_scheme_without_a_time_takes_a_request_of_any_age(sender: Sender) -> None:
    assert sender.accepts(sender.send(), now_ms=NOW + 30 * DAY)


@every
@pytest.mark.parametrize("secrets", [[], [""], [" \n"]], ids=repr)
def test_without_a_secret_nobody_is_let_in(sender: Sender, secrets: list[str]) -> None:
    with pytest.raises(SignatureInvalid):
        sender.scheme.verify(sender.send(), secrets, NOW)


@headed
@pytest.mark.parametrize("value", [None, "", " ", "v1", ",", "=", "é", "\ud800", "\x00", "0" * 100_000, "v1,a " * 5000])
def test_a_missing_or_broken_signature_header_is_refused(sender: Sender, value: str | None) -> None:
    request = with_header(sender.send(), signature_header(sender) or "", value)
    with pytest.raises(SignatureInvalid):
        sender.receive(request)


@every
def test_header_names_come_in_any_case(sender: Sender) -> None:
    event = as_event(sender.send())
    headers: dict[str, str] = event["headers"]
    shouted = event | {"headers": {name.upper(): value for name, value in headers.items()}}
    found = source(sender).read(shouted, NOW)
    assert [one.event_id for one in found if isinstance(one, Delivery)] == list(sender.identities)


@every
def test_an_id_outside_of_the_signature_is_known_as_such(sender: Sender) -> None:
    """The table of schemes says whether the id is signed; here is the proof, by changing the header that carries it."""
    names = [name for name, value in sender.headers.items() if value in sender.identities]
    sent = sender.send()
    for name in names:
        assert sender.accepts(with_header(sent, name, "another")) is not sender.signed_id
    assert names or sender.signed_id


@every
def test_a_secret_of_the_wrong_form_is_a_fault_of_ours_and_never_shown(sender: Sender) -> None:
    with pytest.raises((SecretsUnavailable, SignatureInvalid)) as caught:
        sender.scheme.verify(sender.send(), ["whpk_not base64 \x00 hunter2", "whsec_!hunter2"], NOW)
    assert "hunter2" not in str(caught.value)


def source(sender: Sender, *secrets: str) -> WebhookSource:
    return WebhookSource(sender.scheme, lambda: secrets or [sender.verifies])


TEXT = st.text(max_size=40) | st.sampled_from(["t=1,v1=a", "v1,YQ==", "sha256=00", "ts=1;h1=00", "v0=00", "00" * 64])
CHANGES: st.SearchStrategy[Callable[[Any], Any]] = st.sampled_from(
    [
        lambda text: text[1:],
        lambda text: text[:-1],
        lambda text: text + text,
        lambda text: text.swapcase(),
        lambda text: f" {text}",
        lambda text: text.replace("=", ""),
        lambda text: text.replace(",", ",,"),
        lambda text: text + "\u0661",
        lambda text: text + "\x00\ud800",
    ]
)


@every
@given(data=st.data())
def test_hostile_headers_and_bodies_are_refused_with_an_input_error(sender: Sender, data: st.DataObject) -> None:
    """Every header of a genuine request is replaced or bent, and the body as well: nothing but a refusal comes of it."""
    sent = sender.send()
    names = sorted({*sent.headers, "x-other"})
    for name in data.draw(st.lists(st.sampled_from(names), max_size=3)):
        bend = data.draw(CHANGES | TEXT.map(lambda text: lambda _old: text))
        sent = with_header(sent, name, bend(sent.headers.get(name, "")))
    body = data.draw(
        st.just(sent.body) | st.binary(max_size=30) | st.sampled_from([b"{}", b"[]", b"null", b"[" * 50_000])
    )
    sent = replace(sent, body=body, query=data.draw(TEXT), method=data.draw(st.sampled_from(["POST", "GET", "é"])))
    _read(sender, sent)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["id", "type", "object", "event", "data", "token", "challenge", "meta", "notificationItems", "x"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


@every
@given(payload=JSON, raw=st.none() | st.binary(max_size=20))
def test_a_signed_body_of_any_content_is_read_or_refused(sender: Sender, payload: Any, raw: bytes | None) -> None:
    """A key holder's mistakes, or a forger who got hold of one, end no worse."""
    body = json.dumps(payload).encode() if raw is None else raw
    try:
        sent = sender.send(body=body)
    except (ConfigurationError, InputRefused, TypeError):
        return  # the sender cannot sign such a body: its signature has a place in it
    _read(sender, sent)


def _read(sender: Sender, sent: HttpRequest) -> None:
    try:
        for event in sender.receive(sent):
            assert event.identity.event_id.strip()
            assert event.identity.event_type
    except (SignatureInvalid, MalformedDelivery, NotAnEvent):
        pass
    arrivals = source(sender).read(as_event(sent), NOW)
    assert arrivals
    for arrival in arrivals:
        assert isinstance(arrival, Delivery) or isinstance(arrival.error, InputRefused)


@pytest.mark.parametrize("name", ["nobody", "", "by_name"])
def test_an_unknown_scheme_is_named_with_those_that_there_are(name: str) -> None:
    with pytest.raises(ConfigurationError, match="stripe"):
        schemes.by_name(name)


@pytest.mark.parametrize("name", SIGN_URL)
def test_a_scheme_that_signs_the_address_asks_for_it(name: str) -> None:
    with pytest.raises(ConfigurationError, match="address"):
        schemes.by_name(name)
    with pytest.raises(SignatureInvalid):
        schemes.by_name(name, URL + "/other").verify(SENDERS[name].send(), [SENDERS[name].verifies], NOW)
