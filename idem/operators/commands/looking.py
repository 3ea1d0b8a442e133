"""`key`, `show`, `list`, `stats`, `watch`: what is in the table, and what it means."""

from __future__ import annotations

import shlex
import time
from collections import Counter
from typing import Annotated, Any

import typer
from rich.text import Text

from idem.dynamo.schema import KEY_PREFIX
from idem.errors import CorruptRecord
from idem.operators import samples, scanning
from idem.operators.commands import options as opt
from idem.operators.operator_errors import Exit, OperatorError
from idem.operators.record_text import (
    Reading,
    State,
    ago,
    apart,
    as_json,
    clock_time,
    decision_text,
    now,
    outcome_of,
    parse_key,
    parse_span,
    reading_of,
    state_of,
)
from idem.operators.scanning import PAGES_MAX, Wanted
from idem.operators.terminal import Terminal, plain_grid, plain_table
from idem.operators.timeline import Moment, between, line
from idem.policy import Policy
from idem.record import Key, Record
from idem.store import Store
from idem.text import bounded, message_of

COLOURS = {
    State.RUNNING: "cyan",
    State.STUCK: "bold magenta",
    State.SUCCEEDED: "green",
    State.RECLAIMABLE: "yellow",
    State.FAILED: "red",
    State.EXPIRED: "dim",
}
UNREADABLE = "unreadable"  # where a state stands for an item that is no record
OUTCOME_CHARS_MAX = 200  # in a list; `idem show` shows all of it
ABSENT = (
    "There is no record of {key}: it was never claimed, or its record was released or has expired. The next delivery runs"
    " the work, as attempt 1."
)


def derive_key(
    terminal: Terminal,
    *,
    sample: Annotated[
        str, typer.Argument(help="A sample: a Lambda event or a payload, as a JSON file; - reads stdin.")
    ],
    consumer: opt.ConsumerName = None,
    operation: opt.Operation = None,
    field: opt.Fields = None,
    intent: opt.Intent = None,
    header: opt.HeaderName = None,
    by: opt.By = None,
    provider: opt.ProviderName = None,
) -> None:
    """Derive the key of a sample event. Needs no AWS."""
    rules = opt.rules_of(consumer, operation, by=by, fields=field, intent=intent, header=header)
    found = [
        (rules.key_of(one), rules.hash_of(one))
        for one in samples.deliveries(samples.load(sample), provider, terminal.note)
    ]
    for key, _ in found:
        terminal.say(str(key))
    terminal.emit([{"key": str(key), "pk": f"{KEY_PREFIX}{key}", "requestHash": checked} for key, checked in found])


def show(
    terminal: Terminal,
    *,
    key: Annotated[str | None, typer.Argument(help="The key: operation#identity.")] = None,
    identifier: Annotated[
        str | None, typer.Option("--id", help="Scan for the record that this message, event or request made.")
    ] = None,
    event: Annotated[str | None, typer.Option(help="A sample whose key is looked up; needs --consumer.")] = None,
    consumer: opt.ConsumerName = None,
    provider: opt.ProviderName = None,
    pages_max: opt.PagesMax = PAGES_MAX,
) -> None:
    """Explain a record: its state in a sentence, and what the next delivery will do."""
    policy, now_ms, hashes = opt.policy_of(consumer), now(), dict[Key, str | None]()
    if sum(one is not None for one in (key, identifier, event)) != 1:
        raise OperatorError("Which record?", "Pass a key, --id or --event: one of them.", Exit.USAGE)
    if identifier is not None:
        records: list[tuple[Key, Record | CorruptRecord | None]] = [
            (one.key, one) for one in scanning.mentioned(terminal.connection, identifier, now_ms, pages_max)
        ]
    else:
        wanted = [parse_key(key)] if key is not None else []
        if event is not None:
            rules = opt.rules_of(consumer, None, by=None, fields=None, intent=None, header=None)
            for delivery in samples.deliveries(samples.load(event), provider, terminal.note):
                wanted.append(rules.key_of(delivery))
                hashes[wanted[-1]] = rules.hash_of(delivery)
        store = terminal.connection.store()
        records = [(one, _read(store, one)) for one in dict.fromkeys(wanted)]
    terminal.emit([_shown(one, found, now_ms, policy, hashes.get(one)) for one, found in records])
    for number, (one, found) in enumerate(records):
        if number:
            terminal.say("")
        if found is None:
            terminal.say(ABSENT.format(key=one))
        elif isinstance(found, CorruptRecord):
            terminal.say(f"{message_of(found)}. `idem doctor` says what is in the table.", style="red")
        else:
            _explain(terminal, found, reading_of(found, now_ms, policy, hashes.get(one)), now_ms)
    if not all(isinstance(found, Record) for _, found in records):
        raise typer.Exit(Exit.NO)


def listing(
    terminal: Terminal,
    *,
    operation: opt.OneOperation = None,
    state: opt.OneState = None,
    stuck: Annotated[bool, typer.Option("--stuck", help="The same as --state stuck.")] = False,
    older: Annotated[str | None, typer.Option(help="Claimed longer ago than this: 90s, 15m, 2h, 7d.")] = None,
    newer: Annotated[str | None, typer.Option(help="Claimed within this time.")] = None,
    limit: opt.Limit = 50,
    pages_max: opt.PagesMax = PAGES_MAX,
    after: Annotated[str | None, typer.Option(help="Go on behind this key, where an earlier list ended.")] = None,
) -> None:
    """List records by operation, state and age. Scans the table: says before what that costs."""
    now_ms = now()
    wanted = Wanted(
        operation=operation,
        state=State.STUCK if stuck else opt.state_named(state) if state else None,
        claimed_before=now_ms // 1000 - int(parse_span(older).total_seconds()) if older else None,
        claimed_after=now_ms // 1000 - int(parse_span(newer).total_seconds()) if newer else None,
    )
    found = _scan(terminal, wanted, now_ms, limit=limit, pages_max=pages_max, after=after)
    terminal.emit(
        {
            "records": [as_json(one, now_ms) for one in found.records],
            "unreadable": [_unreadable(one) for one in found.unreadable],
            "itemsRead": found.items_read,
            "after": found.after,
        }
    )
    table = plain_table("key", "state", "attempt", "claimed", "lease or life", "outcome", fold="outcome")
    for one in found.records:
        table.add_row(*_row(one, now_ms))
    for bad in found.unreadable:
        table.add_row(str(bad.key), Text(UNREADABLE, style="red"), "", "", "", message_of(bad))
    if found.records or found.unreadable:
        terminal.show(table)
    else:
        terminal.say(f"No such record among the {found.items_read:,} items that were read.")
    if found.after:
        terminal.note(
            f"There may be more: {found.items_read:,} items were read. Go on with --after {shlex.quote(found.after)}."
        )


def stats(terminal: Terminal, *, operation: opt.OneOperation = None, pages_max: opt.PagesMax = PAGES_MAX) -> None:
    """Count records by operation and state. Scans the table: says before what that costs."""
    now_ms = now()
    counts: dict[str, Counter[State]] = {}
    oldest: dict[str, int] = {}
    found = _scan(terminal, Wanted(operation=operation), now_ms, limit=10**9, pages_max=pages_max, after=None)
    for unreadable in found.unreadable[:5]:
        terminal.note(f"Left out: {message_of(unreadable)}.")
    if len(found.unreadable) > 5:
        terminal.note(f"Left out: {len(found.unreadable) - 5} more items that are no records.")
    for one in found.records:
        name = one.key.operation
        counts.setdefault(name, Counter())[state_of(one, now_ms)] += 1
        oldest[name] = min(oldest.get(name, one.claimed_at), one.claimed_at)
    whole = found.after is None
    terminal.emit(
        {
            "operations": {name: {state.value: count[state] for state in State} for name, count in counts.items()},
            "unreadable": len(found.unreadable),
            "itemsRead": found.items_read,
            "whole": whole,
        }
    )
    table = plain_table(
        "operation", *[state.value for state in State], "oldest", right=tuple(state.value for state in State)
    )
    for name in sorted(counts):
        numbers = [str(counts[name][state] or "-") for state in State]
        table.add_row(name, *numbers, ago(oldest[name], now_ms))
    if counts:
        terminal.show(table)
    else:
        terminal.say("The table has no records.")
    if not whole:
        terminal.note(f"This is a part: {found.items_read:,} items were read. Read more with --pages-max.")


def watch(
    terminal: Terminal,
    *,
    keys: Annotated[list[str] | None, typer.Argument(help="Keys to watch; without any, the whole table.")] = None,
    operation: opt.OneOperation = None,
    every: Annotated[float, typer.Option(min=0.2, help="Seconds between two looks.")] = 2.0,
    stop_after: Annotated[str | None, typer.Option("--for", help="Stop after this time: 30s, 10m.")] = None,
    pages_max: Annotated[int, typer.Option(min=1, help="Pages of 1 MB that each look scans at most.")] = 2,
) -> None:
    """Show live what happens to records: claimed, taken over, completed, failed, released. Until Ctrl-C."""
    wanted = [parse_key(one) for one in keys or ()]
    deadline = time.monotonic() + parse_span(stop_after).total_seconds() if stop_after else None
    if not wanted:
        warning = scanning.cost(scanning.size(terminal.connection), pages_max)
        if warning:
            terminal.note(f"{warning} That is for each look, every {every:g} s.")
    before = _look(terminal, wanted, operation, pages_max)
    if wanted:
        for one in wanted:
            record = before.get(one)
            terminal.say(f"{one}: {reading_of(record, now()).says if record else 'no record that can be read yet.'}")
    terminal.note(f"Watching {len(wanted) or len(before)} records; Ctrl-C ends it.")
    while deadline is None or time.monotonic() < deadline:
        time.sleep(every)
        after = _look(terminal, wanted, operation, pages_max)
        for moment in sorted(between(before, after, now()), key=lambda one: one.at):
            terminal.say(line(moment))
            terminal.emit(_moment(moment))
        before = after


def _look(terminal: Terminal, wanted: list[Key], operation: str | None, pages_max: int) -> dict[Key, Record]:
    if not wanted:
        found = scanning.find(
            terminal.connection, Wanted(operation=operation), now(), limit=10**9, pages_max=pages_max
        ).records
        return {one.key: one for one in found}
    store = terminal.connection.store()
    return {one: record for one in wanted if isinstance(record := _read(store, one), Record)}


def _read(store: Store, key: Key) -> Record | CorruptRecord | None:
    """The record of a key, or why it cannot be read: one bad item keeps nobody from the others."""
    try:
        return store.get(key)
    except CorruptRecord as error:
        return error


def _scan(
    terminal: Terminal, wanted: Wanted, now_ms: int, *, limit: int, pages_max: int, after: str | None
) -> scanning.Found:
    """Scan with a warning before, and progress meanwhile."""
    if warning := scanning.cost(scanning.size(terminal.connection), pages_max):
        terminal.note(warning)

    def progress(pages: int, items: int) -> None:
        if pages > 1:
            terminal.note(f"... {pages} pages, {items:,} items")

    return scanning.find(
        terminal.connection, wanted, now_ms, limit=limit, pages_max=pages_max, after=after, progress=progress
    )


def _row(record: Record, now_ms: int) -> list[Text]:
    state = state_of(record, now_ms)
    if record.lease_until is not None:
        left = record.lease_until - now_ms
        ends = f"lease {'ends in' if left > 0 else 'lapsed'} {apart(abs(left))}{'' if left > 0 else ' ago'}"
    else:
        ends = f"kept until {clock_time(record.expires_at)[:10]}" if record.expires_at else "kept for ever"
        if state is State.EXPIRED and record.expires_at:
            ends = f"expired {ago(record.expires_at, now_ms)}"
    outcome = bounded(outcome_of(record), OUTCOME_CHARS_MAX)
    cells = [str(record.attempt), ago(record.claimed_at, now_ms), ends, outcome]
    return [Text(str(record.key)), Text(state.value, style=COLOURS[state]), *map(Text, cells)]


def _unreadable(one: CorruptRecord) -> dict[str, str]:
    return {"key": str(one.key), "wrong": message_of(one)}


def _shown(
    key: Key, record: Record | CorruptRecord | None, now_ms: int, policy: Policy, checked: str | None
) -> dict[str, Any]:
    if record is None:
        return {"key": str(key), "state": "absent"}
    if isinstance(record, CorruptRecord):
        return _unreadable(record) | {"state": UNREADABLE}
    reading = reading_of(record, now_ms, policy, checked)
    return as_json(record, now_ms, policy) | {"says": reading.says, "next": reading.next}


def _explain(terminal: Terminal, record: Record, reading: Reading, now_ms: int) -> None:
    terminal.say(str(record.key), style="bold")
    terminal.say(reading.says, style=COLOURS[reading.state])
    terminal.say(reading.next)
    details = plain_grid()
    for name, value in _details(record, now_ms):
        details.add_row(Text(name, style="dim"), value)
    terminal.show(details)


def _details(record: Record, now_ms: int) -> list[tuple[str, str]]:
    found = [
        ("status", record.status.value),
        ("attempt", f"{record.attempt}; starts that count: {record.starts}"),
    ]
    if record.result:
        found.append(("result", outcome_of(record)))
    if record.failure:
        may = "may be tried again" if record.failure.reclaimable else "final"
        found.append(("error", f"{record.failure.type}: {record.failure.message} ({may})"))
    if record.lease_until is not None:
        found.append(("lease until", clock_time(record.lease_until / 1000)))
    end = f"{clock_time(record.expires_at)} ({ago(record.expires_at, now_ms)})" if record.expires_at else "never"
    found += [("expires", end), ("request hash", record.request_hash or "not checked")]
    found += [(f"origin {name}", value) for name, value in record.origin.items()]
    found += [("decided", decision_text(one)) for one in record.decided]
    return found


def _moment(moment: Moment) -> dict[str, Any]:
    return {"at": moment.at, "key": str(moment.key), "kind": moment.kind, "says": moment.says}
