"""`doctor`, `smoke`: is everything as the code expects it, and does the mechanism work here?"""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text

from idem.operators import table_checks as smoke_checks
from idem.operators.doctor import Grade, table_findings
from idem.operators.doctor_functions import function_findings, function_names
from idem.operators.operator_errors import Exit
from idem.operators.terminal import Desk, plain_table, printable

STYLES = {Grade.OK: "green", Grade.WARNING: "yellow", Grade.FAULT: "bold red", Grade.UNKNOWN: "dim"}


def doctor(
    desk: Desk,
    *,
    function: Annotated[
        list[str] | None, typer.Option(help="A function to look at (repeatable); those of --stack are found.")
    ] = None,
) -> None:
    """Find what differs from what the code expects: table, expiry, recovery, mappings, visibility, permissions."""
    connection = desk.connection
    findings = list(table_findings(connection))
    names = function_names(connection, function or [])
    for shown, name in names.items():
        findings += function_findings(connection, shown, name)
    desk.emit([one.as_json() for one in findings])
    table = plain_table("", "what", "finding", fold="finding")
    for one in findings:
        says = printable(f"{one.says}. {one.remedy}" if one.remedy else one.says)
        table.add_row(Text(one.grade.value, style=STYLES[one.grade]), Text(one.about), Text(says))
    desk.show(table)
    if not names:
        desk.note("No function was looked at: pass --stack or --function.")
    faults = sum(one.grade is Grade.FAULT for one in findings)
    warnings = sum(one.grade is Grade.WARNING for one in findings)
    if faults:
        desk.say(f"{faults} faults, {warnings} warnings.", style="bold red")
        raise typer.Exit(Exit.NO)
    desk.say(f"No faults, {warnings} warnings.", style="green")


def smoke(desk: Desk) -> None:
    """Try each verb of the store on the real table; Removes what it made."""
    connection = desk.connection
    found = []
    for one in smoke_checks.check(connection):
        found.append(one)
        text = f"{'WRONG' if one.wrong else 'right'}  {one.says}{f': {one.wrong}' if one.wrong else ''}"
        desk.say(text, style="bold red" if one.wrong else None)
    desk.emit([{"says": one.says, "right": not one.wrong, "wrong": one.wrong} for one in found])
    wrong, place = sum(bool(one.wrong) for one in found), connection.table
    if wrong:
        desk.say(f"{wrong} of {len(found)} are wrong on {place}.", style="bold red")
        raise typer.Exit(Exit.NO)
    desk.say(f"All {len(found)} are right on {place}; nothing was left there.", style="green")
