"""`make console`, `python -m sandbox.console`: open the page's server and say where it is.

Without options it uses the account of `make sandbox`, or starts one of its own. With --table or --stack it looks at a real table.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import secrets
import socket
import sys
from collections.abc import Iterator

import uvicorn

from idem.operators.operator_errors import Exit, OperatorError
from sandbox import folders
from sandbox.access import Access
from sandbox.account import LocalAccount
from sandbox.command import run
from sandbox.console.guard import TOKEN_PARAMETER
from sandbox.console.server import Console
from sandbox.deploy import STACK, deploy
from sandbox.isolation import HOST, ROOT, RUNNING
from sandbox.stack_connection import LocalConnection, StackConnection

PORT = 8787
BACKLOG = 100  # connections that wait while the server starts
TOKEN_BYTES = 32


def main(arguments: list[str] | None = None) -> int:
    """Serve until Ctrl-C; the exit status."""
    options = _options().parse_args(arguments)

    def serve() -> int:
        with _console(options) as console:
            _ = console.connection.dynamodb  # a profile or a region that is missing is said here, not in the page
            return _serve(console, options.port)

    return run("the console", serve)


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m sandbox.console", description=__doc__)
    parser.add_argument("--port", type=int, default=PORT, help=f"port on {HOST}; 0 takes any free one")
    parser.add_argument("--stack", help="look at a real stack's table")
    parser.add_argument("--table", help="look at a real table")
    parser.add_argument("--sort-value", help="the constant sort key, in a table that has one")
    parser.add_argument("--profile", help="AWS profile")
    parser.add_argument("--region", help="AWS region")
    parser.add_argument("--endpoint-url", help="another endpoint than AWS's own")
    parser.add_argument("--allow-writes", action="store_true", help="let the page change a real table")
    return parser


@contextlib.contextmanager
def _console(options: argparse.Namespace) -> Iterator[Console]:
    """The console on a real table, on the sandbox that runs, or on one that is started here."""
    if options.table or options.stack:
        connection = StackConnection(
            table_name=options.table,
            stack=options.stack,
            sort_value=options.sort_value,
            profile=options.profile,
            region=options.region,
            endpoint_url=options.endpoint_url,
        )
        yield Console(connection=connection, name=options.stack or options.table, writes=options.allow_writes)
        return
    if (port := _running()) is not None:
        yield _local(Access(port))
        return
    print("No sandbox is running, so the console starts an account of its own (half a minute) ...", flush=True)
    with LocalAccount() as account:
        deploy(account)
        yield _local(account)


def _local(access: Access) -> Console:
    connection = LocalConnection(stack=STACK, endpoint_url=access.endpoint)
    return Console(connection=connection, name="local account", writes=True)


def _running() -> int | None:
    """The port of the newest sandbox of this checkout that runs, if one does."""
    for folder in folders.held():
        try:
            told = json.loads((folder / RUNNING).read_text(encoding="utf-8"))
            port = int(told["port"]) if told["root"] == str(ROOT) else None
        except (OSError, ValueError, KeyError):
            continue
        if port is not None and Access(port).answers():
            return port
    return None


def _serve(console: Console, port: int) -> int:
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
        except (OSError, OverflowError) as error:
            message = f"Port {port} cannot be used: {error}."
            raise OperatorError(message, "Choose another one: --port 0 takes any free one.", Exit.USAGE) from error
        port, token = listener.getsockname()[1], secrets.token_urlsafe(TOKEN_BYTES)
        # With another server behind the same name a page of this one could be mistaken, so names and port are exact.
        app = console.app(hosts=[f"{HOST}:{port}", f"localhost:{port}"], token=token)
        mode = "it may change this table" if console.writes else "it only looks"
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False, server_header=False))
        listener.listen(BACKLOG)  # from here on a click on the address waits for its answer and does not fail
        address = f"http://{HOST}:{port}/?{TOKEN_PARAMETER}={token}"
        print(f"The console is at {address} ({console.name}; {mode}). Ctrl-C ends it.", flush=True)
        server.run(sockets=[listener])
    return 0


if __name__ == "__main__":
    sys.exit(main())
