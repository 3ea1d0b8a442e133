"""A record's life as events: what happened between two looks at the table, and what one record says of its own past."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from idem.operators.record_text import clock_time, decided_as, last_word, outcome_of
from idem.record import Decided, Key, Record, Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """One thing that happened to a record. at: epoch ms. kind: one word. says: the rest of the sentence."""

    at: int
    key: Key
    kind: str
    says: str


def between(before: Mapping[Key, Record], after: Mapping[Key, Record], now_ms: int) -> Iterator[Moment]:
    """What must have happened between two looks. Changes that came and went in between are not seen."""
    for key, record in after.items():
        yield from changes(before.get(key), record, now_ms)
    for key in before.keys() - after.keys():
        yield Moment(at=now_ms, key=key, kind="gone", says="released, or deleted by TTL")


def changes(before: Record | None, after: Record, now_ms: int) -> Iterator[Moment]:
    """The changes from one version of a record to the next; none when nothing changed."""
    if before == after:
        return
    new = [one for one in after.decided if before is None or one not in before.decided]
    yield from (_decided(after, one) for one in new)
    if new and last_word(after):
        return
    if before is None or before.claim_token != after.claim_token:
        yield _claimed(after)
    elif before.starts != after.starts and after.status is Status.IN_PROGRESS:
        yield Moment(at=now_ms, key=after.key, kind="started", says=f"start {after.starts} of its work")
    if after.status is not Status.IN_PROGRESS and (before is None or _version(before) != _version(after)):
        yield _finished(after)


def _version(record: Record) -> tuple[str, Status]:
    return record.claim_token, record.status


def told(record: Record) -> list[Moment]:
    """What a record says of its own past, without anybody having looked before."""
    return list(changes(None, record, (record.finished_at or record.claimed_at) * 1000))


def _claimed(record: Record) -> Moment:
    kind = "claimed" if record.attempt == 1 else "taken over"
    origin = record.origin
    source = ", ".join(f"{name} {value}" for name, value in origin.items() if name != "source")
    by = f"by attempt {record.attempt}" + (f", from {origin['source']}" if "source" in origin else "")
    return Moment(
        at=record.claimed_at * 1000, key=record.key, kind=kind, says=f"{by}{f' ({source})' if source else ''}"
    )


def _finished(record: Record) -> Moment:
    kind = "completed" if record.status is Status.SUCCEEDED else "failed"
    at = (record.finished_at or record.claimed_at) * 1000
    return Moment(at=at, key=record.key, kind=kind, says=outcome_of(record))


def _decided(record: Record, last: Decided) -> Moment:
    return Moment(at=last.at * 1000, key=record.key, kind=decided_as(last.decision), says=f"by {last.by}: {last.why}")


def line(moment: Moment) -> str:
    """A moment as one line of text."""
    return f"{clock_time(moment.at / 1000)[11:19]}  {moment.kind:<10}  {moment.key}  {moment.says}"
