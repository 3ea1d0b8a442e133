"""`send`, `race`: deliver something more than once, and see that it is done once."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any

import typer
from rich.text import Text

from idem.operators import delivering, racing, samples
from idem.operators.operator_errors import Exit, OperatorError
from idem.operators.racing import RACERS_MAX, Race, Racer
from idem.operators.terminal import Terminal, plain_table

TIMES_MAX = 1000
SIGN = "How a webhook is signed"
BAR = 36  # characters of the time line


def send(
    terminal: Terminal,
    *,
    sample: Annotated[str, typer.Argument(help="A payload, or a Lambda event whose messages are sent; - reads stdin.")],
    queue: Annotated[str | None, typer.Option(help="The queue that gets it: its name or its URL.")] = None,
    url: Annotated[str | None, typer.Option(help="The address of the webhook that gets it.")] = None,
    times: Annotated[int, typer.Option(min=1, max=TIMES_MAX, help="How often it is delivered.")] = 1,
    concurrently: Annotated[bool, typer.Option("--concurrently", help="All at the same moment.")] = False,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="Change a field first: orderId=7, data.object.id=cs_7.")
    ] = None,
    provider: Annotated[
        str | None,
        typer.Option(help="Who signs, such as stripe; told by the sample if it can be.", rich_help_panel=SIGN),
    ] = None,
    secret: Annotated[
        str | None, typer.Option(envvar="IDEM_SIGNING_SECRET", help="The signing secret.", rich_help_panel=SIGN)
    ] = None,
    secret_id: Annotated[
        str | None, typer.Option(help="The secret in Secrets Manager that holds it.", rich_help_panel=SIGN)
    ] = None,
    tamper: Annotated[
        bool, typer.Option("--tamper", help="Change the body after it was signed.", rich_help_panel=SIGN)
    ] = False,
) -> None:
    """Send a sample to a queue, or sign and post it to a webhook; as often as you like."""
    if (queue is None) == (url is None):
        raise OperatorError("Where to?", "Pass --queue or --url: one of them.", Exit.USAGE)
    connection = terminal.connection
    messages = samples.messages(samples.change(samples.load(sample), set_ or []))
    if queue is not None:
        target = delivering.queue(connection, queue)
    else:
        secrets = [secret] if secret else delivering.secrets_of(connection, secret_id) if secret_id else []
        if not secrets:
            terminal.note("It is posted without a signature: --secret or --secret-id would sign it.")
        target = delivering.webhook(connection, url or "", provider=provider, secrets=secrets, tamper=tamper)
    sent = delivering.repeat(target, messages, times=times, concurrently=concurrently)
    terminal.emit([one.as_json() for one in sent])
    if sent[0].status is None:
        for one in sent:
            terminal.say(f"queued as message {one.said}")
        return
    counts = Counter((one.status, one.replayed, one.said) for one in sent)
    for (status, replayed, said), count in counts.items():
        terminal.say(f"{count} x {status}{', replayed' if replayed else ''}: {said}")


def race(
    terminal: Terminal,
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
    terminal.note(f"Starting {racers} processes ...")
    found = racing.race_processes(terminal.connection, key, racers)
    if not keep:
        racing.clear(terminal.connection, found)
    terminal.emit(as_json(found))
    _print(terminal, found, raw=raw)
    if not found.fair:
        raise OperatorError(
            f"{len(found.winners)} of {racers} claims won.",
            "On DynamoDB in one Region this cannot happen: `idem doctor` says what is different about this table.",
        )
    terminal.say(
        f"One of {racers} claims won; {racers - 1} were refused by its record."
        + (f" The record is {key}." if keep else " The record was removed again."),
        style="green",
    )


def as_json(race: Race) -> dict[str, Any]:
    """A race for scripts and for the console."""
    racers = [
        {
            "number": racer.number + 1,
            "won": racer.won,
            "answer": racer.answer,
            "token": racer.token,
            "lostTo": racer.lost_to,
            "exchanges": [one.as_json() for one in racer.exchanges],
        }
        for racer in race.racers
    ]
    return {"key": str(race.key), "fair": race.fair, "winners": len(race.winners), "racers": racers}


def _print(terminal: Terminal, race: Race, *, raw: bool) -> None:
    """The racers, each with the span of its claim on one scale."""
    spans = [(racer.exchanges[0].started, racer.exchanges[-1].ended) for racer in race.racers]
    begin, end = min(start for start, _ in spans), max(stop for _, stop in spans)
    terminal.say(f"{len(race.racers)} claims of {race.key}, all within {end - begin:.0f} ms:")
    table = plain_table("racer", "on the wire", "ms", "the engine's answer", fold="the engine's answer", right=("ms",))
    for racer, (start, stop) in zip(race.racers, spans, strict=True):
        left = int((start - begin) / max(end - begin, 1) * BAR)
        width = max(1, int((stop - start) / max(end - begin, 1) * BAR))
        bar = Text(" " * left + "━" * width, style="bold green" if racer.won else "red")
        table.add_row(str(racer.number + 1), bar, f"{stop - start:.0f}", Text(_said(race, racer)))
    terminal.show(table)
    for racer in race.racers if raw else ():
        for one in racer.exchanges:
            terminal.say("")
            terminal.say(f"lane {racer.number + 1}: {one.operation} {dict(one.request)}")
            terminal.say(f"  -> {dict(one.response)}")


def _said(race: Race, racer: Racer) -> str:
    last = racer.exchanges[-1]
    status = last.response.get("HTTPStatusCode") or last.response.get("ResponseMetadata", {}).get("HTTPStatusCode")
    if racer.won:
        return f"{status} claimed with token {racer.token[:8]}"
    winner = next((one.number + 1 for one in race.racers if one.token == racer.lost_to), "?")
    return f"{status} {last.error}: lost to racer {winner}, whose record came back with the refusal"
