"""What each function reads from its environment."""

from __future__ import annotations

from dataclasses import dataclass

from idem.on_lambda import Environment, TableEnvironment


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueSettings(TableEnvironment):
    """A consumer of a queue, with records in the team's single table."""

    queue_url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiverSettings(Environment):
    """The receiver, which claims nothing."""

    queue_url: str
    webhook_secret_id: str
