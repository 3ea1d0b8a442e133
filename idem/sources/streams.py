"""Kinesis and DynamoDB Streams: ordered records in, a checkpoint out.

The answer names the first record that was not done; Lambda comes again from there, and what was done behind it replays. The
event source mapping must have ReportBatchItemFailures on.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from idem.arguments import check_function
from idem.delivery import Arrival, Delivery, Done, Ending, Rejected, Unreadable
from idem.errors import IdemError, MalformedDelivery, RequestMismatch, UnreportableRecord, WrongEvent
from idem.sources.content import mapping_of, parse_json, text_of, understood
from idem.text import exact


class StreamSource:
    """What both kinds of stream share. Order is kept for each item or partition key; others go on after its failure.

    A rejection that is recorded lets the stream go on: a stream has no dead-letter queue of its own, and one record would hold
    up its shard until it expires. A rejection that is not recorded stops it. So does another content under a known key, which no
    record tells of: the mapping's retries, and then its failure destination, are what ends it.
    """

    def __init__(self, event_source: str) -> None:
        self._event_source = event_source

    def read(self, event: Any, now_ms: int) -> list[Arrival]:  # noqa: ARG002 - a stream's records do not age by our clock
        """The records of a batch. Raises WrongEvent; what is wrong with one record stays with it."""
        records = event.get("Records") if isinstance(event, Mapping) else None
        if not isinstance(records, list):
            raise WrongEvent(f"this is not a {self._event_source} event: it has no list of Records")
        for record in records:
            source = record.get("eventSource") if isinstance(record, Mapping) else None
            if source != self._event_source:
                raise WrongEvent(f"a record's eventSource is {source!r}, not {self._event_source!r}")
        return [self._arrival(record) for record in records]

    def reply(self, endings: Sequence[Ending], now_ms: int) -> dict[str, list[dict[str, str]]]:  # noqa: ARG002 - no times in it
        """The checkpoint: the sequence number of the first record that must come again. Raises UnreportableRecord."""
        for ending in endings:
            if _over(ending):
                continue
            if not ending.arrival.id:
                raise UnreportableRecord("a record of the batch has no sequence number: the whole batch is failed")
            return {"batchItemFailures": [{"itemIdentifier": ending.arrival.id}]}
        return {"batchItemFailures": []}

    def _arrival(self, record: Mapping[str, Any]) -> Arrival:
        raise NotImplementedError


class KinesisSource(StreamSource):
    """Kinesis. `keys.event_id()` is shard and sequence number: a producer's repeat is another record with another number.

    parse: from a record's bytes to the payload.
    """

    def __init__(self, *, parse: Callable[[bytes], Any] = parse_json) -> None:
        super().__init__("aws:kinesis")
        check_function("parse", parse, "the data", give="a function of bytes")
        self._parse = parse

    def _arrival(self, record: Mapping[str, Any]) -> Arrival:
        data = mapping_of(record.get("kinesis"))
        number, partition = text_of(data.get("sequenceNumber")), text_of(data.get("partitionKey"))
        try:
            raw = understood("base64", _from_base64, data.get("data"))
            payload = understood("the parser", self._parse, raw)
        except MalformedDelivery as error:
            return Unreadable(id=number, group=partition, error=MalformedDelivery(f"record {number}: {error}"))
        except IdemError as error:
            return Unreadable(id=number, group=partition, error=error)
        return Delivery(
            id=number,
            payload=payload,
            body=raw,
            event_id=exact(text_of(record.get("eventID"))) or None,
            group=partition,
            origin={"source": "kinesis", "stream": _stream(record), "sequenceNumber": number},
        )


class DynamoStreamSource(StreamSource):
    """DynamoDB Streams. `keys.event_id()` names one change of one item.

    The payload is the record's `dynamodb` member and the name of the change; attribute values are in the low-level form.
    """

    def __init__(self) -> None:
        super().__init__("aws:dynamodb")

    def _arrival(self, record: Mapping[str, Any]) -> Arrival:
        change = mapping_of(record.get("dynamodb"))
        number, keys = text_of(change.get("SequenceNumber")), change.get("Keys")
        if not isinstance(keys, Mapping) or not keys:
            return Unreadable(id=number, error=MalformedDelivery(f"record {number} names no item"))
        return Delivery(
            id=number,
            payload={"eventName": record.get("eventName"), **change},
            event_id=exact(text_of(record.get("eventID"))) or None,
            group=repr(sorted((name, repr(value)) for name, value in keys.items())),
            origin={"source": "dynamodb", "stream": _stream(record), "sequenceNumber": number},
        )


def _over(ending: Ending) -> bool:
    """Whether the stream may go on behind this record. A mismatch is recorded nowhere: its key answers for other content."""
    match ending.outcome:
        case Done():
            return True
        case Rejected(error=RequestMismatch()):
            return False
        case Rejected(recorded=recorded):
            return recorded
        case _:
            return False


def _from_base64(data: Any) -> bytes:
    return base64.b64decode(data or "", validate=True)


def _stream(record: Mapping[str, Any]) -> str:
    return str(record.get("eventSourceARN", "")).rpartition(":")[2] or "unknown"
