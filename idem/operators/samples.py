"""Samples of events: what deliveries are in one, and what of it a producer or a provider would send again."""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from idem.delivery import Arrival, Delivery, Source, Unreadable
from idem.errors import InputRefused
from idem.operators.operator_errors import Exit, OperatorError
from idem.operators.record_text import now
from idem.operators.webhook_samples import ANY_ADDRESS, events, provider_of
from idem.sources.http import HttpRequest, parse_request
from idem.sources.invoke import InvokeSource
from idem.sources.sqs import SqsSource
from idem.sources.streams import DynamoStreamSource, KinesisSource
from idem.webhooks.schemes import by_name


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleMessage:
    """What is sent: the raw body, with the attributes or headers that the sample has of its own."""

    body: bytes
    headers: Mapping[str, str]


def load(name: str) -> Any:
    """The JSON in a file, or on standard input for "-". Raises OperatorError."""
    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
        return json.loads(text)
    except OSError as error:
        raise OperatorError(f"{name} could not be read: {error.strerror}.", status=Exit.USAGE) from error
    except ValueError as error:
        raise OperatorError(f"{name} is not JSON: {error}.", status=Exit.USAGE) from error
    except RecursionError as error:
        raise OperatorError(f"{name} is nested too deep to be read.", status=Exit.USAGE) from error


def change(sample: Any, settings: Sequence[str]) -> Any:
    """The sample with fields set: "orderId=7", "data.object.id=cs_7". A value that is JSON is taken as JSON."""
    changed = copy.deepcopy(sample)
    for setting in settings:
        path, equals, text = setting.partition("=")
        if not equals or not path:
            raise OperatorError(f"--set {setting}: write field=value.", status=Exit.USAGE)
        _set(changed, path.split("."), _value(text), setting)
    return changed


def deliveries(sample: Any, provider: str | None, skipped: Callable[[str], None]) -> list[Delivery]:
    """The deliveries in a sample: of a whole Lambda event, or of a payload by itself. Raises OperatorError.

    Signatures are not checked: those of a sample are too old. skipped: told about each message that cannot be read.
    """
    if not isinstance(sample, Mapping):
        return [_bare(sample)]
    try:
        if isinstance(sample.get("requestContext"), Mapping):
            return _webhook(parse_request(sample), provider)
        if isinstance(sample.get("Records"), list):
            return _readable(_source(sample).read(sample, 0), skipped)
    except InputRefused as error:
        raise OperatorError(f"This sample cannot be read: {error}.", status=Exit.USAGE) from error
    if provider or sample.get("object") == "event":
        return _webhook(as_request(_bare(sample).body), provider)
    return [_bare(sample)]


def as_request(body: bytes, headers: Mapping[str, str] | None = None) -> HttpRequest:
    """A body as a POST request."""
    return HttpRequest(method="POST", path="/", headers=headers or {}, body=body, request_id="sample")


def payload_of(body: bytes) -> Any:
    """What a body says in JSON, None if it is something else."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def messages(sample: Any) -> list[SampleMessage]:
    """What a producer or provider would have to send for this sample to arrive. Raises OperatorError."""
    if isinstance(sample, Mapping) and isinstance(sample.get("requestContext"), Mapping):
        try:
            request = parse_request(sample)
        except InputRefused as error:
            raise OperatorError(f"This sample cannot be read: {error}.", status=Exit.USAGE) from error
        kept = {name: value for name, value in request.headers.items() if name.startswith("x-") or "event" in name}
        return [SampleMessage(body=request.body, headers=kept)]
    if _records(sample, "eventSource") == "aws:sqs":
        return [SampleMessage(body=str(one.get("body", "")).encode(), headers={}) for one in sample["Records"]]
    return [SampleMessage(body=json.dumps(sample, ensure_ascii=False).encode(), headers={})]


def _webhook(request: HttpRequest, provider: str | None) -> list[Delivery]:
    """The events of a webhook as deliveries."""
    scheme = by_name(provider_of(provider, request.headers, payload_of(request.body)), ANY_ADDRESS)
    return [
        Delivery(
            id=request.request_id,
            payload=event.payload,
            body=event.body,
            event_id=event.identity.event_id,
            scope=event.identity.scope,
            headers=request.headers,
        )
        for event in events(scheme, request, now())
    ]


def _source(sample: Any) -> Source:
    """The source that reads a Lambda event of this kind."""
    sources: dict[str | None, Source] = {
        "aws:sqs": SqsSource(),
        "aws:kinesis": KinesisSource(),
        "aws:dynamodb": DynamoStreamSource(),
    }
    return sources.get(_records(sample, "eventSource"), InvokeSource())


def _bare(sample: Any) -> Delivery:
    """A payload by itself."""
    return Delivery(id="sample", payload=sample, body=json.dumps(sample, ensure_ascii=False).encode())


def _readable(arrivals: Sequence[Arrival], skipped: Callable[[str], None]) -> list[Delivery]:
    for arrival in arrivals:
        if isinstance(arrival, Unreadable):
            skipped(f"Skipped: {arrival.error}.")
    return [arrival for arrival in arrivals if isinstance(arrival, Delivery)]


def _records(sample: Any, name: str) -> str | None:
    records = sample.get("Records") if isinstance(sample, Mapping) else None
    first = records[0] if isinstance(records, list) and records else None
    return first.get(name) if isinstance(first, Mapping) else None


def _set(target: Any, path: Sequence[str], value: Any, setting: str) -> None:
    for step in path[:-1]:
        if isinstance(target, list) and step.isdecimal() and int(step) < len(target):
            target = target[int(step)]
        elif isinstance(target, dict):
            target = target.setdefault(step, {})
        else:
            raise OperatorError(f"--set {setting}: {step} leads nowhere in this sample.", status=Exit.USAGE)
    if isinstance(target, dict):
        target[path[-1]] = value
    elif isinstance(target, list) and path[-1].isdecimal() and int(path[-1]) < len(target):
        target[int(path[-1])] = value
    else:
        raise OperatorError(f"--set {setting}: {path[-1]} leads nowhere in this sample.", status=Exit.USAGE)


def _value(text: str) -> Any:
    """Text as it is; JSON where it is an object, a list, true, false or null, or follows "json:"."""
    given = text.removeprefix("json:")
    if given == text and text[:1] not in {"[", "{"} and text not in {"true", "false", "null"}:
        return text
    try:
        return json.loads(given)
    except ValueError as error:
        raise OperatorError(f"{given!r} is not JSON: {error}.", status=Exit.USAGE) from error
