"""Write records for work that is known to be done: after a restore, before the consumers run again.

A restored table has forgotten what was done since the moment it was restored to. Where the business's own rows name
their key, the records can be made again; without this, every redelivery of that work would run it once more.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta

from idem.operators.record_text import request_for
from idem.policy import Policy
from idem.record import Key, StoredResult, Succeeded
from idem.store import Store

UNKNOWN = StoredResult("omitted", "the work was done; its record was written again after a restore, without the result")


def remember(store: Store, done: Iterable[Key], retention: timedelta | None) -> list[Key]:
    """Write a succeeded record for each key that has no record; those that were written.

    Each is one conditional write, so that a record that is there, or comes meanwhile, stays as it is.
    """
    written: list[Key] = []
    for key in dict.fromkeys(done):
        wanted = replace(request_for(key, Policy(retention=retention)), origin={"source": "restore"})
        answer = store.guard(wanted, UNKNOWN, ())
        if isinstance(answer, Succeeded) and answer.record.claim_token == wanted.token:
            written.append(key)
    return written
