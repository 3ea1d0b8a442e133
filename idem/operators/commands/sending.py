"""`send`, `race`: deliver something more than once, and see that it is done once."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any

import typer
from rich.text import Text

from idem.operators import delivering, racing, samples
from idem.operators.operator_errors import Exit, OperatorError
from idem.operators.racing import RACERS_MAX, Lane, Race
from idem.operators.terminal import Desk, plain_table

TIMES_MAX = 1000
BAR = 36  # characters of the time line


def send(
    desk: Desk,
    *,
    sample: Annotated[str, typer.Argument(help="A payload, or a Lambda event whose messages are sent; - reads stdin.")],
    to: Annotated[
        str | None, typer.Option(help="A consumer of the stack, such as orders: its queue or address.")
    ] = None,
    queue: Annotated[str | None, typer.Option(help="The URL of a queue.")] = None,
    url: Annotated[str | None, typer.Option(help="The address of a webhook.")] = None,
    times: Annotated[int, typer.Option(min=1, max=TIMES_MAX, help="How often it is delivered.")] = 1,
    concurrently: Annotated[bool, typer.Option("--concurrently", help="All at the same moment.")] = False,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="Change a field first: orderId=7, data.object.id=cs_7.")
    ] = None,
    provider: Annotated[str | None, typer.Option(help="Who signs; otherwise told from the sample.")] = None,
    secret: Annotated[
        str | None, typer.Option(envvar="IDEM_SIGNING_SECRET", help="The signing secret.", show_envvar=True)
    ] = None,
    secret_id: Annotated[str | None, typer.Option(help="Where Secrets Manager holds it.")] = None,
    tamper: Annotated[bool, typer.Option("--tamper", help="Change the body after it was signed.")] = False,
) -> None:
    """Send a sample to a queue, or sign and post it to a webhook; as often as you like."""
    if sum(one is not None for one in (to, queue, url)) != 1:
        raise OperatorError("Where to?", "Pass --to, --queue or --url: one of them.", Exit.USAGE)
    connection, secrets = desk.connection, [secret] if secret else []
    if to is not None:
        target = delivering.target_of(connection, to, provider=provider, tamper=tamper)
    elif queue is not None:
        target = delivering.queue(connection, queue)
    else:
        secrets = secrets or (delivering.secrets_of(connection, secret_id) if secret_id else [])
        target = delivering.webhook(connection, url or "", provider=provider, secrets=secrets, tamper=tamper)
    messages = samples.messages(samples.change(samples.load(sample), set_ or []))
    sent = delivering.repeat(target, messages, times=times, concurrently=concurrently)
    desk.emit([one.as_json() for one in sent])
    if sent[0].status is None:
        for one in sent:
            desk.say(f"queued as message {one.said}")
        return
    counts = Counter((one.status, one.replayed, one.said) for one in sent)
    for (status, replayed, said), count in counts.items():
        desk.say(f"{count} x {status}{', replayed' if replayed else ''}: {said}")


def race(
    desk: Desk,
    *,
    racers: Annotated[int, typer.Option("--racers", "-n", min=2, max=RACERS_MAX, help="How many claims.")] = 8,
    keep: Annotated[
        bool, typer.Option("--keep", help="Leave the record there to look at; it lives for an hour.")
    ] = False,
    raw: Annotated[
        bool, typer.Option("--raw", help="Show each request and answer as they went over the wire.")
    ] = False,
) -> None:
    """Claim one fresh key from N processes at once, against the real table: one wins, the others are refused."""
    key = racing.fresh_key()
    desk.note(f"Starting {racers} processes ...")
    found = racing.race_processes(desk.connection, key, racers)
    if not keep:
        racing.clear(desk.connection, found)
    desk.emit(as_json(found))
    _print(desk, found, raw=raw)
    if not found.fair:
        raise OperatorError(
            f"{len(found.winners)} of {racers} claims won.",
            "On DynamoDB in one Region this cannot happen: `idem doctor` says what is different about this table.",
        )
    desk.say(
        f"One of {racers} claims won; {racers - 1} were refused by its record."
        + (f" The record is {key}." if keep else " The record was removed again."),
        style="green",
    )


def as_json(race: Race) -> dict[str, Any]:
    """A race for scripts and for the console."""
    lanes = [
        {
            "number": lane.number + 1,
            "won": lane.won,
            "answer": lane.answer,
            "token": lane.token,
            "lostTo": lane.lost_to,
            "exchanges": [one.as_json() for one in lane.exchanges],
        }
        for lane in race.lanes
    ]
    return {"key": str(race.key), "fair": race.fair, "winners": len(race.winners), "lanes": lanes}


def _print(desk: Desk, race: Race, *, raw: bool) -> None:
    """The lanes, each with the span of its claim on one scale."""
    spans = [(lane.exchanges[0].started, lane.exchanges[-1].ended) for lane in race.lanes]
    begin, end = min(start for start, _ in spans), max(stop for _, stop in spans)
    desk.say(f"{len(race.lanes)} claims of {race.key}, all within {end - begin:.0f} ms:")
    table = plain_table("lane", "on the wire", "ms", "the engine's answer", fold="the engine's answer", right=("ms",))
    for lane, (start, stop) in zip(race.lanes, spans, strict=True):
        left = int((start - begin) / max(end - begin, 1) * BAR)
        width = max(1, int((stop - start) / max(end - begin, 1) * BAR))
        bar = Text(" " * left + "━" * width, style="bold green" if lane.won else "red")
        table.add_row(str(lane.number + 1), bar, f"{stop - start:.0f}", Text(_said(race, lane)))
    desk.show(table)
    for lane in race.lanes if raw else ():
        for one in lane.exchanges:
            desk.say(f"\nlane {lane.number + 1}: {one.operation} {dict(one.request)}")
            desk.say(f"  -> {dict(one.response)}")


def _said(race: Race, lane: Lane) -> str:
    last = lane.exchanges[-1]
    status = last.response.get("HTTPStatusCode") or last.response.get("ResponseMetadata", {}).get("HTTPStatusCode")
    if lane.won:
        return f"{status} claimed with token {lane.token[:8]}"
    winner = next((one.number + 1 for one in race.lanes if one.token == lane.lost_to), "?")
    return f"{status} {last.error}: lost to lane {winner}, whose record came back with the refusal"
