"""Named faults of the floor of whole invocations, each as a replacement of its source; to add one is one call of `_one`."""

from __future__ import annotations

from tests.mutations.listed import Mutation


def _one(name: str, file: str, old: str, new: str) -> Mutation:
    return Mutation(name, file, [(old, new)])


MUTATIONS = [
    _one(
        "takeover keeps the attempt", "record.py", "attempt=found.attempt + 1, starts", "attempt=found.attempt, starts"
    ),
    _one(
        "held work taken over",
        "record.py",
        "            if wanted.hold_lapsed and found.starts > 0:\n",
        "            if False:\n",
    ),
    _one(
        "a live lease is taken over",
        "record.py",
        "            if now_ms < until:\n",
        "            if False:\n",
    ),
    _one(
        "a duplicate in flight is acknowledged",
        "sources/sqs.py",
        "        undone = [ending for ending in endings if not isinstance(ending.outcome, Done)]\n",
        "        undone = [ending for ending in endings if not isinstance(ending.outcome, Done | Busy)]\n",
    ),
    _one(
        "a stream's checkpoint is its last undone record",
        "sources/streams.py",
        "        for ending in endings:\n            if _over(ending):\n",
        "        for ending in reversed(endings):\n            if _over(ending):\n",
    ),
]
