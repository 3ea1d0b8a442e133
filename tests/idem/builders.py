"""Values that the tests start from. A test says only what matters to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from idem.record import Claim, Failure, Key, Record, Request, Status, StoredResult
from idem.store import Complete, Fail, Finish, Release
from idem.testing import START_MS

NOW = START_MS  # epoch ms, a whole second
NOW_S = NOW // 1000
LATER = NOW_S + 7200  # an end of life that a claim does not ask for
KEY = Key("orders.fulfil", "o-1")
RESULT = StoredResult("json", '{"shipped":true}')
OTHER_RESULT = StoredResult("json", '{"shipped":false}')
FAILURE = Failure(type="CardRefused", message="no funds", reclaimable=False)
RECLAIMABLE = Failure(type="Timeout", message="slow", reclaimable=True)


ENDINGS: dict[str, Callable[[Claim], Finish]] = {
    "complete": lambda claim: Complete(claim, RESULT, LATER),
    "fail": lambda claim: Fail(claim, FAILURE, LATER),
    "release": Release,
}


def request(token: str = "mine", **changes: Any) -> Request:  # noqa: S107 - a claim token, no password
    """A request for KEY at NOW, with a minute of lease and an hour of life."""
    base = Request(
        key=KEY,
        token=token,
        lease_until=NOW + 60_000,
        deadline=NOW + 50_000,
        expires_at=NOW_S + 3600,
        origin={"id": "m-1"},
    )
    return replace(base, **changes)


def record(status: Status = Status.IN_PROGRESS, **changes: Any) -> Record:
    """A record of KEY by another worker: attempt 2, claimed a minute ago."""
    base = Record(
        key=KEY,
        status=status,
        claim_token="theirs",
        attempt=2,
        starts=2,
        claimed_at=NOW_S - 60,
        finished_at=None if status is Status.IN_PROGRESS else NOW_S - 30,
        lease_until=NOW + 30_000 if status is Status.IN_PROGRESS else None,
        expires_at=NOW_S + 3600,
        result=RESULT if status is Status.SUCCEEDED else None,
        failure=FAILURE if status is Status.FAILED else None,
        origin={"id": "m-0"},
    )
    return replace(base, **changes)


def lapsed(**changes: Any) -> Record:
    """A record in progress whose lease ended long ago."""
    return record(**{"lease_until": NOW - 60_000, **changes})


def won(answer: object) -> Claim:
    """The claim in an answer that must be one."""
    assert isinstance(answer, Claim), answer
    return answer


def key(name: str) -> Key:
    """A key of KEY's operation."""
    return Key(KEY.operation, name)


def asked(name: str) -> Request:
    """A request for the key of this name, with a token of its own and a hash."""
    return request(f"mine-{name}", key=key(name), request_hash="v1:aa")
