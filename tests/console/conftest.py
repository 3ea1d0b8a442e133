"""The page's server on the local account, and a browser to look at it. The stack is deployed once for all of them."""

from __future__ import annotations

import contextlib
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pytest
import uvicorn
from playwright.sync_api import Browser, Page, sync_playwright

from idem import DynamoStore
from sandbox.account import LocalAccount
from sandbox.console.server import Console
from sandbox.deploy import STACK, deploy
from sandbox.isolation import HOST, blind_session
from sandbox.stack_connection import StackConnection
from tests.operators.conftest import make_table

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
# Debian's Chromium as root, in a container, without a call home.
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
TOKEN = "only-who-read-the-address"
SECONDS = 30_000  # in ms: how long the page may take to show something; a worker's start takes eight of them


@dataclass(frozen=True)
class Local(StackConnection):
    """A connection to the local account, blind to the caller's AWS set-up; in another region, if one is named."""

    @cached_property
    def session(self) -> Any:
        return blind_session() if self.region is None else _elsewhere(self.region)


def _elsewhere(region: str) -> Any:
    session = blind_session()
    session._session.set_config_variable("region", region)  # noqa: SLF001 - boto3 takes a region only when it is made
    return session


@dataclass(frozen=True, slots=True)
class Served:
    """A console that runs. url: with its token; stop: ends its server."""

    url: str
    token: str
    connection: StackConnection
    store: DynamoStore
    stop: Callable[[], None]


Serve = Callable[..., Served]


@pytest.fixture(scope="session")
def console_account() -> Iterator[LocalAccount]:
    with LocalAccount() as account:
        yield account


@pytest.fixture(scope="session")
def deployed(console_account: LocalAccount) -> LocalAccount:
    """The account with the stack on it."""
    deploy(console_account)
    return console_account


@pytest.fixture
def table(console_account: LocalAccount, request: pytest.FixtureRequest) -> str:
    """An empty table of this test's own."""
    name = "".join(letter if letter.isalnum() else "-" for letter in request.node.name)[:200]
    make_table(console_account.client("dynamodb"), name)
    return name


@pytest.fixture
def serve(console_account: LocalAccount) -> Iterator[Serve]:
    """Starts consoles, and ends them after the test."""
    with contextlib.ExitStack() as servers:

        def start(*, table: str | None = None, writes: bool = True, region: str | None = None) -> Served:
            stack = STACK if table is None else None
            connection = Local(table_name=table, stack=stack, region=region, endpoint_url=console_account.endpoint)
            console = Console(connection=connection, name=table or STACK, writes=writes)
            listener = servers.enter_context(socket.socket())
            listener.bind((HOST, 0))
            listener.listen()
            address = f"{HOST}:{listener.getsockname()[1]}"
            server = uvicorn.Server(uvicorn.Config(console.app([address], TOKEN), log_level="error", lifespan="off"))
            thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
            thread.start()

            def stop() -> None:
                server.should_exit = True
                thread.join()

            servers.callback(stop)
            return Served(f"http://{address}/?token={TOKEN}", TOKEN, connection, connection.store(), stop)

        yield start


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("there is no Chromium: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page that fails the test when its script does."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.set_default_timeout(SECONDS)
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("dialog", lambda dialog: faults.append(f"a dialog: {dialog.message}"))
    yield page
    context.close()
    assert faults == []
