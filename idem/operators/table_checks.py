"""Each verb of the store, once, on the real table: what the mechanism rests on, checked where it will run.

It works under fresh keys of the operation `idem.verify` and removes them again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta

from idem.clock import new_token
from idem.errors import ClaimLost, IdemError
from idem.keys import make_key
from idem.operators.connection import Connection
from idem.operators.decisions import Decision, Instruction, change
from idem.operators.operator_errors import explain
from idem.operators.record_text import request_for
from idem.policy import Policy
from idem.record import Answer, Claim, Failed, Failure, Held, Key, Status, StoredResult, Succeeded
from idem.store import Complete

OPERATION = "idem.verify"
POLICY = Policy(
    retention=timedelta(hours=1), lease=timedelta(minutes=1)
)  # what an interrupted check leaves is gone in an hour
RESULT = StoredResult("id", "verify")


@dataclass(frozen=True, slots=True)
class Checked:
    """One statement about the table, and what was wrong with it; empty if it is true."""

    says: str
    wrong: str


class Verification:
    """The checks, on one table."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._store = connection.store()
        self._keys: list[Key] = []

    def run(self) -> Iterator[Checked]:
        """Every check, also after one has failed; then nothing of it is left."""
        checks: list[tuple[str, Callable[[], str]]] = [
            ("a fresh key is claimed, and a second claim is refused by the first one's record", self._claims),
            ("an outcome is recorded, and whoever comes later gets it", self._completes),
            ("a final failure is stored; a reclaimable one is taken over as attempt 2", self._fails),
            ("an attempt that was taken over can change nothing", self._fences),
            ("a record and its writes are one transaction (guard)", self._guards),
            ("several claims and outcomes travel in one request (PartiQL)", self._batches),
        ]
        try:
            for says, check in checks:
                try:
                    yield Checked(says, check())
                except IdemError as error:
                    yield Checked(says, str(explain(error) or error))
        finally:
            self._remove()

    def _key(self) -> Key:
        self._keys.append(make_key(OPERATION, [new_token()]))
        return self._keys[-1]

    def _claim(self, key: Key) -> Answer:
        return self._store.claim(request_for(key, POLICY))

    def _won(self) -> Claim:
        answer = self._claim(self._key())
        if not isinstance(answer, Claim):
            raise IdemError(f"a fresh key was not claimed: {type(answer).__name__}")
        return answer

    def _claims(self) -> str:
        claim = self._won()
        answer = self._claim(claim.key)
        held = isinstance(answer, Held) and answer.record.claim_token == claim.token
        return "" if held else f"the second claim got {type(answer).__name__}"

    def _completes(self) -> str:
        claim = self._won()
        self._store.complete(claim, RESULT, claim.expires_at)
        answer = self._claim(claim.key)
        return (
            "" if isinstance(answer, Succeeded) and answer.record.result == RESULT else f"got {type(answer).__name__}"
        )

    def _fails(self) -> str:
        final, again = self._won(), self._won()
        self._store.fail(final, Failure(type="Verification", message="final", reclaimable=False), final.expires_at)
        self._store.fail(again, Failure(type="Verification", message="again", reclaimable=True), again.expires_at)
        stored, second = self._claim(final.key), self._claim(again.key)
        if not isinstance(stored, Failed):
            return f"the stored failure was answered with {type(stored).__name__}"
        taken = isinstance(second, Claim) and second.attempt == 2
        return "" if taken else f"the reclaimable failure was answered with {type(second).__name__}"

    def _fences(self) -> str:
        first = self._won()
        self._store.fail(first, Failure(type="Verification", message="again", reclaimable=True), first.expires_at)
        second = self._claim(first.key)
        try:
            self._store.complete(first, RESULT, first.expires_at)
        except ClaimLost:
            record = self._store.get(first.key)
            kept = isinstance(second, Claim) and record is not None and record.claim_token == second.token
            return "" if kept else "the late attempt was refused, but the record changed"
        return "the late attempt could overwrite its successor's record"

    def _guards(self) -> str:
        key = self._key()
        self._store.guard(request_for(key, POLICY), RESULT, ())
        record = self._store.get(key)
        done = record is not None and record.status is Status.SUCCEEDED
        return "" if done else "the transaction was accepted, but its record is not there"

    def _batches(self) -> str:
        answers = self._store.claim_many([request_for(self._key(), POLICY) for _ in range(3)])
        claims = [one for one in answers if isinstance(one, Claim)]
        if len(claims) < len(answers):
            return "; ".join(str(explain(one) or one) for one in answers if isinstance(one, IdemError)) or "not claimed"
        errors = self._store.finish_many([Complete(claim, RESULT, claim.expires_at) for claim in claims])
        return "; ".join(str(explain(error) or error) for error in errors if error is not None)

    def _remove(self) -> None:
        order = Instruction(decision=Decision.ERASE, who="idem verify", why="the check is over", force=True)
        for key in self._keys:
            record = self._store.get(key)
            if record is not None:
                change(self._connection, record, order)


def check(connection: Connection) -> Iterator[Checked]:
    """Run every check on the connection's table."""
    return Verification(connection).run()
