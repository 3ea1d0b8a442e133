"""The three access patterns on a key of one's own, and the race: what was sent, and what the engine answered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from threading import Lock
from typing import Any

from idem.errors import ClaimLost, ConfigurationError, InputRefused
from idem.keys import make_key
from idem.operators import racing
from idem.operators.commands.sending import as_json as race_as_json
from idem.operators.connection import Connection
from idem.operators.exchanges import ExchangeKeeper
from idem.operators.operator_errors import Exit, OperatorError
from idem.operators.record_text import apart, now, reading_of, request_for
from idem.policy import Policy
from idem.record import Abandoned, Answer, Claim, Failed, Failure, Held, Key, Mismatch, StoredResult, Succeeded
from idem.store import Store
from sandbox.console.watched_records import WatchedRecords

OPERATION = "idem.console"
POLICY = Policy(retention=timedelta(hours=1), lease=timedelta(seconds=30))  # short, so that a takeover can be seen
IDENTITY_CHARS_MAX = 100
RACERS_MAX = 16


class Patterns:
    """Acts as a worker would. Remembers the last claim that it won on each key, as a worker remembers its own."""

    def __init__(self, connection: Connection, records: WatchedRecords) -> None:
        self._connection = connection
        self._records = records
        self._claims: dict[Key, Claim] = {}
        self._lock = Lock()

    def claim(self, identity: str) -> dict[str, Any]:
        """Claim the key, with a token of this attempt's own."""
        key = self._key(identity)

        def step(store: Store) -> str:
            answer = store.claim(request_for(key, POLICY))
            if isinstance(answer, Claim):
                with self._lock:
                    self._claims[key] = answer
            elif isinstance(answer, Held | Succeeded):
                kind = "refused" if isinstance(answer, Held) else "replayed"
                self._records.note(key, kind, "a claim from this page")
            return _said(answer)

        return self._act(key, step)

    def record(self, identity: str, outcome: str) -> dict[str, Any]:
        """Record the outcome of the last claim that was won here: done, failed for now, or given back."""
        key = self._key(identity)
        with self._lock:
            claim = self._claims.get(key)
        if claim is None:
            raise OperatorError("Nothing was claimed from this page.", "Claim the key first.", Exit.USAGE)

        def step(store: Store) -> str:
            try:
                if outcome == "complete":
                    store.complete(claim, StoredResult("json", '{"parcels":1}'), claim.expires_at)
                    return f"Recorded: attempt {claim.attempt} succeeded."
                if outcome == "fail":
                    failure = Failure(type="WarehouseBusy", message="try again", reclaimable=True)
                    store.fail(claim, failure, claim.expires_at)
                    return f"Recorded: attempt {claim.attempt} failed, and may be tried again."
                store.release(claim)
                return "Released: the record is gone."
            except ClaimLost as lost:
                self._records.note(key, "lost its claim", f"attempt {claim.attempt} woke up too late")
                return f"Refused: {lost}. Nothing was written."

        if outcome not in {"complete", "fail", "release"}:
            raise OperatorError("An outcome is complete, fail or release.", status=Exit.USAGE)
        return self._act(key, step)

    def read(self, identity: str) -> dict[str, Any]:
        """Read the record, strongly consistent."""
        key = self._key(identity)

        def step(store: Store) -> str:
            record = store.get(key)
            if record is None:
                return "There is no record."
            reading = reading_of(record, now(), POLICY)
            return f"{reading.says} {reading.next}"

        return self._act(key, step)

    def race(self, racers: int) -> dict[str, Any]:
        """N claims on one fresh key at once; the record is removed again."""
        if not 2 <= racers <= RACERS_MAX:
            raise OperatorError(f"A race has 2 to {RACERS_MAX} claims.", status=Exit.USAGE)
        race = racing.race_threads(self._connection, racing.fresh_key(), racers)
        racing.clear(self._connection, race)
        return race_as_json(race)

    def _key(self, identity: str) -> Key:
        if len(identity) > IDENTITY_CHARS_MAX:
            raise OperatorError(f"Use a key of up to {IDENTITY_CHARS_MAX} characters.", status=Exit.USAGE)
        try:
            return make_key(OPERATION, [identity])
        except (InputRefused, ConfigurationError):
            raise OperatorError("The key is empty.", "Write any word.", Exit.USAGE) from None

    def _act(self, key: Key, step: Callable[[Store], str]) -> dict[str, Any]:
        """Do a step through a client that keeps what goes over the wire."""
        keeper = ExchangeKeeper(self._connection.dynamodb)
        says = step(self._connection.store(keeper))
        exchanges: Sequence[Any] = [one.as_json() for one in keeper.exchanges]
        return {"key": str(key), "says": says, "exchanges": exchanges}


def _said(answer: Answer) -> str:
    match answer:
        case Claim():
            left = apart(answer.lease_until - now())
            return f"Claimed: attempt {answer.attempt} holds the key for {left}. Its token is {answer.token[:8]}."
        case Held(record, until):
            return (
                f"Refused: attempt {record.attempt} holds the key for another {apart(until - now())}. It came back with the"
                " refusal, so nothing had to be read."
            )
        case Succeeded(record):
            return f"Not run again: attempt {record.attempt} succeeded, and this is its result."
        case Failed(record) | Mismatch(record):
            return f"Refused: the record is {record.status}."
        case Abandoned(_, reason):
            return f"Refused: {reason}."
