"""`release`, `settle`, `forget`: a person decides about a record, and the record says who and why."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from idem.operators import decisions
from idem.operators.decisions import Decision, Instruction
from idem.operators.operator_errors import Exit, OperatorError
from idem.operators.record_text import as_json, decided_as, now, parse_key, reading_of
from idem.operators.terminal import Desk

Keys = Annotated[list[str], typer.Argument(help="The key, or several of them.")]
OneKey = Annotated[str, typer.Argument(help="The key.")]
Why = Annotated[str | None, typer.Option(help="The reason; it is kept in the record. Asked for if it is left out.")]
Who = Annotated[str | None, typer.Option(help="Who decides; otherwise your identity in AWS.", show_default=False)]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do it without a question.")]
Force = Annotated[bool, typer.Option("--force", help="Also while its lease lives: you know that its process is dead.")]


def release(
    desk: Desk, *, keys: Keys, why: Why = None, who: Who = None, yes: Yes = False, force: Force = False
) -> None:
    """Give a failed, unsettled or stuck key back: the next delivery runs the work again."""
    for key in keys:
        _decide(desk, key, _order(desk, Decision.RELEASE, who=who, why=why, yes=yes, force=force), yes=yes)


def settle(
    desk: Desk,
    *,
    key: OneKey,
    result_id: Annotated[str, typer.Option(help="Where the effect can be looked up: what replays will get.")],
    why: Why = None,
    who: Who = None,
    yes: Yes = False,
    force: Force = False,
) -> None:
    """Mark work whose outcome was never recorded as done: its effect was made, so nothing runs it again."""
    order = _order(desk, Decision.SETTLE, who=who, why=why, yes=yes, force=force, result_id=result_id)
    _decide(desk, key, order, yes=yes)


def forget(
    desk: Desk,
    *,
    keys: Keys,
    why: Why = None,
    who: Who = None,
    yes: Yes = False,
    force: Force = False,
    erase: Annotated[bool, typer.Option("--erase", help="Delete it at once, without a trace of who and why.")] = False,
) -> None:
    """End a record's life now, whatever it says: the next delivery runs the work as if it were new. TTL deletes it."""
    decision = Decision.ERASE if erase else Decision.FORGET
    for key in keys:
        _decide(desk, key, _order(desk, decision, who=who, why=why, yes=yes, force=force), yes=yes)


def _decide(desk: Desk, text: str, order: Instruction, *, yes: bool) -> None:
    """Show the record, ask, write the decision over exactly what was shown, show what it is now."""
    key = parse_key(text)
    shown, now_ms = desk.connection.store().get(key), now()
    if shown is None:
        raise OperatorError(f"There is no record of {key}, so there is nothing to {order.decision}.")
    decisions.check(shown, order, now_ms)
    before, after = reading_of(shown, now_ms), decisions.decided(shown, order, now_ms)
    desk.say(str(key), style="bold")
    desk.say(before.says)
    erased = order.decision is Decision.ERASE
    then = "The next delivery runs the work as attempt 1." if erased else reading_of(after, now_ms).next
    desk.say(f"{order.decision.value.capitalize()} as {order.who}: {then}")
    desk.sure("Do it?", yes=yes)
    written = decisions.change(desk.connection, shown, order)
    desk.emit({"key": str(key), "state": "absent"} if erased else as_json(written, now()))
    desk.say(f"Done: {decided_as(order.decision)}.", style="green")


def _order(
    desk: Desk,
    decision: Decision,
    *,
    who: str | None,
    why: str | None,
    yes: bool,
    force: bool,
    result_id: str | None = None,
) -> Instruction:
    if why is None and not yes and sys.stdin.isatty():
        desk.err.print("Why? ", end="")
        why = sys.stdin.readline().strip()
    if not why:
        raise OperatorError("Say why.", "Pass --why 'ticket, reason': it is kept in the record.", Exit.USAGE)
    return Instruction(decision=decision, who=who or desk.connection.who(), why=why, result_id=result_id, force=force)
