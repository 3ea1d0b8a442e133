from __future__ import annotations

import json
from typing import Any

import pytest

from idem.operators import consumers, samples, webhook_samples
from idem.operators.operator_errors import OperatorError
from idem.operators.record_text import now
from idem.operators.samples import as_request
from idem.operators.webhook_samples import NAMES, scheme_of, signed
from sandbox.isolation import ROOT

EVENTS = ROOT / "events"


def quiet(_text: str) -> None:
    """Nobody is told."""


def keys_of(name: str, consumer: str, provider: str | None = None) -> list[str]:
    rules = consumers.load(consumer)
    found = samples.deliveries(samples.load(str(EVENTS / name)), provider, quiet)
    return [str(rules.key_of(one)) for one in found]


@pytest.mark.parametrize("name", ["orders/order_1001.json", "orders/batch.json"])
def test_the_key_of_an_order_is_the_consumers_own(name: str) -> None:
    assert keys_of(name, "handlers.orders")[0] == "orders.fulfil#1001"


@pytest.mark.parametrize(
    "name", ["checkout_completed.json", "function_url.json", "http_api.json", "rest_api.json", "load_balancer.json"]
)
def test_the_key_of_a_payment_is_the_same_in_every_wrapping(name: str) -> None:
    assert keys_of(f"payments/{name}", "handlers.payments") == ["payments.credit#evt_1ExampleCompleted"]


def test_a_message_that_cannot_be_read_is_told_and_the_others_are_read() -> None:
    told: list[str] = []
    found = samples.deliveries(samples.load(str(EVENTS / "orders/batch.json")), None, told.append)
    assert len(found) == 3
    assert len(told) == 1


@pytest.mark.parametrize("path", sorted(path.relative_to(EVENTS).as_posix() for path in EVENTS.rglob("*.json")))
def test_every_sample_of_the_repository_can_be_read_and_sent(path: str) -> None:
    sample = samples.load(str(EVENTS / path))
    assert samples.messages(sample)
    try:
        assert samples.deliveries(sample, None, quiet)
    except OperatorError as refused:
        assert refused.remedy or "cannot be read" in refused.sentence  # noqa: PT017 - a sentence is an answer too


@pytest.mark.parametrize(
    ("setting", "path", "value"),
    [
        ("orderId=7", ("orderId",), "7"),
        ("lines.0.quantity=json:3", ("lines", 0, "quantity"), 3),
        ("gift=true", ("gift",), True),
        ('meta.tags=["a"]', ("meta", "tags"), ["a"]),
        ("note=a=b", ("note",), "a=b"),
    ],
)
def test_a_field_is_set(setting: str, path: tuple[Any, ...], value: Any) -> None:
    sample = {"orderId": "1", "lines": [{"quantity": 1}]}
    found: Any = samples.change(sample, [setting])
    for step in path:
        found = found[step]
    assert found == value
    assert sample == {"orderId": "1", "lines": [{"quantity": 1}]}


@pytest.mark.parametrize("setting", ["orderId", "=7", "lines.9.quantity=1", "orderId.deeper=1", "x=[1"])
def test_a_setting_that_leads_nowhere_is_refused(setting: str) -> None:
    with pytest.raises(OperatorError):
        samples.change({"orderId": "1", "lines": []}, [setting])


SECRETS = {"adyen": "ab" * 32, "adyen_platform": "ab" * 32, "adyen-platform": "ab" * 32, "discord": "ab" * 32}


@pytest.mark.parametrize("provider", NAMES)
def test_what_is_signed_for_a_provider_passes_its_own_check(provider: str) -> None:
    if provider in SECRETS or provider in {"standard", "svix"}:
        return  # their secrets have a form of their own; their own tests sign and verify
    url = "https://example.org/hook"
    scheme = scheme_of(provider, {}, url)
    body = json.dumps({"id": "1", "webhookTimestamp": now()}).encode()
    request = as_request(body, {"content-type": "application/json"})
    scheme.verify(signed(scheme, request, ["a secret"], now()), ["a secret"], now())


def test_a_provider_that_nobody_knows_is_refused_with_those_there_are() -> None:
    with pytest.raises(OperatorError, match="github"):
        scheme_of("acme", {})
    with pytest.raises(OperatorError, match="Whose webhook"):
        webhook_samples.scheme_of(None, {"content-type": "application/json"})


def test_a_rule_on_the_command_line_is_a_key_rule() -> None:
    rules = consumers.written("o.p", by=None, fields=["a", "b"], intent=None, header=None)
    (delivery,) = samples.deliveries({"a": 1, "b": "x"}, None, quiet)
    assert str(rules.key_of(delivery)) == "o.p#1#x"


@pytest.mark.parametrize(("by", "fields"), [("message-id", ["a"]), (None, []), ("luck", [])])
def test_no_rule_two_rules_and_unknown_rules_are_refused(by: str | None, fields: list[str]) -> None:
    with pytest.raises(OperatorError):
        consumers.written("o.p", by=by, fields=fields, intent=None, header=None)


@pytest.mark.parametrize("name", ["no.such.module", "json", "handlers.orders:fulfil_order", "handlers.orders:nothing"])
def test_what_is_no_consumer_is_refused_with_what_is_expected(name: str) -> None:
    with pytest.raises(OperatorError, match="OPERATION and KEY"):
        consumers.load(name)
