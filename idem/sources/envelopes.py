"""What other services wrap round an event: who it is, where it came from, and what is in it.

| envelope | identity | what it is good for |
|---|---|---|
| `sns` | topic and SNS message id | redelivery; a publisher that repeats itself gets another id |
| `eventbridge` | event source and event id | redelivery; a repeated PutEvents gets another id |
| `s3` | bucket, object key, version and sequencer | each change of an object, however often it is notified |

With raw message delivery SNS adds no envelope and no id: use a field of the payload then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from idem.errors import MalformedDelivery
from idem.sources.content import mapping_of, parse_json
from idem.text import exact


@dataclass(frozen=True, slots=True, kw_only=True)
class Unwrapped:
    """An event out of its envelope. scope: what its id is unique in."""

    payload: Any
    event_id: str | None = None
    scope: str | None = None


Envelope = Callable[[Any], Unwrapped]
"""From the parsed content to the event in it. Raises MalformedDelivery if it is not of its kind."""


def bare(content: Any) -> Unwrapped:
    """No envelope: the content is the event."""
    return Unwrapped(payload=content)


def sns(content: Any) -> Unwrapped:
    """An SNS notification; its message is read as JSON. For SQS subscriptions without raw message delivery."""
    if not isinstance(content, Mapping) or content.get("Type", "Notification") != "Notification":
        raise MalformedDelivery("the content is not an SNS notification")
    message = content.get("Message")
    if not isinstance(message, str):
        raise MalformedDelivery("the SNS notification has no message; is raw message delivery on for the subscription?")
    return Unwrapped(
        payload=parse_json(message.encode("utf-8", "surrogatepass")),
        event_id=_required(content, "MessageId", "SNS notification"),
        scope=_required(content, "TopicArn", "SNS notification"),
    )


def eventbridge(content: Any) -> Unwrapped:
    """An EventBridge event: its detail is the payload."""
    if not isinstance(content, Mapping) or "detail-type" not in content or "detail" not in content:
        raise MalformedDelivery("the content is not an EventBridge event: it has no detail-type or no detail")
    return Unwrapped(
        payload=content["detail"],
        event_id=_required(content, "id", "EventBridge event"),
        scope=_required(content, "source", "EventBridge event"),
    )


def s3(content: Any) -> Unwrapped:
    """An S3 notification of one record, which is the payload.

    S3 repeats notifications, and its sequencer orders the changes of one object. S3 names the object with a URL-encoded key.
    """
    records = content.get("Records") if isinstance(content, Mapping) else None
    if not isinstance(records, list) or len(records) != 1 or not isinstance(records[0], Mapping):
        raise MalformedDelivery("the content is not an S3 notification of one record (a test event is none)")
    return s3_record(records[0])


def s3_record(record: Mapping[str, Any]) -> Unwrapped:
    """One record of an S3 notification."""
    where = mapping_of(record.get("s3"))
    bucket, changed = mapping_of(where.get("bucket")).get("name"), mapping_of(where.get("object"))
    if not isinstance(bucket, str) or not isinstance(changed.get("key"), str):
        raise MalformedDelivery("the S3 record names no bucket or no object key")
    event, version, sequencer = (
        str(found or "") for found in (record.get("eventName", ""), changed.get("versionId"), changed.get("sequencer"))
    )
    if not version and not sequencer:
        raise MalformedDelivery(
            "the S3 record has neither a version nor a sequencer: nothing tells one change from the next"
        )
    if "/" in event + version + sequencer:  # S3 writes none there; it would move the key's beginning
        raise MalformedDelivery("the S3 record has a slash in its event's name, its version or its sequencer")
    event_id = "/".join([event, version, sequencer, changed["key"]])
    return Unwrapped(payload=record, event_id=exact(event_id), scope=exact(bucket))


def _required(content: Mapping[str, Any], name: str, what: str) -> str:
    value = content.get(name)
    if not isinstance(value, str) or not value:
        raise MalformedDelivery(f"the {what} has no {name}")
    return exact(value)
