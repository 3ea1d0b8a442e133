"""Deliver samples as their senders do: messages to a queue, signed posts to a webhook's address."""

from __future__ import annotations

import http.client
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from idem.clock import new_token
from idem.operators.connection import Connection
from idem.operators.operator_errors import Exit, OperatorError
from idem.operators.record_text import now
from idem.operators.samples import SampleMessage, as_request, payload_of
from idem.operators.webhook_samples import provider_of, signed
from idem.sources.http import REPLAYED_HEADER
from idem.webhooks.schemes import by_name

POST_SECONDS = 60.0  # longer than any provider waits, so that the function's own time-out is seen and not this one
BODY_CHARS_MAX = 2000  # of an answer that is shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """What the other side said to one delivery. status: of an HTTP answer, None for a queue. ms: how long it took."""

    said: str
    status: int | None = None
    replayed: bool = False
    ms: int = 0

    def as_json(self) -> dict[str, Any]:
        return {"status": self.status, "replayed": self.replayed, "said": self.said, "ms": self.ms}


Target = Callable[[SampleMessage], Sent]


def queue(connection: Connection, name_or_url: str) -> Target:
    """A queue by its URL or its name."""
    client = connection.client("sqs")
    is_url = "://" in name_or_url
    url = name_or_url if is_url else str(client.get_queue_url(QueueName=name_or_url)["QueueUrl"])
    fifo = url.endswith(".fifo")

    def send(message: SampleMessage) -> Sent:
        # Each message has its own deduplication id: this sender repeats itself, and SQS must not hide it.
        grouped = {"MessageGroupId": "idem", "MessageDeduplicationId": new_token()} if fifo else {}
        began = time.monotonic()
        answer = client.send_message(QueueUrl=url, MessageBody=message.body.decode("utf-8"), **grouped)
        return Sent(said=str(answer["MessageId"]), ms=_since(began))

    return send


def webhook(
    connection: Connection, url: str, *, provider: str | None, secrets: Sequence[str], tamper: bool = False
) -> Target:
    """A webhook's address; every delivery gets a fresh signature. tamper: the body is changed after it was signed."""
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        raise OperatorError(f"{url!r} is not an address to post to.", "Pass --url https://...", Exit.USAGE)
    local = connection.local_endpoint

    def post(message: SampleMessage) -> Sent:
        request = as_request(message.body, {"content-type": "application/json", **message.headers})
        if secrets:
            name = provider_of(provider, message.headers, payload_of(message.body))
            request = signed(by_name(name, url), request, secrets, now())
        body = request.body + b" " if tamper else request.body
        return _post(url, body, request.headers, local)

    return post


def repeat(target: Target, messages: Sequence[SampleMessage], *, times: int, concurrently: bool) -> list[Sent]:
    """Deliver all messages `times` times: one after the other, or all at once."""
    everything = [message for _ in range(times) for message in messages]
    if not concurrently:
        return [target(message) for message in everything]
    with ThreadPoolExecutor(min(len(everything), 64)) as pool:
        return list(pool.map(target, everything))


def secrets_of(connection: Connection, secret_id: str) -> list[str]:
    """The signing secrets that Secrets Manager holds, as the handlers read them."""
    value = connection.client("secretsmanager").get_secret_value(SecretId=secret_id)
    return str(value.get("SecretString", "")).split()


def _post(url: str, body: bytes, headers: Mapping[str, str], local: str | None) -> Sent:
    """Post, by way of the local engine where that is where the address was deployed."""
    parts = urlsplit(url)
    way = urlsplit(local) if local else parts
    make = http.client.HTTPSConnection if way.scheme == "https" else http.client.HTTPConnection
    connection = make(way.hostname or "", way.port, timeout=POST_SECONDS)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    began = time.monotonic()
    try:
        connection.request("POST", target, body=body, headers={**headers, "host": parts.netloc})
        answer = connection.getresponse()
        text = answer.read().decode("utf-8", "replace")[:BODY_CHARS_MAX]
        replayed = answer.getheader(REPLAYED_HEADER) == "true"
        return Sent(said=text, status=answer.status, replayed=replayed, ms=_since(began))
    except OSError as error:
        raise OperatorError(f"{url} does not answer: {error}.", "Is it deployed, and reachable?", Exit.AWS) from error
    finally:
        connection.close()


def _since(began: float) -> int:
    return int((time.monotonic() - began) * 1000)
