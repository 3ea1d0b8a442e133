"""Webhooks on the deployed stack: real HTTP, real workers, the secret from the account's own secrets manager."""

from __future__ import annotations

import itertools
import json
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

from idem.webhooks.signed_requests import sign
from sandbox.access import Response
from sandbox.observed import Observed, wait_for
from sandbox.outside_world import payment
from tests.sandbox.conftest import Deployed

pytestmark = pytest.mark.e2e

AT_ONCE = 20
RETRY_SECONDS = 60  # a crashed attempt holds its key for the rest of its time-out
PATIENT_SECONDS = 60
WARM_SECONDS = 180  # a worker takes a second of CPU to start, on two cores that may have other work


class Provider:
    """A Stripe that knows this endpoint's secret."""

    def __init__(self, deployed: Deployed) -> None:
        secrets = deployed.account.client("secretsmanager")
        stored = secrets.get_secret_value(SecretId=deployed.outputs.payments_secret_arn)
        self.secret = stored["SecretString"].split()[0]
        self.account, self.url = deployed.account, deployed.outputs.payments_url
        self.function = deployed.outputs.payments_function_name
        self.observed = Observed(deployed.account, deployed.outputs)

    def post(self, body: Any, *, secret: str | None = None, age_s: int = 0, change: bytes = b"") -> Response:
        """Deliver a body once. age_s: how long ago it was signed; change: what is added to it afterwards."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        now_ms = (int(time.time()) - age_s) * 1000
        sent = sign("stripe", raw, [self.secret if secret is None else secret], now_ms)
        return self.account.post(self.url, sent.body + change, sent.headers)

    def post_until_done(self, event: Any) -> Response:
        """Deliver as a provider does that got an error: again, until it is told to stop."""
        answers: list[Response] = []

        def stopped() -> bool:
            answers.append(self.post(event))
            return answers[-1].status < 300

        wait_for("an answer of success", stopped, seconds=RETRY_SECONDS)
        return answers[-1]

    def post_at_once(self, events: list[Any]) -> list[Response]:
        """Deliver several events at the same moment."""
        with ThreadPoolExecutor(len(events)) as pool:
            return list(pool.map(self.post, events))

    def warm(self, at_once: int) -> None:
        """Have so many workers started, a few at a time: starting takes a second of CPU each."""
        for several in range(4, at_once + 1, 4):
            numbers = itertools.count()

            def answered(several: int = several, numbers: Iterator[int] = numbers) -> bool:
                wave = f"warm_{several}_{next(numbers)}"
                answers = self.post_at_once([payment(f"{wave}_{one}") for one in range(several)])
                return all(answer.status == 200 for answer in answers)

            wait_for(f"{several} warm workers", answered, seconds=WARM_SECONDS)

    @contextmanager
    def patient(self, seconds: int) -> Iterator[None]:
        """Meanwhile the function may take so long: a worker that starts on a busy machine is then not killed for it.

        The change, and its end, also replace every worker by a fresh one.
        """
        functions, name = self.account.client("lambda"), self.function
        before = functions.get_function_configuration(FunctionName=name)["Timeout"]
        functions.update_function_configuration(FunctionName=name, Timeout=seconds)
        try:
            yield
        finally:
            functions.update_function_configuration(FunctionName=name, Timeout=before)

    def effects(self, number: str) -> int:
        return self.observed.effects()[f"PAYMENT#cs_{number}"]


@pytest.fixture(scope="module")
def provider(deployed: Deployed) -> Provider:
    return Provider(deployed)


def test_a_rotated_secret_is_noticed_without_a_deployment(provider: Provider, deployed: Deployed) -> None:
    # In workers of its own: each reads its secret anew once in a minute at most, and forged requests use that up.
    with provider.patient(PATIENT_SECONDS):
        assert provider.post(payment("warm")).status == 200
        secrets = deployed.account.client("secretsmanager")
        both = f"{provider.secret} whsec_rotated"
        secrets.put_secret_value(SecretId=deployed.outputs.payments_secret_arn, SecretString=both)
        assert provider.post(payment("rotated"), secret="whsec_rotated").status == 200
        assert provider.post(payment("rotated")).headers["idempotent-replayed"] == "true"
        assert provider.effects("rotated") == 1


def test_twenty_deliveries_at_the_same_moment_are_one_effect_and_no_error(provider: Provider) -> None:
    event = payment("at_once")
    with provider.patient(PATIENT_SECONDS):
        provider.warm(AT_ONCE)
        answers = provider.post_at_once([event] * AT_ONCE)
    statuses = Counter(answer.status for answer in answers)
    assert set(statuses) <= {200, 409}, statuses
    first = [answer for answer in answers if answer.status == 200 and "idempotent-replayed" not in answer.headers]
    assert len(first) == 1
    assert all("retry-after" in answer.headers for answer in answers if answer.status == 409)
    assert provider.post(event).headers["idempotent-replayed"] == "true"
    assert provider.effects("at_once") == 1


@pytest.mark.parametrize("moment", ["before-effect", "before-record"])
def test_after_a_first_run_that_died_the_providers_retry_succeeds(provider: Provider, moment: str) -> None:
    number = moment.replace("-", "_")
    event = payment(number, sandbox_die=moment)
    assert provider.post(event).status >= 500
    answer = provider.post_until_done(event)
    assert json.loads(answer.body) == {"credited": 2500, "currency": "EUR"}
    assert provider.effects(number) == 1


@pytest.mark.parametrize(
    "bad",
    [{"change": b" "}, {"age_s": 301}, {"age_s": -301}, {"secret": "whsec_of_somebody_else"}, {"secret": ""}],
    ids=["tampered", "expired", "from the future", "wrong secret", "empty secret"],
)
def test_a_request_that_proves_nothing_is_refused_and_claims_nothing(provider: Provider, bad: dict[str, Any]) -> None:
    event = payment("forged")
    answer = provider.post(event, **bad)
    assert answer.status == 400
    assert json.loads(answer.body)["error"] == "signature"
    assert provider.effects("forged") == 0


def test_a_replay_inside_the_tolerance_does_nothing(provider: Provider) -> None:
    event = json.dumps(payment("replayed")).encode()
    sent = sign("stripe", event, [provider.secret], int(time.time()) * 1000)
    answers = [provider.account.post(provider.url, sent.body, sent.headers) for _ in range(3)]
    assert [answer.status for answer in answers] == [200, 200, 200]
    assert [answer.headers.get("idempotent-replayed") for answer in answers] == [None, "true", "true"]
    assert provider.effects("replayed") == 1


def test_a_body_of_a_megabyte_is_verified_and_worked_on(provider: Provider) -> None:
    event = payment("large", padding="x" * 1_000_000)
    assert provider.post(event).status == 200
    assert provider.effects("large") == 1


def test_a_body_of_no_bytes_is_refused_signed_or_not(provider: Provider) -> None:
    signed = provider.post(b"")
    assert (signed.status, json.loads(signed.body)["error"]) == (400, "malformed")
    unsigned = provider.account.post(provider.url, b"", {})
    assert (unsigned.status, json.loads(unsigned.body)["error"]) == (400, "signature")


def test_an_event_of_another_type_is_acknowledged(provider: Provider) -> None:
    event = payment("other") | {"type": "customer.created"}
    answer = provider.post(event)
    assert (answer.status, json.loads(answer.body)) == (200, {"ignored": "customer.created"})
