from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from idem.operators import consumer_rules, samples
from idem.operators.operator_errors import OperatorError
from sandbox.isolation import ROOT

EVENTS = ROOT / "events"


def quiet(_text: str) -> None:
    """Nobody is told."""


def keys_of(name: str, consumer: str, provider: str | None = None) -> list[str]:
    rules = consumer_rules.load(consumer)
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


EVERY_SAMPLE = sorted(path.relative_to(EVENTS).as_posix() for path in EVENTS.rglob("*.json"))


def test_the_samples_of_the_repository_are_there() -> None:
    assert len(EVERY_SAMPLE) > 5


@pytest.mark.parametrize("path", EVERY_SAMPLE)
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


@pytest.mark.parametrize(("text", "said"), [("{", "not JSON"), ("[" * 100_000, "too deep")])
def test_a_file_that_cannot_be_read_is_said_to_be_so(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "sample.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(OperatorError, match=said):
        samples.load(str(file))
