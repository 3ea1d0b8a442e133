"""Where samples are delivered to. The posts themselves: test_sending."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Barrier
from typing import Any

import pytest

from idem.operators.connection import Connection
from idem.operators.delivering import Sent, queue, repeat, secrets_of, webhook
from idem.operators.operator_errors import Exit, OperatorError
from idem.operators.samples import SampleMessage
from tests.operators.conftest import Cli


@dataclass
class Recipient:
    """Takes messages, and lets each wait for as many others as are wanted."""

    together: int
    got: list[bytes] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.line = Barrier(self.together)

    def __call__(self, message: SampleMessage) -> Sent:
        self.line.wait(30)
        self.got.append(message.body)
        return Sent(said=message.body.decode())


MESSAGES = [SampleMessage(body=name, headers={}) for name in (b"a", b"b")]


def test_messages_are_delivered_in_order_as_often_as_asked() -> None:
    recipient = Recipient(together=1)
    sent = repeat(recipient, MESSAGES, times=2, concurrently=False)
    assert recipient.got == [b"a", b"b", b"a", b"b"]
    assert [one.said for one in sent] == ["a", "b", "a", "b"]


def test_concurrently_means_at_the_same_moment() -> None:
    recipient = Recipient(together=6)  # nobody passes before all six are there
    assert len(repeat(recipient, MESSAGES, times=3, concurrently=True)) == 6
    assert sorted(recipient.got) == [b"a"] * 3 + [b"b"] * 3


@pytest.mark.parametrize("by", ["name", "url"])
def test_a_queue_is_meant_by_its_name_or_its_url(connection: Connection, by: str) -> None:
    sqs: Any = connection.client("sqs")
    url = sqs.create_queue(QueueName="orders")["QueueUrl"]
    queue(connection, "orders" if by == "name" else url)(MESSAGES[0])
    (found,) = sqs.receive_message(QueueUrl=url)["Messages"]
    assert found["Body"] == "a"


def test_what_is_no_address_is_refused(connection: Connection) -> None:
    for address in ("nonsense", "ftp://example.org", "https://"):
        with pytest.raises(OperatorError, match="not an address") as refused:
            webhook(connection, address, provider=None, secrets=[])
        assert refused.value.status is Exit.USAGE


def test_several_secrets_are_read_as_the_handlers_read_them(connection: Connection) -> None:
    secrets: Any = connection.client("secretsmanager")
    secrets.create_secret(Name="signing", SecretString="whsec_new whsec_old\n")
    assert secrets_of(connection, "signing") == ["whsec_new", "whsec_old"]


@pytest.mark.parametrize(
    ("where", "said"),
    [
        (("--queue", "nobody-has-this"), "no queue"),
        (("--url", "http://127.0.0.1:9/", "--secret-id", "nobody-has-this"), "no secret"),
    ],
)
def test_a_queue_or_a_secret_that_is_not_there_is_said(moto_cli: Cli, where: tuple[str, ...], said: str) -> None:
    ran = moto_cli("send", "events/payments/checkout_completed.json", *where)
    assert ran.status == Exit.AWS
    assert said in ran.err
