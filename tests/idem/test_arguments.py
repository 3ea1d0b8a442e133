"""A mistake in what a consumer is made of is told when it is built, by a sentence that names it and says what to give."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import boto3
import pytest

from idem import Consumer, DynamoStore, MemoryStore, Policy, Retention, SqsSource, WebhookSource, keys, once, schemes
from idem.errors import ConfigurationError
from idem.sources.idempotency_key import IdempotencyKeySource
from idem.sources.invoke import InvokeSource
from idem.sources.streams import KinesisSource
from idem.wrappers.also_once import also_once


def work(_delivery: Any, _claim: Any) -> None:
    """What a consumer runs."""


def consumer(**changed: Any) -> Any:
    right: dict[str, Any] = {
        "operation": "orders.fulfil",
        "source": SqsSource(),
        "key": keys.field("orderId"),
        "work": work,
        "policy": Policy(retention=Retention.QUEUE),
        "store": MemoryStore(),
    }
    return Consumer(**right | changed)


def decorated(**changed: Any) -> Any:
    right: dict[str, Any] = {
        "operation": "orders.fulfil",
        "key": keys.field("orderId"),
        "policy": Policy(retention=Retention.QUEUE),
        "store": MemoryStore(),
    }
    return once(**right | changed)


def policy(**changed: Any) -> Any:
    return Policy(**{"retention": Retention.QUEUE} | changed)


class OnlyTakesOne:
    def __call__(self, _delivery: Any) -> None:
        """One parameter too few."""


LOCATION = {"region_name": "eu-west-1", "aws_access_key_id": "none", "aws_secret_access_key": "none"}
RESOURCE = boto3.resource("dynamodb", **LOCATION).Table("records")  # type: ignore[call-overload]
DYNAMODB = SimpleNamespace(put_item=print)

MISTAKES: list[tuple[Callable[[], Any], str]] = [
    (lambda: consumer(key="orderId"), r"key is the text 'orderId': give a rule, such as keys\.field\('orderId'\)"),
    (lambda: consumer(key=keys.message_id), r"key takes no parameter, and is called with the delivery"),
    (lambda: consumer(check="amount"), "check is the text 'amount': give a function"),
    (lambda: consumer(store=None), r"store is None.*give DynamoStore\(client, table\)"),
    (lambda: consumer(store=MemoryStore), "store is the class MemoryStore itself: give an object"),
    (lambda: consumer(source=SqsSource), "source is the class SqsSource itself: give an object"),
    (lambda: consumer(source="sqs"), r"source is the text 'sqs', which has no read\(\)"),
    (lambda: consumer(policy=Policy), "policy is the class Policy"),
    (lambda: consumer(policy=None), "policy is None"),
    (
        lambda: consumer(work=lambda _delivery: None),
        "work takes _delivery, and is called with the delivery and the claim",
    ),
    (lambda: consumer(work=OnlyTakesOne()), "work takes _delivery, and is called with the delivery and the claim"),
    (lambda: consumer(work="fulfil"), "work is the text 'fulfil'"),
    (lambda: consumer(work=None, plan=work), "plan takes _delivery, _claim, and is called with the delivery:"),
    (lambda: consumer(observe=lambda: None), "observe takes no parameter"),
    (lambda: consumer(record_within=50), "record_within is 50: give a timedelta"),
    (lambda: consumer(reserve=0.5), "reserve is 0.5: give a timedelta"),
    (lambda: consumer(concurrency="3"), "concurrency is the text '3'"),
    (lambda: consumer(concurrency=True), "concurrency is True"),
    (lambda: decorated(key="orderId"), "key is the text 'orderId'"),
    (lambda: decorated(store=None), "store is None"),
    (lambda: decorated(policy=3600), "policy is 3600"),
    (lambda: decorated()("send"), "got the text 'send'"),
    (lambda: also_once(work, operation="a.b", store=None, policy=policy()), "store is None"),  # type: ignore[arg-type]
    (lambda: policy(retention=3600), "retention is 3600: give a timedelta.*or None to keep records for ever"),
    (lambda: policy(lease=900), "lease is 900: give a timedelta"),
    (lambda: policy(permanent=("ValueError",)), "permanent has the text 'ValueError' in it"),
    (lambda: policy(permanent=ValueError), "permanent is the class ValueError: give a tuple"),
    (lambda: policy(permanent=[ValueError]), "permanent is a list: give a tuple"),
    (lambda: policy(transient=(ValueError(),)), "transient has a ValueError in it"),
    (lambda: policy(forget=(KeyboardInterrupt,)), "forget has the class KeyboardInterrupt in it"),
    (lambda: policy(classify=lambda: None), "classify takes no parameter"),
    (lambda: policy(otherwise="permanent"), r"otherwise is the text 'permanent': give one of Kind\.TRANSIENT"),
    (lambda: policy(lapsed="hold"), r"lapsed is the text 'hold': give one of Lapsed\.TAKE_OVER, Lapsed\.HOLD"),
    (lambda: policy(starts_max="3"), "starts_max is the text '3'"),
    (lambda: DynamoStore(RESOURCE, "records"), "client is a boto3 resource, a dynamodb.Table"),
    (lambda: DynamoStore(None, "records"), r'client is None.*give boto3\.client\("dynamodb"\)'),
    (lambda: DynamoStore(DYNAMODB, None), "table is None.*environment variable"),  # type: ignore[arg-type]
    (lambda: DynamoStore(DYNAMODB, " "), "table is the text ' '"),
    (lambda: WebhookSource(schemes.stripe(), ["whsec_1"]), r"secrets is a list: give a function"),  # type: ignore[arg-type]
    (lambda: WebhookSource(schemes.stripe(), "whsec_1"), "secrets is the text"),  # type: ignore[arg-type]
    (lambda: WebhookSource(schemes.stripe, lambda: ["whsec_1"]), "scheme is a function"),  # type: ignore[arg-type]
    (lambda: IdempotencyKeySource(caller="sub"), "caller is the text 'sub'"),  # type: ignore[arg-type]
    (lambda: InvokeSource(envelope="sns"), "envelope is the text 'sns'"),  # type: ignore[arg-type]
    (lambda: KinesisSource(parse=lambda: 1), "parse takes no parameter"),  # type: ignore[misc, arg-type]
    (lambda: SqsSource(parse="json"), "parse is the text 'json'"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("build", "told"), MISTAKES, ids=[told[:40] for _, told in MISTAKES])
def test_a_mistake_is_told_when_it_is_built(build: Callable[[], Any], told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        build()


def test_a_consumer_names_itself_in_what_it_tells() -> None:
    with pytest.raises(ConfigurationError, match=r"^orders\.fulfil: key is"):
        consumer(key=None)


def test_what_a_mistake_holds_is_told_in_a_bounded_form() -> None:
    with pytest.raises(ConfigurationError) as told:
        consumer(key="x" * 10_000)
    assert len(str(told.value)) < 300


def test_an_object_whose_attributes_fail_is_told_too() -> None:
    class Proxy:
        def __getattr__(self, name: str) -> Any:
            raise RuntimeError(name)

    with pytest.raises(ConfigurationError, match=r"store is a Proxy, which has no claim\(\)"):
        consumer(store=Proxy())


class Callables:
    async def method(self, delivery: Any, claim: Any, *, more: int = 1) -> None:
        """A bound method."""


RIGHT: list[Any] = [work, Callables().method, lambda *_: None, lambda delivery, claim=None: (delivery, claim), max]


@pytest.mark.parametrize("function", RIGHT, ids=str)
def test_whatever_can_be_called_with_what_it_gets_is_taken(function: Any) -> None:
    assert consumer(work=function, reserve=timedelta(0)).work is function
