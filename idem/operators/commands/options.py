"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

from idem.operators.consumer_rules import Rules, load, written
from idem.operators.operator_errors import Exit, OperatorError
from idem.operators.record_text import DEFAULT_POLICY, State
from idem.policy import Policy

KEY_RULE = "How the key is made"

ConsumerName = Annotated[
    str | None,
    typer.Option(
        "--consumer",
        "-c",
        help="The consumer's module, such as shop.orders, or module:name. Its key rule and its policy are used.",
        rich_help_panel=KEY_RULE,
    ),
]
Operation = Annotated[
    str | None, typer.Option("--operation", "-o", help="Instead of --consumer.", rich_help_panel=KEY_RULE)
]
Fields = Annotated[
    list[str] | None, typer.Option("--field", help="A field of the payload (repeatable).", rich_help_panel=KEY_RULE)
]
Intent = Annotated[
    str | None,
    typer.Option(help="A template, such as '{userId}#{slug}#article.completed'.", rich_help_panel=KEY_RULE),
]
HeaderName = Annotated[
    str | None, typer.Option("--header", help="A header or a message attribute.", rich_help_panel=KEY_RULE)
]
By = Annotated[
    str | None,
    typer.Option(help="message-id, event-id, deduplication-id or payload-hash.", rich_help_panel=KEY_RULE),
]
ProviderName = Annotated[
    str | None,
    typer.Option(help="Whose webhook a sample is; told from its headers if it has any.", rich_help_panel=KEY_RULE),
]
PagesMax = Annotated[
    int, typer.Option(min=1, help="How many pages of 1 MB a scan reads at most. Each costs about 128 read units.")
]
Limit = Annotated[int, typer.Option(min=1, max=100_000, help="How many records at most.")]
OneOperation = Annotated[str | None, typer.Option("--operation", "-o", help="Only this kind of work.")]
OneState = Annotated[
    str | None,
    typer.Option(
        help=f"Only records in this state: {', '.join(State)}. Stuck: in progress, and the lease has lapsed.",
        metavar="<state>",
    ),
]


def state_named(text: str) -> State:
    """The state of this name. Raises OperatorError with those there are."""
    try:
        return State(text)
    except ValueError:
        raise OperatorError(f"There is no state {text!r}.", f"--state takes {', '.join(State)}.", Exit.USAGE) from None


def policy_of(consumer: str | None) -> Policy:
    """The consumer's policy, or the default one."""
    return load(consumer).policy if consumer else DEFAULT_POLICY


def rules_of(
    consumer: str | None,
    operation: str | None,
    *,
    by: str | None,
    fields: list[str] | None,
    intent: str | None,
    header: str | None,
) -> Rules:
    """The rules from --consumer, or from --operation and a key rule. Raises OperatorError."""
    if consumer:
        if operation or by or fields or intent or header:
            raise OperatorError(
                "--consumer brings its operation and its key rule.", "Leave the others out.", Exit.USAGE
            )
        return load(consumer)
    if operation is None:
        raise OperatorError("Whose key?", "Pass --consumer shop.orders, or --operation and a key rule.", Exit.USAGE)
    return written(operation, by=by, fields=fields or [], intent=intent, header=header)
