"""Sends rejected messages to a dead-letter queue at once, so that they do not come back until the queue gives up on them."""

from __future__ import annotations

import base64
import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from idem.delivery import Ending, Rejected
from idem.log import log_fault
from idem.sources.content import mapping_of, text_of
from idem.text import ERROR_CHARS_MAX, message_of

ENTRIES_MAX = 10  # in one SendMessageBatch
BYTES_MAX = 256 * 1024  # in one SendMessageBatch; SQS has raised this limit, and no older endpoint refuses less
ATTRIBUTES_MAX = 10  # of one message

ERROR = "idem.error"
MESSAGE_ID = "idem.messageId"


class DeadLetters:
    """A dead-letter queue that the consumer itself sends to, with the error in message attributes.

    The sent message is a new one with a new id; its old id is in `idem.messageId`. A message that cannot be sent is reported
    failed and left to the queue's own redrive. The function needs sqs:SendMessage on the dead-letter queue.
    """

    def __init__(self, client: Any, queue_url: str) -> None:
        self._client = client
        self._queue_url = queue_url

    def send(self, endings: Sequence[Ending]) -> list[Ending]:
        """Send the rejected ones among `endings`; those that are in the dead-letter queue now."""
        sent: list[Ending] = []
        for batch in _batches([ending for ending in endings if _can_be_sent(ending)]):
            entries = [self._entry(str(index), ending) for index, ending in enumerate(batch)]
            try:
                answer = self._client.send_message_batch(QueueUrl=self._queue_url, Entries=entries)
            except Exception as error:  # noqa: BLE001 - whatever it is, the queue's own redrive takes them there
                log_fault(f"{len(entries)} messages were not sent to the dead-letter queue", error)
                continue
            sent += [batch[int(entry["Id"])] for entry in answer.get("Successful", ())]
            for refused in answer.get("Failed", ()):
                logging.getLogger(__name__).warning("a message was not sent to the dead-letter queue: %s", refused)
        return sent

    def _entry(self, entry_id: str, ending: Ending) -> dict[str, Any]:
        record = ending.arrival.raw or {}
        entry: dict[str, Any] = {
            "Id": entry_id,
            "MessageBody": record["body"],
            "MessageAttributes": _attributes(record)
            | {ERROR: _said(_error(ending)), MESSAGE_ID: _said(ending.arrival.id)},
        }
        if self._queue_url.endswith(".fifo"):
            own = text_of(mapping_of(record.get("attributes")).get("MessageGroupId"))
            entry["MessageGroupId"] = own or ending.arrival.id  # the arrival's group may be the whole queue
            entry["MessageDeduplicationId"] = ending.arrival.id
        return entry


def _can_be_sent(ending: Ending) -> bool:
    """Whether a message is rejected, and can be sent whole: with its body and all of its own attributes."""
    record = ending.arrival.raw
    if not isinstance(ending.outcome, Rejected) or record is None or not ending.arrival.id:
        return False
    body, attributes = record.get("body"), record.get("messageAttributes") or {}
    if not isinstance(body, str) or not body or not isinstance(attributes, Mapping):
        return False
    try:
        return len(_attributes(record)) <= ATTRIBUTES_MAX - 2
    except (KeyError, TypeError, ValueError, AttributeError):  # attributes of a form that SQS does not have
        return False


def _batches(endings: Sequence[Ending]) -> Iterator[list[Ending]]:
    batch: list[Ending] = []
    size = 0
    for ending in endings:
        length = len(str((ending.arrival.raw or {}).get("body")).encode("utf-8", "surrogatepass")) + 4 * ERROR_CHARS_MAX
        if batch and (len(batch) == ENTRIES_MAX or size + length > BYTES_MAX):
            yield batch
            batch, size = [], 0
        batch.append(ending)
        size += length
    if batch:
        yield batch


def _attributes(record: Mapping[str, Any]) -> dict[str, Any]:
    """The message's own attributes, from the form in which Lambda delivers them to the one in which SQS takes them."""
    found: dict[str, Any] = {}
    for name, value in (record.get("messageAttributes") or {}).items():
        kind = value["dataType"]
        if kind.startswith("Binary"):
            found[name] = {"DataType": kind, "BinaryValue": base64.b64decode(value["binaryValue"])}
        else:
            found[name] = {"DataType": kind, "StringValue": value["stringValue"]}
    return found


def _error(ending: Ending) -> str:
    error = getattr(ending.outcome, "error", None)
    return f"{type(error).__name__}: {message_of(error)}" if error else "unknown"


def _said(text: str) -> dict[str, str]:
    """A text attribute: SQS takes neither control characters nor an empty value."""
    printable = "".join(letter if letter.isprintable() else " " for letter in text)
    return {"DataType": "String", "StringValue": printable[:ERROR_CHARS_MAX] or "-"}
