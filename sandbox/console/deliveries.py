"""Redeliver the samples of `events/` to the deployed handlers, and follow what each delivery did."""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from idem.operators import consumer_rules, delivering, samples
from idem.operators.delivering import Sent
from idem.operators.operator_errors import Exit, OperatorError, explain
from idem.operators.record_text import now
from sandbox.console.activity import Activity
from sandbox.console.watched_records import WatchedRecords
from sandbox.isolation import ROOT
from sandbox.stack_connection import ORDERS_FUNCTION, StackConnection

EVENTS = ROOT / "events"
TIMES_MAX = 20
KEPT_MAX = 30
CONSUMERS = {"orders": "handlers.orders", "payments": "handlers.payments"}


@dataclass(slots=True, kw_only=True)
class Run:
    """One press of the button. effects_before: of each key, None where there is no ledger."""

    number: int
    sample: str
    to: str | None
    times: int
    at: int
    keys: Sequence[str]
    effects_before: dict[str, int] | None
    sent: list[Sent] = field(default_factory=list)
    error: str = ""
    done: bool = False


class Deliveries:
    """Sends in the background; `shown` says how far each run has got."""

    def __init__(self, connection: StackConnection, records: WatchedRecords, activity: Activity) -> None:
        self._connection = connection
        self._records = records
        self._activity = activity
        self._runs: list[Run] = []
        self._pool = ThreadPoolExecutor(4)
        self._lock = Lock()

    def samples(self) -> list[dict[str, Any]]:
        """Every sample, with the consumer that it is for; None if none of the deployed ones reads it."""
        names = sorted(path.relative_to(EVENTS).as_posix() for path in EVENTS.rglob("*.json"))
        found = [{"name": name, "to": _consumer(name)} for name in names]
        return sorted(found, key=lambda one: one["to"] is None)  # those that somebody reads come first

    def deliver(self, name: str, times: int, *, at_once: bool) -> dict[str, Any]:
        """Start a run. Raises OperatorError."""
        sample = next((one for one in self.samples() if one["name"] == name), None)
        if sample is None or not 1 <= times <= TIMES_MAX:
            raise OperatorError(f"Choose a sample, and 1 to {TIMES_MAX} times.", status=Exit.USAGE)
        content = json.loads((EVENTS / name).read_text(encoding="utf-8"))
        keys = self._keys(content, sample["to"])
        with self._lock:
            run = Run(
                number=len(self._runs) + 1,
                sample=name,
                to=sample["to"],
                times=times,
                at=now(),
                keys=keys,
                effects_before=self._records.effects_of(keys),
            )
            self._runs.append(run)
        self._pool.submit(self._send, run, content, sample["to"], at_once)
        return self._show(run, now())

    def shown(self) -> list[dict[str, Any]]:
        """The last runs, newest first."""
        now_ms = now()
        with self._lock:
            runs = self._runs[-KEPT_MAX:][::-1]
        return [self._show(run, now_ms) for run in runs]

    def _send(self, run: Run, content: Any, to: str | None, at_once: bool) -> None:  # noqa: FBT001 - handed to a pool
        try:
            if to is None:
                run.sent = [self._invoke(content) for _ in range(run.times)]
            else:
                target = self._connection.orders() if to == "orders" else self._connection.payments()
                run.sent = delivering.repeat(target, samples.messages(content), times=run.times, concurrently=at_once)
        except Exception as error:  # noqa: BLE001 - nobody waits for this thread: the page shows what went wrong
            run.error = str(explain(error) or f"{type(error).__name__}: {error}")
        finally:
            run.done = True

    def _invoke(self, content: Any) -> Sent:
        """An event that no deployed consumer reads goes straight to the orders function, which refuses it."""
        client = self._connection.client("lambda")
        name = self._connection.output(ORDERS_FUNCTION)
        answer = client.invoke(FunctionName=name, Payload=json.dumps(content).encode())
        said = answer["Payload"].read().decode("utf-8", "replace")
        try:
            shown = json.loads(said).get("errorMessage", said)
        except (ValueError, AttributeError):
            shown = said
        return Sent(said=str(shown), status=None)

    def _keys(self, content: Any, to: str | None) -> list[str]:
        if to is None:
            return []
        rules = consumer_rules.load(CONSUMERS[to])
        found: list[str] = []
        for delivery in samples.deliveries(content, None, lambda _text: None):
            try:
                found.append(str(rules.key_of(delivery)))
            except OperatorError:
                continue  # a sample without a key is a sample too: the handler refuses it
        return list(dict.fromkeys(found))

    def _show(self, run: Run, now_ms: int) -> dict[str, Any]:
        """The run with the outcomes of its deliveries so far, from the answers or, of a queue's messages, from the logs."""
        after = self._records.effects_of(list(run.keys))
        queued = {one.said for one in run.sent if one.status is None}
        outcomes: dict[str, int] = {}
        for line in self._activity.lines(now_ms):
            ours = line.origin.get("messageId") in queued if run.to == "orders" else line.key in run.keys
            if ours and line.at >= run.at:  # an earlier run of the same sample ended before this one began
                outcomes[line.outcome] = outcomes.get(line.outcome, 0) + 1
        return {
            "number": run.number,
            "sample": run.sample,
            "times": run.times,
            "at": run.at,
            "done": run.done,
            "error": run.error,
            "keys": list(run.keys),
            "sent": [one.as_json() for one in run.sent],
            "outcomes": outcomes,
            "effects": [
                {"key": key, "before": (run.effects_before or {}).get(key, 0), "after": after[key]} for key in run.keys
            ]
            if after is not None
            else None,
        }


def _consumer(name: str) -> str | None:
    """The deployed consumer that a sample is for, by its folder."""
    folder = name.partition("/")[0]
    return folder if folder in CONSUMERS else None
