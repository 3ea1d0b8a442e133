"""Secrets that change while a function is warm."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest

from idem.delivery import Delivery, Unreadable
from idem.errors import SecretsUnavailable, SignatureInvalid
from idem.testing import START_MS
from idem.webhooks import schemes
from idem.webhooks.secrets import RefreshedSecrets
from idem.webhooks.signed_requests import as_event, sign
from idem.webhooks.source import WebhookSource

BODY = b'{"id":"evt_1","object":"event","type":"x"}'
MINUTE = 60_000


class Manager:
    """A secret behind a cache that never ends by itself."""

    def __init__(self, *secrets: str) -> None:
        self.stored: Sequence[str] = secrets
        self.cached: Sequence[str] = secrets
        self.readings = 0
        self.away = False

    def fresh(self) -> Sequence[str]:
        self.readings += 1
        if self.away:
            raise OSError("the secrets manager is away")
        self.cached = self.stored
        return self.cached

    def source(self) -> WebhookSource:
        return WebhookSource(schemes.stripe(), RefreshedSecrets(lambda: self.cached, self.fresh))


def read(source: WebhookSource, secret: str, now_ms: int = START_MS) -> Delivery | Unreadable:
    (found,) = source.read(as_event(sign("stripe", BODY, [secret], now_ms)), now_ms)
    return found


def test_a_rotation_is_noticed_at_the_first_signature_that_fails() -> None:
    manager = Manager("old")
    source = manager.source()
    assert isinstance(read(source, "old"), Delivery)
    assert manager.readings == 0
    manager.stored = ["new"]
    assert isinstance(read(source, "new"), Delivery)
    assert isinstance(read(source, "new"), Delivery)
    assert manager.readings == 1
    assert isinstance(read(source, "old"), Unreadable)


def test_wrong_signatures_cause_one_reading_in_an_interval() -> None:
    manager = Manager("right")
    source = manager.source()
    for number in range(200):
        found = read(source, "wrong", START_MS + number * 250)
        assert isinstance(found, Unreadable)
        assert isinstance(found.error, SignatureInvalid)
    assert manager.readings == 1
    read(source, "wrong", START_MS + MINUTE)
    assert manager.readings == 2


def test_a_broken_or_old_signature_causes_no_reading() -> None:
    manager = Manager("right")
    source = manager.source()
    event = as_event(sign("stripe", BODY, ["wrong"], START_MS))
    source.read(event, START_MS + 60 * MINUTE)
    source.read(event | {"headers": {"stripe-signature": "t=1"}}, START_MS)
    source.read(event | {"headers": {}}, START_MS)
    assert manager.readings == 0


def test_a_failed_reading_is_no_refusal_and_counts_as_one() -> None:
    manager = Manager("right")
    manager.away = True
    source = manager.source()
    first, second = read(source, "new"), read(source, "new")
    assert isinstance(first, Unreadable)
    assert isinstance(first.error, SecretsUnavailable)
    assert isinstance(second, Unreadable)
    assert isinstance(second.error, SignatureInvalid)
    assert manager.readings == 1


def test_the_interval_can_be_chosen() -> None:
    secrets = RefreshedSecrets(lambda: ["a"], lambda: ["b"], every=timedelta(seconds=5))
    assert [secrets.refresh(now) for now in (0, 4_999, 5_000)] == [["b"], None, ["b"]]


@pytest.mark.parametrize("stored", [[], [" "]])
def test_a_secret_that_was_emptied_is_no_refusal(stored: list[str]) -> None:
    manager = Manager("right")
    manager.stored = stored
    found = read(manager.source(), "new")
    assert isinstance(found, Unreadable)
    assert isinstance(found.error, SecretsUnavailable)
