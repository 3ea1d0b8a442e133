"""A race: N claims on one key at the same moment, from N processes or threads; each raw answer, and who won.

The racers meet at a barrier when their connections are open, so the claims are on the wire together. That one of them wins and
no more is the engine's condition; the race shows it.
"""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Protocol

from idem.clock import new_token
from idem.errors import IdemError
from idem.keys import make_key
from idem.operators.connection import Connection
from idem.operators.exchanges import Exchange, ExchangeKeeper
from idem.operators.operator_errors import Exit, OperatorError, explain
from idem.operators.record_text import request_for
from idem.policy import Policy
from idem.record import Abandoned, Answer, Claim, Failed, Held, Key, Mismatch, Succeeded

OPERATION = "idem.race"
RACERS_MAX = 64
# The racers are done in seconds: what an interrupted race leaves behind may be claimed after a minute, and is gone after an hour.
POLICY = Policy(retention=timedelta(hours=1), lease=timedelta(minutes=1))
START_SECONDS = 120.0  # until all racers are at the line: a process needs half a second of CPU to get there


@dataclass(frozen=True, slots=True, kw_only=True)
class Racer:
    """One racer: what it sent and got, and what the store made of it. lost_to: the token of the record in its way."""

    number: int
    token: str
    answer: str
    claim: Claim | None
    lost_to: str | None
    exchanges: Sequence[Exchange]

    @property
    def won(self) -> bool:
        return self.claim is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Race:
    """How a race went."""

    key: Key
    racers: Sequence[Racer]

    @property
    def winners(self) -> list[Racer]:
        return [racer for racer in self.racers if racer.won]

    @property
    def fair(self) -> bool:
        """Exactly one claim won, and every other one was refused by the winner's record."""
        if len(self.winners) != 1:
            return False
        return all(racer.lost_to == self.winners[0].token for racer in self.racers if not racer.won)


class Line(Protocol):
    """Where the racers wait for each other."""

    def wait(self, timeout: float | None = None) -> int: ...

    def abort(self) -> None: ...


def fresh_key() -> Key:
    """A key that nobody has used."""
    return make_key(OPERATION, [new_token()])


def race_processes(connection: Connection, key: Key, count: int) -> Race:
    """The race with a process for each racer: they share nothing but the table. Raises OperatorError."""
    table = replace(connection, table_name=connection.table)
    context = multiprocessing.get_context("spawn")
    line, done = context.Barrier(count), context.SimpleQueue()
    processes = [context.Process(target=_process, args=(table, key, number, line, done)) for number in range(count)]
    for process in processes:
        process.start()
    found = [done.get() for _ in processes]
    for process in processes:
        process.join()
    return _result(key, found)


def race_threads(connection: Connection, key: Key, count: int) -> Race:
    """The race with a thread and a connection for each racer: at the line at once. Raises OperatorError."""
    table = replace(connection, table_name=connection.table)
    line = threading.Barrier(count)
    clients = [table.client("dynamodb") for _ in range(count)]
    with ThreadPoolExecutor(count) as pool:
        runs = [pool.submit(_run, table, key, number, line, client) for number, client in enumerate(clients)]
        return _result(key, [one.result() for one in runs])


def clear(connection: Connection, race: Race) -> None:
    """Remove the race's record again, as its winner would."""
    for racer in race.winners:
        if racer.claim is not None:
            connection.store().release(racer.claim)


def _process(connection: Connection, key: Key, number: int, line: Line, done: Any) -> None:
    done.put(_run(connection, key, number, line, connection.client("dynamodb")))


def _run(connection: Connection, key: Key, number: int, line: Line, client: Any) -> Racer | str:
    """Get ready, wait at the line, claim. A racer that fails says why, and keeps nobody waiting."""
    keeper = ExchangeKeeper(client)
    store = connection.store(keeper)
    try:
        store.get(key)  # opens the connection
        keeper.exchanges.clear()
        wanted = request_for(key, POLICY)
        line.wait(START_SECONDS)
        answer = store.claim(wanted)
    except (IdemError, threading.BrokenBarrierError) as error:
        line.abort()
        return str(explain(error) or "another racer did not get to the line.")
    return _racer(number, wanted.token, answer, keeper.exchanges)


def _racer(number: int, token: str, answer: Answer, exchanges: Sequence[Exchange]) -> Racer:
    match answer:
        case Claim():
            return Racer(number=number, token=token, answer="claimed", claim=answer, lost_to=None, exchanges=exchanges)
        case Held(record, _) | Succeeded(record) | Failed(record) | Mismatch(record) | Abandoned(record, _):
            name = type(answer).__name__.lower()
            lost_to = record.claim_token
            return Racer(number=number, token=token, answer=name, claim=None, lost_to=lost_to, exchanges=exchanges)


def _result(key: Key, found: Sequence[Racer | str]) -> Race:
    failures = [one for one in found if isinstance(one, str)]
    if failures:
        raise OperatorError(f"The race did not take place: {failures[0]}", status=Exit.AWS)
    racers = [one for one in found if isinstance(one, Racer)]
    return Race(key=key, racers=sorted(racers, key=lambda racer: racer.number))
