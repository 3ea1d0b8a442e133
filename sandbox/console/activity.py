"""What the functions did, read from their logs: how each delivery ended, when, and for which key."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any

from botocore.exceptions import ClientError

from idem.text import ERROR_CHARS_MAX, bounded
from sandbox.stack_connection import StackConnection

WINDOW_S = 3600  # the chart shows the last hour
FRESH_S = 1.5  # how long what was read is shown again before it is read anew
PAGES_MAX = 10  # of a log group, each time: a busy function has more lines than a page can show
BUCKETS = 30
RECENT = 8

SERIES = {
    "FirstRuns": "first runs",
    "Replays": "replays",
    "Held": "held",
}
FAILURES = "failures"  # everything else that is not one of these


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedDelivery:
    """One delivery, as the function that handled it logged it. at: epoch ms."""

    at: int
    key: str | None
    outcome: str
    attempt: int | None
    receive_count: int
    error: str | None
    origin: Mapping[str, str]


class Activity:
    """The deliveries of the last hour. Reads each log group from where it had got to."""

    def __init__(self, connection: StackConnection) -> None:
        self._connection = connection
        self._groups: list[str] | None = None
        self._lines: dict[str, LoggedDelivery] = {}
        self._read_to: dict[str, int] = {}
        self._read_at = 0.0
        self._lock = Lock()

    def lines(self, now_ms: int) -> list[LoggedDelivery]:
        """Every delivery of the last hour, oldest first."""
        with self._lock:
            if time.monotonic() - self._read_at > FRESH_S:
                for group in self._log_groups():
                    self._read(group, now_ms)
                self._read_at = time.monotonic()
            since = now_ms - WINDOW_S * 1000
            self._lines = {name: line for name, line in self._lines.items() if line.at >= since}
            return sorted(self._lines.values(), key=lambda line: line.at)

    def chart(self, now_ms: int) -> dict[str, Any]:
        """How many of each kind in each slice of time, from the first delivery of the last hour until now."""
        lines = self.lines(now_ms)
        begin = min([line.at for line in lines], default=now_ms)
        width = max(1000, -(-(now_ms - begin) // BUCKETS))
        counts: dict[str, Counter[int]] = {name: Counter() for name in [*SERIES.values(), FAILURES]}
        for line in lines:
            counts[SERIES.get(line.outcome, FAILURES)][min(BUCKETS - 1, (line.at - begin) // width)] += 1
        return {
            "begin": begin,
            "width": width,
            "series": {name: [found[index] for index in range(BUCKETS)] for name, found in counts.items()},
            "totals": {name: found.total() for name, found in counts.items()},
            "recent": [
                {"at": one.at, "key": one.key, "outcome": one.outcome, "attempt": one.attempt, "error": one.error}
                for one in lines[-RECENT:][::-1]
            ],
        }

    def _log_groups(self) -> list[str]:
        """The log groups of the stack's functions."""
        if self._groups is None:
            functions = [value for name, value in self._connection.outputs.items() if name.endswith("FunctionName")]
            client = self._connection.client("lambda")
            settings = [client.get_function_configuration(FunctionName=name) for name in functions]
            self._groups = [
                one.get("LoggingConfig", {}).get("LogGroup") or f"/aws/lambda/{one['FunctionName']}" for one in settings
            ]
        return self._groups

    def _read(self, group: str, now_ms: int) -> None:
        since = self._read_to.get(group, now_ms - WINDOW_S * 1000)
        pages = self._connection.client("logs").get_paginator("filter_log_events")
        try:
            for number, page in enumerate(
                pages.paginate(logGroupName=group, startTime=since, filterPattern='"delivery"')
            ):
                for event in page["events"]:
                    # Lines can come late: the next look starts a little before the last line that was seen.
                    self._read_to[group] = max(self._read_to.get(group, 0), int(event["timestamp"]) - 5_000)
                    if line := _line(event):
                        name = (
                            event.get("eventId") or f"{event['logStreamName']} {event['timestamp']} {event['message']}"
                        )
                        self._lines[name] = line
                if number + 1 >= PAGES_MAX:
                    return
        except ClientError as error:
            if error.response["Error"]["Code"] != "ResourceNotFoundException":
                raise  # a function that has never run has no log group yet


def _line(event: Mapping[str, Any]) -> LoggedDelivery | None:
    """The delivery that a line tells of, None for any other line: whatever a function prints, the other lines are read."""
    try:
        said = json.loads(event["message"])
        if said["message"] != "delivery":
            return None
        error = said.get("error")
        return LoggedDelivery(
            at=int(event["timestamp"]),
            key=None if said.get("key") is None else str(said["key"]),
            outcome=str(said["outcome"]),
            attempt=None if said.get("attempt") is None else int(said["attempt"]),
            receive_count=int(said.get("receive_count") or 1),
            error=None if error is None else bounded(str(error), ERROR_CHARS_MAX),
            origin={str(name): str(value) for name, value in (said.get("origin") or {}).items()},
        )
    except (AttributeError, KeyError, OverflowError, RecursionError, TypeError, ValueError):
        return None
