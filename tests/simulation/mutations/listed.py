"""Named faults of the floor of whole invocations, each as a replacement of its source; to add one is one call of `_one`."""

from __future__ import annotations

from tests.mutations.frame import Mutation


def _one(name: str, file: str, old: str, new: str) -> Mutation:
    return Mutation(name, file, [(old, new)])


BLOCKED_BY_ITS_GROUP = "        if (before is not None and self.endings[before] is None) or (\n"
"""Alone, waiting for a group's record and giving it one lane only save rounds: this keeps the order as well."""

MUTATIONS = [
    _one(
        "takeover keeps the attempt", "record.py", "attempt=found.attempt + 1, starts", "attempt=found.attempt, starts"
    ),
    _one(
        "held work taken over",
        "record.py",
        "            if wanted.hold_lapsed and found.starts > 0 and not found.unstarted:\n",
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
    _one(
        "an expired claim in progress begins at attempt one",
        "record.py",
        "found.attempt + 1 if found.status is Status.IN_PROGRESS else 1",
        "1",
    ),
    _one("starts used up are started again", "record.py", "found.starts < wanted.starts_max", "True"),
    _one(
        "the record of work in progress expires before its lease",
        "flow.py",
        "expires_at=self.expires_at(lease_until)",
        "expires_at=self.expires_at()",
    ),
    _one("the lease is not looked at", "flow.py", "now_ms() > self.latest_start(claim)", "now_ms() > float(10**15)"),
    _one("the reserve is ignored", "flow.py", "self._lease_margin_ms - self.reserve_ms", "self._lease_margin_ms"),
    _one(
        "time is looked at before the start is counted only",
        "flow.py",
        " if self.is_late(begun) else begun",
        " if False else begun",
    ),
    _one("a start is not counted", "flow.py", "        if not self.counts_starts:\n", "        if True:\n"),
    _one(
        "a start that was not made is not taken back",
        "flow.py",
        "replace(claim, starts=max(0, claim.starts - 1)) if counted else claim",
        "claim",
    ),
    _one(
        "a plan's life counts from its start",
        "flow.py",
        "replace(wanted, expires_at=self.expires_at())",
        "replace(wanted, expires_at=self.expires_at(wanted.asked_at))",
    ),
    _one(
        "a recorded life counts from the claim",
        "flow.py",
        "Complete(claim, stored, self.expires_at(), writes)",
        "Complete(claim, stored, self.expires_at(claim.claimed_at * 1000 - 1000), writes)",
    ),
    _one("work that did not run is done", "flow.py", "if mistake := mistake_in(value):", "if mistake := None:"),
    _one(
        "a forgotten failure is kept as final",
        "flow.py",
        "reclaimable=kind is Kind.TRANSIENT)",
        "reclaimable=False)",
    ),
    _one(
        "SystemExit ends the process",
        "errors.py",
        "(KeyboardInterrupt, Crash)",
        "(KeyboardInterrupt, SystemExit, Crash)",
    ),
    _one(
        "a note on an error hides it",
        "flow.py",
        "    with suppress(Exception):\n        error.add_note(text)",
        "    error.add_note(text)",
    ),
    _one(
        "done work that was not recorded is acknowledged",
        "flow.py",
        "Overtaken(error) if isinstance(error, ClaimLost) else Unavailable(error, ran=True)",
        "ended.outcome",
    ),
    _one(
        "a cancelled call keeps its claim",
        "decorator.py",
        "            await in_thread(threads, give_back)\n",
        "",
    ),
    _one(
        "a cancelled call is not recorded",
        "decorator.py",
        "                call.outcome = await in_thread(recording, partial(self._flow.record, self._flow.raised(claim, error)))\n",
        "",
    ),
    _one(
        "a function's unready claim is kept",
        "flow.py",
        "    if unready.given_back is not None:\n        flow.record",
        "    if False:\n        flow.record",
    ),
    _one(
        "nothing is recorded when an exception leaves",
        "consumer.py",
        "            with suppress(BaseException):  # the first exception is the one to know\n                batch.close()\n",
        "",
    ),
    Mutation(
        "the reply goes before the records",
        "batch.py",
        [
            (
                "            yield self._lanes(self._claim(chunk))\n            self._recorder.catch_up()\n",
                "            yield self._lanes(self._claim(chunk))\n",
            ),
            (
                "            yield self._lanes(late)\n            self._recorder.catch_up()\n",
                "            yield self._lanes(late)\n",
            ),
            ("        self._recorder.close()\n", "        pass\n"),
        ],
    ),
    _one(
        "the timer is not armed",
        "recorder.py",
        "if self._waiting and self._running and self._call_off is None:",
        "if False:",
    ),
    _one(
        "record_within is ignored",
        "recorder.py",
        "due = now_ms + min(self._within_ms, ",
        "due = now_ms + max(3_600_000, ",
    ),
    _one(
        "an outcome is not due before its deadline",
        "recorder.py",
        "min(self._within_ms, max(0, item.due_by - now_ms))",
        "self._within_ms",
    ),
    _one("an outcome that is put in is lost", "recorder.py", "            self._waiting.append(item)\n", ""),
    _one(
        "nothing is recorded before a message that may kill",
        "batch.py",
        "        if suspect or step.waiting.twin is not None:\n",
        "        if False:\n",
    ),
    Mutation(
        "a group goes on before its last one is recorded",
        "batch.py",
        [
            (
                "            self._recorder.catch_up(lambda: self.endings[before] is not None)\n",
                "            self._recorder.flush_if_due()\n",
            ),
            (BLOCKED_BY_ITS_GROUP, "        if (\n"),
        ],
    ),
    _one(
        "a group does not stop",
        "batch.py",
        "return ending is not None and not isinstance(ending.outcome, Done)",
        "return False",
    ),
    _one(
        "a twin shares what its first one's group kept back",
        "batch.py",
        "return earlier is not None and not isinstance(earlier.outcome, NotStarted)",
        "return earlier is not None",
    ),
    _one(
        "waiting goes before other work",
        "batch.py",
        "            if all(map(self._is_blocked, late)):\n",
        "            if any(map(self._is_blocked, late)):\n",
    ),
    _one(
        "held keys are waited for in their turn",
        "batch.py",
        "            self._record_before(step)\n",
        "            self._record_before(step)\n            _ = isinstance(step, Met) and self._is_patient() and self._pause(0)\n",
    ),
    _one(
        "what was not started is not given back",
        "batch.py",
        "        if given_back is not None:\n",
        "        if False:\n",
    ),
    _one(
        "a plan starts without the reserve",
        "batch.py",
        "            if self._plans and not self._is_over():\n",
        "            if self._plans:\n",
    ),
    Mutation(
        "two lanes for one group",
        "batch.py",
        [
            ('("one", step.waiting.index) if group is None else ("group", group)', '("one", step.waiting.index)'),
            (BLOCKED_BY_ITS_GROUP, "        if (\n"),
        ],
    ),
    _one(
        "a work's cancellation is the invocation's",
        "lanes.py",
        "Raised(asyncio.CancelledError()) if work.cancelled() else work.result()",
        "work.result()",
    ),
    _one(
        "a stream skips a mismatch",
        "sources/streams.py",
        "        case Rejected(error=RequestMismatch()):\n            return False",
        "        case Rejected(error=RequestMismatch()):\n            return True",
    ),
    _one(
        "a rejection that nobody recorded passes a stream",
        "sources/streams.py",
        "            return recorded\n",
        "            return True\n",
    ),
    _one(
        "a message that cannot be read takes its batch with it",
        "consumer.py",
        "                batch.refuse(index, Rejected(error, recorded=False))\n",
        "                raise\n",
    ),
    _one(
        "work that is overtaken is acknowledged",
        "sources/sqs.py",
        "        undone = [ending for ending in endings if not isinstance(ending.outcome, Done)]\n",
        "        undone = [ending for ending in endings if type(ending.outcome).__name__ not in ('Done', 'Overtaken', 'Retry')]\n",
    ),
]
