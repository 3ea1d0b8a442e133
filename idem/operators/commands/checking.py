"""`doctor`, `verify`: is everything as the code expects it, and does the mechanism work here?"""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text

from idem.operators import table_checks
from idem.operators.doctor import Grade, table_findings
from idem.operators.doctor_functions import choose, function_findings
from idem.operators.operator_errors import Exit
from idem.operators.terminal import Terminal, plain_table

STYLES = {Grade.OK: "green", Grade.WARNING: "yellow", Grade.FAULT: "bold red", Grade.UNKNOWN: "dim"}


def doctor(
    terminal: Terminal,
    *,
    function: Annotated[
        list[str] | None,
        typer.Option(help="A function to look at too (repeatable); those of --stack that use the table are found."),
    ] = None,
) -> None:
    """Find what differs from what the code expects: table, expiry, recovery, mappings, visibility, permissions."""
    connection = terminal.connection
    findings = list(table_findings(connection))
    functions = choose(connection, function or [])
    for shown, name in functions.looked_at.items():
        findings += function_findings(connection, shown, name)
    terminal.emit([one.as_json() for one in findings])
    table = plain_table("", "what", "finding", fold="finding")
    for one in findings:
        says = f"{one.says}. {one.remedy}" if one.remedy else one.says
        table.add_row(Text(one.grade.value, style=STYLES[one.grade]), one.about, says)
    terminal.show(table)
    if functions.left_out:
        names = ", ".join(functions.left_out)
        terminal.note(f"Not looked at, because their environment does not name the table: {names}. --function does it.")
    elif not functions.looked_at:
        terminal.note("No function was looked at: pass --stack, or --function with a name.")
    faults = sum(one.grade is Grade.FAULT for one in findings)
    warnings = sum(one.grade is Grade.WARNING for one in findings)
    if faults:
        terminal.say(f"{faults} faults, {warnings} warnings.", style="bold red")
        raise typer.Exit(Exit.NO)
    terminal.say(f"No faults, {warnings} warnings.", style="green")


def verify(terminal: Terminal) -> None:
    """Try each verb of the store once on the real table, and remove what that made."""
    connection = terminal.connection
    found = []
    for one in table_checks.check(connection):
        found.append(one)
        text = f"{'WRONG' if one.wrong else 'right'}  {one.says}{f': {one.wrong}' if one.wrong else ''}"
        terminal.say(text, style="bold red" if one.wrong else None)
    terminal.emit([{"says": one.says, "right": not one.wrong, "wrong": one.wrong} for one in found])
    wrong, place = sum(bool(one.wrong) for one in found), connection.table
    if wrong:
        terminal.say(f"{wrong} of {len(found)} are wrong on {place}.", style="bold red")
        raise typer.Exit(Exit.NO)
    terminal.say(f"All {len(found)} are right on {place}; nothing was left there.", style="green")
