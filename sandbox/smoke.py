"""`make smoke STACK=NAME`: check a deployed stack, with the AWS credentials and region that are in force.

Exit status 0 if everything is as it must be, 1 if something is not, 2 if it could not be checked.
"""

from __future__ import annotations

import argparse
import sys
import time

from botocore.exceptions import BotoCoreError, ClientError
from rich.console import Console

from idem.operators.operator_errors import OperatorError
from sandbox import command
from sandbox.stack_checks import StackChecks
from sandbox.stack_connection import StackConnection


def main(arguments: list[str] | None = None) -> int:
    """Check the stack that the arguments name; the exit status."""
    parser = argparse.ArgumentParser(prog="make smoke", description=__doc__)
    parser.add_argument("stack", help="the stack's name, such as Idem-dev")
    parser.add_argument("--profile")
    parser.add_argument("--region")
    given = parser.parse_args(arguments)
    console = Console(highlight=False, soft_wrap=True)
    connection = StackConnection(stack=given.stack, profile=given.profile, region=given.region)
    try:
        return run(console, connection)
    except (BotoCoreError, ClientError, OperatorError) as error:
        console.print(f"{given.stack} could not be checked: {error}", style="bold red", markup=False)
        return 2


def run(console: Console, connection: StackConnection) -> int:
    """Print what each check says as it is made, and the verdict."""
    began, wrong = time.monotonic(), 0
    console.print(f"Checking {connection.stack} ({connection.address}) ...", markup=False)
    for checked in StackChecks(connection).check():
        wrong += bool(checked.wrong)
        mark, style = ("WRONG", "bold red") if checked.wrong else ("right", "green")
        console.print(f"  {mark}  {checked.says}", style=style, markup=False)
        if checked.wrong:
            console.print(f"         {checked.wrong}", markup=False)
    took = f"{time.monotonic() - began:.0f} s"
    if wrong:
        console.print(f"NOT AS IT MUST BE: {wrong} checks, in {took}.", style="bold red")
        return 1
    console.print(f"Redeliveries do nothing, and nothing is lost. ({took})", style="bold green")
    return 0


if __name__ == "__main__":
    sys.exit(command.run("the check", main))
