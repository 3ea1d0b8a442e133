"""What every command has: where to look, how to answer, and one place where errors become sentences and exit statuses."""

from __future__ import annotations

import contextlib
import functools
import inspect
import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, get_type_hints

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from idem.operators.connection import Connection
from idem.operators.operator_errors import Exit, OperatorError, explain
from idem.text import one_line

PIPE_WIDTH = 200  # of a table that goes into a file or a pipe, which has no width
WHERE = "Where"


@dataclass(frozen=True, slots=True)
class Terminal:
    """Where a command answers, and what it looks at. With `json`, standard output gets JSON, one value a line, and no more."""

    connection: Connection
    json: bool
    out: Console
    err: Console

    def say(self, text: str, style: str | None = None) -> None:
        """A sentence of the answer; left out of JSON."""
        if not self.json:
            _print(self.out, text, style)

    def note(self, text: str) -> None:
        """What is not part of the answer: progress, warnings. Goes to standard error."""
        _print(self.err, text, "yellow")

    def show(self, table: PlainTable) -> None:
        if not self.json:
            self.out.print(table)

    def emit(self, value: Any) -> None:
        """The answer for scripts."""
        if self.json:
            sys.stdout.write(json.dumps(value) + "\n")  # in ASCII: what a record holds steers no terminal
            sys.stdout.flush()

    def sure(self, question: str, *, yes: bool) -> None:
        """Ask before something is changed. Raises OperatorError unless the answer is yes."""
        if yes:
            return
        if not sys.stdin.isatty():
            raise OperatorError("Nobody can be asked here.", "Pass --yes to do it without a question.", Exit.USAGE)
        self.err.print(f"{one_line(question)} [y/N] ", end="")
        if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
            raise OperatorError("Nothing was changed.")


def cell(text: str, style: str = "") -> Text:
    """Text in a table: whatever a record holds, it is shown and not obeyed."""
    return Text(one_line(text), style=style)


class PlainTable(Table):
    """A table whose rows are text that steers nothing: no markup in it, no controls, no line ends."""

    def add_row(self, *cells: Any, **more: Any) -> None:
        safe = [cell(one.plain, str(one.style)) if isinstance(one, Text) else cell(str(one)) for one in cells]
        super().add_row(*safe, **more)


def plain_table(*headings: str, fold: str = "", right: tuple[str, ...] = ()) -> PlainTable:
    """A table that reads well on a terminal and in a pipe. `fold`: the column that gives way when there is no room."""
    table = PlainTable(box=None, pad_edge=False, header_style="bold")
    for heading in headings:
        table.add_column(
            heading,
            no_wrap=heading != fold,
            overflow="fold" if heading == fold else "ellipsis",
            justify="right" if heading in right else "left",
        )
    return table


def plain_grid() -> PlainTable:
    """Names and values below each other, without a heading."""
    return PlainTable(
        box=None, padding=(0, 2), collapse_padding=True, show_header=False, show_edge=False, pad_edge=False
    )


TableName = Annotated[
    str | None,
    typer.Option("--table", "-t", envvar="IDEM_TABLE", help="The idempotency table.", rich_help_panel=WHERE),
]
Stack = Annotated[
    str | None,
    typer.Option(
        "--stack",
        "-s",
        envvar="IDEM_STACK",
        help="A CloudFormation stack, in which the table and the functions are found.",
        rich_help_panel=WHERE,
    ),
]
SortValue = Annotated[
    str | None,
    typer.Option(
        envvar="IDEM_SORT_VALUE", help="The constant sort key, in a table that has one.", rich_help_panel=WHERE
    ),
]
Profile = Annotated[
    str | None, typer.Option(help="AWS profile; otherwise the usual chain.", rich_help_panel=WHERE, show_default=False)
]
Region = Annotated[str | None, typer.Option(help="AWS region.", rich_help_panel=WHERE)]
EndpointUrl = Annotated[str | None, typer.Option(help="Another endpoint than AWS's own.", rich_help_panel=WHERE)]
AsJson = Annotated[bool, typer.Option("--json", help="Answer in JSON.")]

PLACE: dict[str, tuple[Any, Any]] = {
    "table_name": (TableName, None),
    "stack": (Stack, None),
    "sort_value": (SortValue, None),
    "profile": (Profile, None),
    "region": (Region, None),
    "endpoint_url": (EndpointUrl, None),
}
ANSWER: dict[str, tuple[Any, Any]] = {"as_json": (AsJson, False)}


def connected(run: Callable[..., None]) -> Callable[..., None]:
    """`run(terminal, ...)` as a command on a table in AWS: it has the options that say where, and never ends in a traceback."""
    return _command(run, PLACE | ANSWER)


def offline(run: Callable[..., None]) -> Callable[..., None]:
    """The same for a command that asks AWS nothing."""
    return _command(run, ANSWER)


def _command(run: Callable[..., None], shared: dict[str, tuple[Any, Any]]) -> Callable[..., None]:
    """`run` with options of its own and the shared ones."""
    hints = get_type_hints(run, include_extras=True)
    own = [
        one.replace(annotation=hints[one.name], kind=inspect.Parameter.KEYWORD_ONLY)
        for one in list(inspect.signature(run).parameters.values())[1:]
    ]
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for name, (annotation, default) in shared.items()
    ]

    @functools.wraps(run)
    def command(**given: Any) -> None:
        options = {name: given.pop(name) for name in shared}
        as_json = options.pop("as_json")
        terminal = Terminal(Connection(**options), as_json, _console(sys.stdout), _console(sys.stderr))
        with answered(terminal):
            run(terminal, **given)

    vars(command).update(
        __signature__=inspect.Signature([*own, *added]),
        __annotations__={one.name: one.annotation for one in [*own, *added]},
    )
    return command


@contextlib.contextmanager
def answered(terminal: Terminal) -> Iterator[None]:
    """Turn errors into a sentence on standard error and an exit status."""
    try:
        yield
    except (typer.Exit, typer.Abort):
        raise
    except KeyboardInterrupt:
        terminal.err.print("Interrupted.")
        raise typer.Exit(Exit.INTERRUPTED) from None
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader of the pipe has had enough
        raise typer.Exit(Exit.DONE) from None
    except Exception as error:
        explained = explain(error) and explain(error, _table(terminal))
        if explained is None:
            raise
        _complain(terminal, explained)
        raise typer.Exit(explained.status) from None


def _table(terminal: Terminal) -> str:
    try:
        return terminal.connection.known_table
    except Exception:  # noqa: BLE001 - this is on the way to saying what is wrong: it must not say something else
        return ""


def _complain(terminal: Terminal, error: OperatorError) -> None:
    if terminal.json:
        said = {"error": error.sentence, "remedy": error.remedy, "status": int(error.status)}
        sys.stderr.write(json.dumps(said) + "\n")
        return
    _print(terminal.err, error.sentence, "bold red")
    if error.remedy:
        _print(terminal.err, error.remedy)


def _print(console: Console, text: str, style: str | None = None) -> None:
    """Print a line that steers nothing, whatever of a record is in it."""
    console.print(one_line(text), style=style, soft_wrap=not console.is_terminal)


def _console(stream: Any) -> Console:
    width = None if stream.isatty() else PIPE_WIDTH
    return Console(file=stream, width=width, markup=False, emoji=False, highlight=False)
