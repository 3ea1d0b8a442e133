"""`python -m sandbox.play`: deliver things to a sandbox that runs in another terminal, and see what they did."""

from __future__ import annotations

import json
from collections import Counter
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from idem.schema import KEY_PREFIX, PARTITION_KEY
from sandbox.access import Access, Response
from sandbox.deploy import Outputs
from sandbox.isolation import RUNNING
from sandbox.observed import Observed
from sandbox.senders import Producer, Stripe, order, payment

app = typer.Typer(help=__doc__, no_args_is_help=True, add_completion=False)
console = Console()

Times = Annotated[int, typer.Option(min=1, max=100, help="how often it is delivered, one after the other")]


def running() -> tuple[Access, Outputs]:
    """The sandbox that runs; ends the program with a remedy if none does."""
    if RUNNING.exists():
        found = json.loads(RUNNING.read_text(encoding="utf-8"))
        access = Access(int(found["port"]))
        if access.answers():
            return access, Outputs(**found["outputs"])
    console.print("No sandbox is running: start one with `make sandbox` in another terminal.", style="red")
    raise typer.Exit(1)


@app.command(name="order")
def send_order(
    number: Annotated[str, typer.Argument(help="the order's id; the same id is the same order")],
    times: Times = 1,
    die: Annotated[bool, typer.Option("--die", help="its first handler dies half-way")] = False,  # noqa: FBT002 - a flag
) -> None:
    """Send an order to the queue."""
    producer = Producer(*running())
    body = order(number, **({"sandbox": {"die": "before-effect"}} if die else {}))
    for _ in range(times):
        console.print(f"order {number} sent as message {producer.send(body)}", highlight=False)


@app.command(name="payment")
def post_payment(
    number: Annotated[str, typer.Argument(help="the event's number; the same number is the same event")],
    times: Times = 1,
    at_once: Annotated[int, typer.Option(min=0, max=32, help="deliver it so often at the same moment")] = 0,
    die: Annotated[bool, typer.Option("--die", help="its first handler dies before its record")] = False,  # noqa: FBT002
    tampered: Annotated[bool, typer.Option("--tampered", help="change the body after signing")] = False,  # noqa: FBT002
) -> None:
    """Post a signed Stripe event to the webhook."""
    stripe = Stripe(*running())
    event = payment(number, **({"sandbox_die": "before-record"} if die else {}))
    if at_once:
        _show(stripe.post_at_once(event, at_once))
    else:
        for _ in range(times):
            _show([stripe.post(event, tampered=tampered)])


@app.command(name="table")
def show_table() -> None:
    """Show each record, its runs, and how many effects its subject has in the ledger."""
    access, outputs = running()
    pages = access.client("dynamodb").get_paginator("scan").paginate(TableName=outputs.idempotency_table_name)
    items: list[dict[str, Any]] = [dict(item) for page in pages for item in page["Items"]]
    effects = Observed(access, outputs).effects_by_key()
    table = Table()
    for heading in ("key", "record", "attempt", "runs", "effects", "result or error"):
        table.add_column(heading, no_wrap=heading == "key")
    for item in sorted(items, key=lambda item: item[PARTITION_KEY]["S"]):
        key = item[PARTITION_KEY]["S"].removeprefix(KEY_PREFIX)
        error = item.get("error", {}).get("M", {}).get("message", {}).get("S", "")
        shown = item.get("result", {}).get("S", error)
        numbers = item["attempt"]["N"], item["starts"]["N"], str(effects[key])
        table.add_row(key, item["status"]["S"], *numbers, shown)
    console.print(table if items else "Nothing was delivered yet.")


def _show(responses: list[Response]) -> None:
    answers = Counter(
        (response.status, "replayed" if "idempotent-replayed" in response.headers else "", response.body.decode())
        for response in responses
    )
    for (status, replayed, body), count in answers.items():
        console.print(f"{count} x {status} {replayed} {body}", highlight=False, markup=False)


if __name__ == "__main__":
    app()
