"""`idem`, also `python -m idem`: what operators ask of an idempotency table, and what they may do to its records.

| exit status | says |
|---|---|
| 0 | done, found, or nothing wrong |
| 1 | the answer is no: no such record, a change refused or declined, a check that found a fault |
| 2 | the command was written wrongly |
| 3 | AWS could not be reached, or does not let you |
| 4 | the record changed after it was shown: nothing was written |
| 130 | interrupted |

Needs the extra `cli` (README, Install).
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from importlib import metadata
from typing import Annotated, NoReturn

import typer

from idem.log import error_text
from idem.operators.commands import checking, deciding, looking, sending
from idem.operators.operator_errors import Exit
from idem.operators.terminal import connected, offline

EPILOG = (
    "Exit status: 0 done, 1 the answer is no, 2 written wrongly, 3 AWS cannot be reached or does not let you, 4 the record"
    " changed after it was shown, 130 interrupted. IDEM_TABLE and IDEM_STACK save typing."
)
TRACE_VARIABLE = "IDEM_TRACE"
DISTRIBUTION = "idem-lambda"

app = typer.Typer(
    name="idem",
    epilog=EPILOG,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

LOOK, DECIDE, PROVE = "Look", "Decide", "Prove"
COMMANDS = (
    ("show", connected(looking.show), LOOK),
    ("list", connected(looking.listing), LOOK),
    ("stats", connected(looking.stats), LOOK),
    ("watch", connected(looking.watch), LOOK),
    ("key", offline(looking.derive_key), LOOK),
    ("release", connected(deciding.release), DECIDE),
    ("settle", connected(deciding.settle), DECIDE),
    ("forget", connected(deciding.forget), DECIDE),
    ("restore", connected(deciding.restore), DECIDE),
    ("doctor", connected(checking.doctor), PROVE),
    ("verify", connected(checking.verify), PROVE),
    ("send", connected(sending.send), PROVE),
    ("race", connected(sending.race), PROVE),
)
for name, command, panel in COMMANDS:
    app.command(name=name, rich_help_panel=panel)(command)


def _print_version(asked: bool) -> None:  # noqa: FBT001 - typer calls it
    if not asked:
        return
    try:
        print(f"idem {metadata.version(DISTRIBUTION)}")
    except metadata.PackageNotFoundError:
        print("idem, run from a checkout that is not installed")
    raise typer.Exit


@app.callback()
def options(
    *,
    version: Annotated[
        bool, typer.Option("--version", "-V", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Look at the records of an idempotency table, decide about them, and prove that the mechanism works."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line, on the program's own arguments if none are given. Ends in SystemExit with the exit status."""
    try:
        app(args=arguments, prog_name="idem")
    except Exception as error:  # noqa: BLE001 - the last resort: a fault of this program's own, and still no traceback
        if os.environ.get(TRACE_VARIABLE):
            traceback.print_exc()
        else:
            sys.stderr.write(
                f"idem met a fault of its own: {error_text(error)}\n"
                f"Set {TRACE_VARIABLE}=1 to see where, and report it.\n"
            )
    sys.exit(Exit.NO)
