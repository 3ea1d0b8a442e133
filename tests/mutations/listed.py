"""Named faults of the layer, each as a replacement of its source. A proof that lets one of them live proves too little."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]

OPEN_UPDATE = (
    'del update["ConditionExpression"];'
    ' del update["ExpressionAttributeValues"][":mine"], update["ExpressionAttributeValues"][":in_progress"];'
)
BARE = '{name: action[name] for name in ("TableName", "Item")}'


@dataclass(frozen=True, slots=True)
class Mutation:
    """`changes`: what to replace by what, in one file. Every old text must be found exactly once.

    finder: the tests to begin with, where that saves time.
    """

    name: str
    file: str
    changes: Sequence[tuple[str, str]]
    finder: str | None = None

    def applied(self, root: Path) -> str:
        """The changed source. Raises LookupError if the source is no longer what the mutation was written for."""
        text = (root / "idem" / self.file).read_text()
        for old, new in self.changes:
            if text.count(old) != 1:
                raise LookupError(f"mutation {self.name!r}: found {text.count(old)} times in idem/{self.file}: {old!r}")
            text = text.replace(old, new)
        return text


def _one(name: str, file: str, old: str, new: str, finder: str | None = None) -> Mutation:
    return Mutation(name, file, [(old, new)], finder)


CLAIMING = [
    _one(
        "claim without its condition",
        "dynamo/store.py",
        "            action = self._actions.put(claimed_record(claim), over)\n",
        f"            action = self._actions.put(claimed_record(claim), over); action = action if over else {BARE}\n",
    ),
    _one(
        "guard without its condition",
        "dynamo/store.py",
        '            actions = transaction({"Put": self._actions.put(record, over)}, writes)\n',
        f'            action = self._actions.put(record, over); actions = transaction({{"Put": {BARE}}}, writes)\n',
    ),
    _one(
        "takeover of whatever is there now",
        "dynamo/actions.py",
        "        else:\n            action |= {\n",
        "        else:\n            return action\n            action |= {\n",
    ),
    _one(
        "takeover keeps the attempt", "record.py", "attempt=found.attempt + 1, starts", "attempt=found.attempt, starts"
    ),
    _one(
        "own claim not recognised after a lost answer",
        "record.py",
        "    if found.claim_token == wanted.token and found.status is Status.IN_PROGRESS:\n",
        "    if False:\n",
    ),
    _one("the same token for every attempt", "flow.py", "token=self.token(),", 'token=f"{key}",'),
    _one(
        "an unavailable table is permission",
        "batch.py",
        "            task.outcome = Unavailable(answer, ran=False)\n",
        '            task.claim = __import__("idem.record").record.first_claim(_wanted(task), 0)\n',
    ),
]
DECIDING = [
    _one(
        "expiry ignored",
        "record.py",
        "    return found.expires_at is not None and",
        "    return False and found.expires_at is not None and",
    ),
    _one(
        "expiry in seconds compared with milliseconds",
        "record.py",
        "now_ms >= found.expires_at * 1000",
        "now_ms >= found.expires_at",
    ),
    _one(
        "lease in seconds",
        "flow.py",
        "        lease_until = ends_at + _ms(self.policy.lease_margin)\n",
        "        lease_until = (ends_at + _ms(self.policy.lease_margin)) // 1000\n",
    ),
    _one(
        "skew margin dropped",
        "record.py",
        "(found.lease_until or 0) + wanted.skew_margin_ms",
        "(found.lease_until or 0)",
    ),
    _one(
        "mismatch looked at after success",
        "record.py",
        "    if differs(found.request_hash, wanted.request_hash):\n",
        "    if found.status is not Status.SUCCEEDED and differs(found.request_hash, wanted.request_hash):\n",
        "tests/idem/test_batch.py",
    ),
    _one(
        "permanent failures reclaimed",
        "record.py",
        "            reclaimable = found.failure is not None and found.failure.reclaimable\n",
        "            reclaimable = True\n",
    ),
    _one(
        "attempts limit ignored",
        "record.py",
        "    starts_left = wanted.starts_max is None or",
        "    starts_left = True or",
    ),
    _one("held work taken over", "record.py", "            if wanted.hold_lapsed:\n", "            if False:\n"),
]
RECORDING = [
    _one(
        "complete without its condition",
        "dynamo/store.py",
        '        self._record("complete", claim',
        f'        {OPEN_UPDATE} self._record("complete", claim',
    ),
    _one(
        "fail without its condition",
        "dynamo/store.py",
        '        self._record("fail", claim',
        f'        {OPEN_UPDATE} self._record("fail", claim',
    ),
    _one(
        "release without its condition",
        "dynamo/store.py",
        "        delete = self._actions.delete(claim)\n",
        '        delete = self._actions.delete(claim); delete = {name: delete[name] for name in ("TableName", "Key")}\n',
    ),
    Mutation(
        "fence without the token",
        "dynamo/actions.py",
        [
            ('"claimToken = :mine AND #status = :in_progress"', '"#status = :in_progress"'),
            ('{":mine": {"S": claim.token}, ":in_progress"', '{":in_progress"'),
        ],
    ),
    Mutation(
        "fence without the status",
        "dynamo/actions.py",
        [
            ('"claimToken = :mine AND #status = :in_progress"', '"claimToken = :mine"'),
            ('"ExpressionAttributeNames": {"#status": "status"},', '"ExpressionAttributeNames": {},'),
            (', ":in_progress": {"S": Status.IN_PROGRESS.value}}', "}"),
        ],
    ),
    Mutation(
        "batched outcomes without the token",
        "dynamo/statements.py",
        [('(*key, "claimToken", "status")', '(*key, "status")'), ('{"S": claim.token}, ', "")],
    ),
    _one(
        "own outcome not recognised after a lost answer",
        "dynamo/store.py",
        "        if not _is(found, claim, status):\n",
        "        if True:\n",
    ),
    _one(
        "own commit not recognised after a lost answer",
        "dynamo/store.py",
        "            self._unless_mine(claim, Status.SUCCEEDED, refused)\n",
        "            raise ClaimLost(claim.key, None)\n",
    ),
    _one(
        "own guard taken for a rival's",
        "flow.py",
        "        if isinstance(answer, Succeeded) and answer.record.claim_token == wanted.token:\n",
        "        if False:\n",
    ),
    _one(
        "a lost recording is not sent again",
        "dynamo/store.py",
        "        if refused := self._sender.send(verb, self._client.update_item, update, claim.deadline, insist=True):",
        "        if refused := self._sender.send(verb, self._client.update_item, update, claim.deadline):",
    ),
    _one(
        "the record is not first in its transaction",
        "dynamo/transactions.py",
        "[record_action, *(_readable(index, write) for index, write in enumerate(writes))]",
        "[*(_readable(index, write) for index, write in enumerate(writes)), record_action]",
    ),
    _one(
        "a write that the caller's condition refused is sent again",
        "dynamo/store.py",
        "                    raise WriteRefused(key, index, item)\n",
        '                    attempt.failed("Refused", f"{index} {item}")\n',
    ),
    _one(
        "a conflict of a transaction is a duplicate",
        "dynamo/transactions.py",
        '        if code == "ConditionalCheckFailed":\n',
        '        if code in {"ConditionalCheckFailed", "TransactionConflict"}:\n',
    ),
    _one(
        "a conflict of a single write is a duplicate",
        "dynamo/sender.py",
        '                if _code(error) == "ConditionalCheckFailedException":\n',
        '                if _code(error) in {"ConditionalCheckFailedException", *CONFLICTS}:\n',
    ),
    _one("the result is not stored", "dynamo/actions.py", " | result_attributes(result)", ""),
]
ANSWERING = [
    _one(
        "what is not recorded is acknowledged",
        "flow.py",
        "    return Retry(error) if isinstance(error, ClaimLost) else Unavailable(error, ran=True)\n",
        "    return ended.outcome\n",
    ),
    _one(
        "a duplicate in flight is acknowledged",
        "sources/sqs.py",
        "        undone = [ending for ending in endings if not isinstance(ending.outcome, Done)]\n",
        "        undone = [ending for ending in endings if not isinstance(ending.outcome, Done | Busy)]\n",
    ),
]
MUTATIONS = [*CLAIMING, *DECIDING, *RECORDING, *ANSWERING]
