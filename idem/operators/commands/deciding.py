"""`release`, `settle`, `forget`, `restore`: a person decides about records, and the records say who and why."""

from __future__ import annotations

import sys
from datetime import timedelta
from typing import Annotated

import typer

from idem.operators import decisions, restoring
from idem.operators.decisions import Decision, Instruction
from idem.operators.operator_errors import Exit, OperatorError
from idem.operators.record_text import as_json, decided_as, now, parse_key, reading_of, state_of
from idem.operators.restoring import LedgerProof
from idem.operators.terminal import Terminal
from idem.policy import Retention
from idem.record import Key

Keys = Annotated[list[str], typer.Argument(help="The key, or several of them.")]
OneKey = Annotated[str, typer.Argument(help="The key.")]
Why = Annotated[str | None, typer.Option(help="The reason; it is kept in the record. Asked for if it is left out.")]
Who = Annotated[str | None, typer.Option(help="Who decides; otherwise your identity in AWS.", show_default=False)]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do it without a question.")]
Force = Annotated[bool, typer.Option("--force", help="Also while its lease lives: you know that its process is dead.")]


def release(
    terminal: Terminal, *, keys: Keys, why: Why = None, who: Who = None, yes: Yes = False, force: Force = False
) -> None:
    """Give a failed, unsettled or stuck key back: the next delivery runs the work again."""
    instruction = _instruction(terminal, Decision.RELEASE, who=who, why=why, yes=yes, force=force)
    for key in keys:
        _decide(terminal, key, instruction, yes=yes)


def settle(
    terminal: Terminal,
    *,
    key: OneKey,
    result_id: Annotated[str, typer.Option(help="Where the effect can be looked up: what replays will get.")],
    why: Why = None,
    who: Who = None,
    yes: Yes = False,
    force: Force = False,
) -> None:
    """Mark work whose outcome was never recorded as done: its effect was made, so nothing runs it again."""
    instruction = _instruction(terminal, Decision.SETTLE, who=who, why=why, yes=yes, force=force, result_id=result_id)
    _decide(terminal, key, instruction, yes=yes)


def forget(
    terminal: Terminal,
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
    instruction = _instruction(terminal, decision, who=who, why=why, yes=yes, force=force)
    for key in keys:
        _decide(terminal, key, instruction, yes=yes)


def restore(
    terminal: Terminal,
    *,
    from_table: Annotated[str, typer.Option(help="The business's own table, whose rows name the key of their work.")],
    key_attribute: Annotated[str, typer.Option(help="The attribute of such a row that holds the key.")],
    retention_days: Annotated[
        int, typer.Option(min=1, help="How long the records live: as long as anything can still be delivered again.")
    ] = Retention.WEBHOOK.days,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what is not done, and write nothing.")] = False,
    who: Who = None,
    yes: Yes = False,
) -> None:
    """After a restore from a backup: record as done the work that a table's rows prove. Reads the whole table."""
    connection = terminal.connection
    proof = restoring.prove(connection.store(), restoring.rows_of(connection.dynamodb, from_table, key_attribute))
    if proof.silent == proof.rows:
        raise OperatorError(
            f"None of the {proof.rows:,} rows of {from_table} has {key_attribute}.", "Check both names."
        )
    written: list[Key] = []
    _say_what_is_not_done(terminal, proof, from_table, key_attribute)
    if proof.not_done and not dry_run:
        terminal.sure(f"Write {_records(len(proof.not_done))} to {connection.table}?", yes=yes)
        origin = {"table": from_table, "decidedBy": who or connection.who()}
        for key in restoring.remember(connection, proof.not_done, timedelta(days=retention_days), origin):
            written.append(key)
            terminal.say(f"written: {key}")
        terminal.say(f"Done: {_records(len(written))} written.", style="green")
    terminal.emit(
        {
            "rows": proof.rows,
            "rowsWithoutKey": proof.silent,
            "notDone": [str(key) for key in proof.not_done],
            "written": [str(key) for key in written],
            "unreadable": [{"row": one.where, "wrong": one.wrong} for one in proof.unreadable],
        }
    )
    if proof.unreadable:
        raise typer.Exit(Exit.NO)


def _say_what_is_not_done(terminal: Terminal, proof: LedgerProof, from_table: str, key_attribute: str) -> None:
    silent = f"; {proof.silent:,} of them have no {key_attribute}" if proof.silent else ""
    terminal.say(f"{proof.rows:,} rows of {from_table} were read{silent}.")
    for one in proof.unreadable:
        terminal.note(f"The row {one.where} was left out: {one.wrong}")
    if proof.unreadable:
        count = len(proof.unreadable)
        left_out = "1 row was" if count == 1 else f"{count:,} rows were"
        terminal.note(f"{left_out} left out. Mend that, and run this again: it writes only what is not done.")
    for key, found in proof.not_done.items():
        terminal.say(f"not done: {key} ({state_of(found, now()) if found else 'no record'})")
    if not proof.not_done:
        terminal.say(f"Every key that could be read is done in {terminal.connection.table}.", style="green")


def _records(count: int) -> str:
    return "1 record" if count == 1 else f"{count:,} records"


def _decide(terminal: Terminal, text: str, instruction: Instruction, *, yes: bool) -> None:
    """Show the record, ask, write the decision over exactly what was shown, show what it is now."""
    key = parse_key(text)
    shown, now_ms = terminal.connection.store().get(key), now()
    if shown is None:
        raise OperatorError(f"There is no record of {key}, so there is nothing to {instruction.decision}.")
    decisions.check(shown, instruction, now_ms)
    before, after = reading_of(shown, now_ms), decisions.decided(shown, instruction, now_ms)
    terminal.say(str(key), style="bold")
    terminal.say(before.says)
    erased = instruction.decision is Decision.ERASE
    then = "The next delivery runs the work as attempt 1." if erased else reading_of(after, now_ms).next
    terminal.say(f"{instruction.decision.value.capitalize()} as {instruction.who}: {then}")
    terminal.sure("Do it?", yes=yes)
    written = decisions.change(terminal.connection, shown, instruction)
    terminal.emit({"key": str(key), "state": "absent"} if erased else as_json(written, now()))
    terminal.say(f"Done: {decided_as(instruction.decision)}.", style="green")


def _instruction(
    terminal: Terminal,
    decision: Decision,
    *,
    who: str | None,
    why: str | None,
    yes: bool,
    force: bool,
    result_id: str | None = None,
) -> Instruction:
    if why is None and not yes and sys.stdin.isatty():
        terminal.err.print("Why? ", end="")
        why = sys.stdin.readline().strip()
    if not why:
        raise OperatorError("Say why.", "Pass --why 'ticket, reason': it is kept in the record.", Exit.USAGE)
    decisions.check_why(why)  # before AWS is asked who decides
    return Instruction(
        decision=decision, who=who or terminal.connection.who(), why=why, result_id=result_id, force=force
    )
