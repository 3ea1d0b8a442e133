"""One deployed stack for all tests that only use it, and the environment in which ordinary programs find it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from sandbox.account import LocalAccount
from sandbox.deploy import STACK, Outputs, deploy
from sandbox.stack_connection import StackConnection


@dataclass(frozen=True, slots=True)
class Deployed:
    """A local account with the stack on it."""

    account: LocalAccount
    outputs: Outputs

    def connection(self, monkeypatch: pytest.MonkeyPatch) -> StackConnection:
        """An operator's connection, through the environment as anybody's would be."""
        for name, value in self.account.environment().items():
            monkeypatch.setenv(name, value)
        return StackConnection(stack=STACK)


@pytest.fixture(scope="session")
def deployed() -> Iterator[Deployed]:
    with LocalAccount() as account:
        yield Deployed(account, deploy(account, report=lambda _line: None))
