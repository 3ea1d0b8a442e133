"""One world: a function with its environments, what wakes it, its table, and the referee."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from idem.canonical import request_hash
from tests.schedules.table_model import Engine
from tests.simulation import catalogue as kinds
from tests.simulation.choices import Choices, Kind
from tests.simulation.environment import RECORDS, Environment
from tests.simulation.fibers import START_MS, Died, Hub, Stuck
from tests.simulation.parts import NO_KEY, UNREADABLE, Invocation, Message, Tally, text_of
from tests.simulation.referee import Breach, Referee
from tests.simulation.rules import Rule
from tests.simulation.senders import Sender, sender_of
from tests.simulation.settings import SKEW_INSIDE_MS, SKEW_OUTSIDE_MS, Settings, draw, ms

STEPS_MAX = 20_000
INVOCATIONS_MAX = 400
EPILOGUE_MS = 60_000
CONTAINER_KILLED_AFTER = 8  # leases: somebody restarts a container that hangs


class World:
    """`run` takes it from its messages to the end of the epilogue, in which all is healthy and nothing is left undone."""

    def __init__(self, choices: Choices, *, notes: bool = False) -> None:
        self.choices = choices
        self.hub = Hub()
        self.tally = Tally()
        self.notes: list[str] | None = [] if notes else None
        self.healthy = False
        self.writer: Invocation | None = None
        self.settings: Settings = draw(choices)
        self.engine = Engine(
            {RECORDS: ["pk"], "business": ["pk"]}, now_ms=lambda: int(self.hub.now), changed=self._changed
        )
        self.referee = Referee(self)
        if self.settings.check:
            wrapped = self.settings.source == "once"
            self.referee.contents = {request_hash([one] if wrapped else one): one for one in kinds.CONTENT.labels}
        self.environments: list[Environment] = []
        self.invocations: list[Invocation] = []
        self.sender: Sender = sender_of(self)

    def run(self) -> Breach | None:
        """The first rule that is broken, None if none is."""
        try:
            self.sender.begin(self._messages())
            self.hub.run(STEPS_MAX)
            if self.referee.breach is None:
                self._epilogue()
        except Stuck as stuck:
            self.referee.broken(Rule.ENDS, str(stuck))
        finally:
            for environment in self.environments:
                if not environment.dead:
                    environment.dead = True
                    environment.end()
        self.tally.worlds += 1
        self.tally.invocations += len(self.invocations)
        return self.referee.breach

    def pick(self, name: str, kind: Kind) -> str:
        """The label of a choice; once the world is healthy, the dullest."""
        return kind.labels[0] if self.healthy else self.choices.pick(name, kind)

    def skew_of(self, number: int) -> float:
        """How far an environment's clock is ahead."""
        size = {"together": 0, "inside the margin": SKEW_INSIDE_MS, "outside the margin": SKEW_OUTSIDE_MS}
        return size[self.settings.clocks] if number % 2 else 0

    def note(self, who: object, what: str) -> None:
        if self.notes is not None:
            self.notes.append(f"{(self.hub.now - START_MS) / 1000:>10.3f} s  {who!s:>4}  {what}")

    def _messages(self) -> list[Message]:
        messages, at = [], self.hub.now
        for number in range(int(self.pick("messages", kinds.MESSAGES))):
            name = f"m{number}"
            if number:
                at += ms(self.pick(f"{name}.gap", kinds.GAP))
            key, content = self.pick(f"{name}.key", kinds.KEY), self.pick(f"{name}.content", kinds.CONTENT)
            if content == UNREADABLE:  # whoever sends one message at a time has a door of its own for that
                key, content = (NO_KEY, content) if self.settings.batches else (key, "same")
            messages.append(
                Message(
                    number=number,
                    key=key,
                    content=content,
                    group=self.pick(f"{name}.group", kinds.GROUP),
                    visible_at=at,
                )
            )
        return messages

    # --- environments and invocations ---

    def free_environment(self) -> Environment | None:
        """An environment that can take a batch now, None if all are at work."""
        live = [one for one in self.environments if not one.dead]
        free = [one for one in live if one.busy is None]
        may_start = len(live) < self.settings.environments
        if not free and not may_start:
            return None
        if not free:
            return self._new_environment()
        label = self.pick(f"i{len(self.invocations)}.environment", kinds.ENVIRONMENT)
        if label == "new" and may_start:
            return self._new_environment()
        return free[-1] if label == "last" else free[0]

    def _new_environment(self) -> Environment:
        environment = Environment(self, len(self.environments))
        self.environments.append(environment)
        return environment

    def invoke(self, environment: Environment, messages: Sequence[Message], event: Any) -> Invocation:
        timeout = self.settings.timeout
        lasts = timeout if timeout is not None else CONTAINER_KILLED_AFTER * self.settings.horizon
        invocation = Invocation(
            number=len(self.invocations),
            environment=environment,
            messages=messages,
            receives=receives_of(event, len(messages)),
            started_at=self.hub.now,
            ends_at=self.hub.now + lasts if timeout is not None else None,
        )
        if len(self.invocations) >= INVOCATIONS_MAX:
            raise Stuck(f"no end after {INVOCATIONS_MAX} invocations")
        self.invocations.append(invocation)
        if self.settings.source == "once":
            invocation.call = self.pick(f"{invocation}.call", kinds.CALL)
        environment.busy = invocation
        told = ", ".join(
            f"{one} ({one.key}{'' if one.content == 'same' else f', {one.content} content'}, {one.group})"
            for one in messages
        )
        self.note(invocation, f"{environment} gets {told}; receive {[one.receives for one in messages]}")
        environment.thaw()
        environment.spawn(lambda: self._live(invocation, event), invocation)
        self.hub.at(self.hub.now + lasts, lambda: self._time_is_up(invocation))
        return invocation

    def _live(self, invocation: Invocation, event: Any) -> None:
        environment: Environment = invocation.environment
        answer, error = None, None
        try:
            answer = environment.handle(event, invocation)
        except Died:
            raise
        except BaseException as raised:  # noqa: BLE001 - whatever leaves the handler is told to the referee
            environment.still_lives()
            error = raised
        invocation.ended_at = self.hub.now
        if self.notes is not None:
            self.note(
                invocation, f"returns {text_of(answer)}"[:300] if error is None else f"raises {type(error).__name__}"
            )
        self.referee.returned(invocation, error)
        if environment.busy is invocation:
            environment.busy = None
            environment.freeze()
        if error is not None and not isinstance(error, Exception):
            environment.die()  # the runtime ends by what is no Exception
        if not invocation.answered:
            invocation.answered = True
            self.sender.answered(invocation, answer, error)
        self.sender.poll()

    def _time_is_up(self, invocation: Invocation) -> None:
        if invocation.ended_at is not None or invocation.environment.dead:
            return
        self.note(invocation, "its time is up")
        if not invocation.answered:
            invocation.answered = True
            self.sender.lost(invocation)
        environment: Environment = invocation.environment
        if environment.frozen_until > self.hub.now:  # the whole host stands still: it is ended when it goes on
            self.hub.at(environment.frozen_until + 2_000, lambda: self._kill(invocation))
        else:
            self._kill(invocation)

    def _kill(self, invocation: Invocation) -> None:
        environment: Environment = invocation.environment
        if invocation.ended_at is None and not environment.dead:
            invocation.killed = True
            self.environment_died(environment)
            environment.die()

    def environment_died(self, environment: Environment) -> None:
        """The process is gone: a time-out, or a crash."""
        invocation = environment.busy
        self.tally.deaths += 1
        self.note(invocation, f"the process of {environment} dies")
        self.referee.process_died(environment)
        if invocation is not None:
            invocation.ended_at = self.hub.now
            environment.busy = None
            if not invocation.answered:
                invocation.answered = True
                self.sender.lost(invocation)
        self.hub.at(self.hub.now, self.sender.poll)

    def stall(self, environment: Environment, invocation: Invocation) -> None:
        """The whole host stands still past the leases of its claims, while others go on. For the fiber that runs."""
        settings = self.settings
        until = max(self.hub.now, invocation.started_at + settings.horizon) + settings.margin + 3_000
        until += settings.policy.lease_margin.total_seconds() * 1000
        invocation.stalled = True
        environment.stand_still(until)
        self.hub.pause(0)

    # --- the table ---

    def _changed(self, table: str, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> None:
        item = after or before or {}
        key = item["pk"]["S"].rpartition("#")[2]
        if table == RECORDS:
            if self.notes is not None:
                was, now = (
                    one["status"]["S"] + " " + one["attempt"]["N"] if one else "absent" for one in (before, after)
                )
                self.note(self.writer, f"record of {key}: {was} -> {now}")
            self.referee.record_changed(key, before, after)
        else:
            self.note(self.writer, f"the write of {key} is committed")
            self.referee.committed(key)

    def delete_what_expired(self) -> None:
        """DynamoDB's TTL, at its promptest."""
        items = self.engine.tables[RECORDS]
        for mark, item in list(items.items()):
            if "expiresAt" in item and int(item["expiresAt"]["N"]) * 1000 < self.hub.now:
                del items[mark]
                self.referee.forgotten(mark[0].rpartition("#")[2], item)

    # --- the epilogue ---

    def _epilogue(self) -> None:
        """All is healthy and quiet; each key is delivered twice more, and must end as its history says."""
        self.healthy = True
        settings = self.settings
        longest = max(settings.horizon, settings.policy.lease.total_seconds() * 1000)
        quiet = longest + settings.policy.lease_margin.total_seconds() * 1000 + 2 * settings.margin + EPILOGUE_MS
        self.hub.now += quiet
        for key in list(dict.fromkeys(message.key for message in self.sender.messages)):
            self._probe(key)
            if self.referee.breach is not None:
                return

    def _probe(self, key: str) -> None:
        for _ in range(2):
            item = self.engine.tables[RECORDS].get((f"IDEMPOTENCY#sim#{key}",))
            expected = self.referee.expected_to_run(key, item)
            before = self.referee.done_for(key)
            message = Message(
                1000 + len(self.sender.messages), key, self._content_of(key, item), f"probe {key}", self.hub.now
            )
            self.sender.probe(message)
            self.hub.run(self.hub.steps + STEPS_MAX)
            if self.referee.breach is not None:
                return
            ran = self.referee.done_for(key) > before
            if expected is not None and ran != expected:
                found = item["status"]["S"] if item else "absent"
                self.referee.broken(
                    Rule.ENDS_AS_EXPECTED,
                    f"{key} is delivered once more to a healthy world: its work {'runs' if ran else 'does not run'}, and should"
                    f" {'' if expected else 'not '}run; its record was {found}",
                )
            elif ran and message.state != "done":
                self.referee.broken(
                    Rule.ENDS_AS_EXPECTED, f"{key} ran well in a healthy world, and is not acknowledged"
                )

    def _content_of(self, key: str, item: Mapping[str, Any] | None) -> str:
        """The content that the record was claimed with."""
        runs = self.referee.runs.get(key, [])
        if item is not None and "requestHash" in item:
            return self.referee.contents.get(item["requestHash"]["S"], "same")
        return runs[-1].content if runs else "same"


def receives_of(event: Any, messages: int) -> list[int]:
    """How often each message came, as its queue says; what comes from elsewhere says nothing."""
    records = event.get("Records", ()) if isinstance(event, Mapping) else ()
    said = [int(record.get("attributes", {}).get("ApproximateReceiveCount", 1)) for record in records]
    return said or [1] * messages


def watch(choices: Choices, *, notes: bool = False) -> World:
    """A world after its run."""
    world = World(choices, notes=notes)
    world.run()
    return world
