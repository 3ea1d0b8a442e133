"""What wakes the function: a queue, a stream, a provider of webhooks, asynchronous invocations, callers of a function.

Each is a model of its own of when something is delivered, what an answer means to it, and when it gives up.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from idem.errors import NotRun, StoredFailure
from idem.webhooks.signed_requests import as_event, sign
from tests.simulation import catalogue as kinds
from tests.simulation.parts import Invocation, Message, text_of
from tests.simulation.rules import Rule

if TYPE_CHECKING:
    from tests.simulation.environment import Environment
    from tests.simulation.world import World

ARN = "arn:aws:sqs:us-east-1:000000000000:q"
AGAIN_MS = 20_000  # between two tries of whoever calls a function
POLL_MS = 1_000  # a stream is asked again so soon
TRIES_MS = (60_000, 120_000)  # the pauses of asynchronous invocations
COPY_MS = 250


class Sender(Protocol):
    """Delivers a world's messages. A message ends done or dead."""

    messages: list[Message]

    def begin(self, messages: Sequence[Message]) -> None: ...

    def poll(self) -> None:
        """Deliver what can be delivered now."""
        ...

    def answered(self, invocation: Invocation, answer: Any, error: BaseException | None) -> None: ...

    def lost(self, invocation: Invocation) -> None:
        """The invocation was ended without an answer."""
        ...

    def probe(self, message: Message) -> None:
        """Send one more message."""
        ...


class Common:
    """What all senders do alike: wait until a message may be delivered, and give up after so many receives."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.messages: list[Message] = []

    def begin(self, messages: Sequence[Message]) -> None:
        for message in messages:
            self.probe(message)

    def probe(self, message: Message) -> None:
        self.messages.append(message)
        self.world.hub.at(message.visible_at, self.poll)

    def due(self) -> list[Message]:
        """The messages that may be delivered now, after giving up those that were received too often."""
        now, found = self.world.hub.now, []
        for message in self.messages:
            if not message.over and message.visible_at <= now:
                if message.receives >= self.receives_max:
                    self.buried(message)
                else:
                    found.append(message)
        return found

    @property
    def receives_max(self) -> int:
        return self.world.settings.receives_max

    def buried(self, message: Message) -> None:
        message.state = "dead"
        self.world.note(message, "goes to the dead-letter queue")

    def again(self, message: Message, after_ms: float) -> None:
        message.visible_at = self.world.hub.now + after_ms
        self.world.hub.at(message.visible_at, self.poll)

    def acknowledge(self, message: Message, invocation: Invocation, *, rejected_too: bool) -> None:
        if message.over:
            return
        message.state = "done"
        self.world.referee.acknowledged(message, invocation, rejected_too=rejected_too)

    def poll(self) -> None:
        raise NotImplementedError


class Queue(Common):
    """SQS: visibility, receive counts, redrive, message groups; and the client through which visibility is moved."""

    @property
    def fifo(self) -> bool:
        return self.world.settings.source == "fifo"

    def poll(self) -> None:
        while due := self._deliverable():
            environment = self.world.free_environment()
            if environment is None:
                return
            number = len(self.world.invocations)
            size = int(self.world.pick(f"i{number}.batch", kinds.BATCH))
            self._deliver(environment, due[:size])

    def _deliverable(self) -> list[Message]:
        due = self.due()
        if not self.fifo:
            return due
        blocked = {
            one.group for one in self.messages if not one.over and one.visible_at > self.world.hub.now and one.receives
        }
        return [message for message in due if message.group not in blocked]

    def _deliver(self, environment: Environment, batch: list[Message]) -> None:
        visibility = self.world.settings.visibility
        for message in batch:
            message.receives += 1
            message.moved = False
            self.again(message, visibility)
        self.world.invoke(environment, batch, {"Records": [self._record(message) for message in batch]})

    def _record(self, message: Message) -> dict[str, Any]:
        attributes = {"ApproximateReceiveCount": str(message.receives)}
        if self.fifo:
            attributes |= {"MessageGroupId": message.group, "MessageDeduplicationId": str(message)}
        return {
            "messageId": str(message),
            "receiptHandle": f"{message}/{message.receives}",
            "body": message.body,
            "attributes": attributes,
            "messageAttributes": {},
            "eventSource": "aws:sqs",
            "eventSourceARN": ARN + (".fifo" if self.fifo else ""),
        }

    def answered(self, invocation: Invocation, answer: Any, error: BaseException | None) -> None:
        if error is not None:
            return
        failed = self._failed(invocation, answer)
        if failed is None:
            return
        for message in invocation.messages:
            if str(message) not in failed:
                self.acknowledge(message, invocation, rejected_too=False)
            elif not message.over:
                self.world.referee.undone(message, invocation)

    def _failed(self, invocation: Invocation, answer: Any) -> set[str] | None:
        """The ids that an answer reports; None if the answer fails the whole batch."""
        try:
            failed = [one["itemIdentifier"] for one in answer["batchItemFailures"]]
        except (TypeError, KeyError):
            failed = [None]
        if set(failed) <= {str(message) for message in invocation.messages}:
            return set(failed)
        self.world.referee.broken(Rule.ANSWER_IS_WELL_FORMED, f"{invocation} answered {answer!r}")
        return None

    def lost(self, invocation: Invocation) -> None:
        """Everything comes again when its visibility ends."""

    # --- the SQS client ---

    def change_message_visibility_batch(self, QueueUrl: str, Entries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:  # noqa: N803, ARG002
        for entry in Entries:
            name, _, receive = entry["ReceiptHandle"].partition("/")
            message = next(one for one in self.messages if str(one) == name)
            if message.receives == int(receive) and not message.over:
                self.again(message, entry["VisibilityTimeout"] * 1000)
        return {"Successful": [{"Id": entry["Id"]} for entry in Entries], "Failed": []}

    def send_message_batch(self, QueueUrl: str, Entries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:  # noqa: N803, ARG002
        for entry in Entries:
            name = entry["MessageAttributes"]["idem.messageId"]["StringValue"]
            next(one for one in self.messages if str(one) == name).buried = True
        return {"Successful": [{"Id": entry["Id"]} for entry in Entries], "Failed": []}


class Stream(Common):
    """One shard of Kinesis: a batch at a time, a checkpoint, and a failure destination after so many tries."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._flying: Invocation | None = None
        self._again_at: float = 0

    def poll(self) -> None:
        if self._flying is not None or self.world.hub.now < self._again_at:
            return
        due = self._batch()
        if not due:
            return
        environment = self.world.free_environment()
        if environment is None:
            return
        number = len(self.world.invocations)
        batch = due[: int(self.world.pick(f"i{number}.batch", kinds.BATCH))]
        for message in batch:
            message.receives += 1
        event = {"Records": [self._record(message) for message in batch]}
        self._flying = self.world.invoke(environment, batch, event)
        twice(self.world, batch, event)

    def _batch(self) -> list[Message]:
        now, found = self.world.hub.now, list[Message]()
        for message in self.messages:
            if message.over:
                continue
            if message.visible_at > now:
                break
            if message.receives >= self.receives_max and not found:
                self.buried(message)
            else:
                found.append(message)
        return found

    def _record(self, message: Message) -> dict[str, Any]:
        data = base64.b64encode(message.body.encode()).decode()
        return {
            "eventSource": "aws:kinesis",
            "eventSourceARN": "arn:aws:kinesis:us-east-1:000000000000:stream/s",
            "eventID": f"shard:{message}",
            "kinesis": {"sequenceNumber": str(message), "partitionKey": message.group, "data": data},
        }

    def answered(self, invocation: Invocation, answer: Any, error: BaseException | None) -> None:
        if error is None:
            self._checkpoint(invocation, answer)
        self._landed(invocation)

    def _checkpoint(self, invocation: Invocation, answer: Any) -> None:
        names = [str(message) for message in invocation.messages]
        try:
            failed = [one["itemIdentifier"] for one in answer["batchItemFailures"]]
        except (TypeError, KeyError):
            failed = ["?"]
        if not set(failed) <= set(names):
            self.world.referee.broken(Rule.ANSWER_IS_WELL_FORMED, f"{invocation} answered {answer!r}")
            return
        first = min((names.index(name) for name in failed), default=len(names))
        for message in invocation.messages[:first]:
            self.acknowledge(message, invocation, rejected_too=True)
        if first < len(names) and not invocation.messages[first].over:
            self.world.referee.undone(invocation.messages[first], invocation)

    def lost(self, invocation: Invocation) -> None:
        self._landed(invocation)

    def _landed(self, invocation: Invocation) -> None:
        if self._flying is invocation:
            self._flying = None
            self._again_at = self.world.hub.now + POLL_MS
            self.world.hub.at(self._again_at, self.poll)


class OneByOne(Common):
    """A sender of one message at a time, that repeats by the answers it gets."""

    def poll(self) -> None:
        for message in self.due():
            environment = self.world.free_environment()
            if environment is None:
                return
            message.receives += 1
            message.visible_at = float("inf")
            event = self.event(message)
            self.world.invoke(environment, [message], event)
            twice(self.world, [message], event)

    def event(self, message: Message) -> Any:
        return {"k": message.key, "c": message.content}

    def lost(self, invocation: Invocation) -> None:
        self.failed(invocation)

    def failed(self, invocation: Invocation, after_ms: float | None = None) -> None:
        message = invocation.messages[0]
        if not message.over:
            self.again(message, after_ms if after_ms is not None else self.pause(message))

    def pause(self, message: Message) -> float:
        return AGAIN_MS * message.receives


class Provider(OneByOne):
    """A provider of webhooks: any 2xx ends it, anything else is tried again."""

    def event(self, message: Message) -> Any:
        body = {
            "id": message.key,
            "object": "event",
            "type": "made",
            "data": {"object": {"id": "o", "c": message.content}},
        }
        return as_event(sign("stripe", json.dumps(body).encode(), ["whsec_simulation"], int(self.world.hub.now)))

    def answered(self, invocation: Invocation, answer: Any, error: BaseException | None) -> None:
        message = invocation.messages[0]
        if error is not None or not isinstance(answer, Mapping) or not isinstance(answer.get("statusCode"), int):
            if error is None:
                self.world.referee.broken(Rule.ANSWER_IS_WELL_FORMED, f"{invocation} answered {answer!r}")
            self.failed(invocation)
        elif 200 <= answer["statusCode"] < 300:
            self.acknowledge(message, invocation, rejected_too=True)
            if "rejected" not in answer["body"]:
                self.world.referee.result_shown(message.key, answer["body"], invocation)
        else:
            if not message.over:
                self.world.referee.undone(message, invocation)
            seconds = int(answer["headers"].get("retry-after", 0))
            self.failed(invocation, max(self.pause(message), seconds * 1000))


class Invoker(OneByOne):
    """Asynchronous invocations: two more tries after an error, then the failure destination."""

    @property
    def receives_max(self) -> int:
        return 1 + len(TRIES_MS)

    def pause(self, message: Message) -> float:
        return TRIES_MS[min(message.receives, len(TRIES_MS)) - 1]

    def answered(self, invocation: Invocation, answer: Any, error: BaseException | None) -> None:
        message = invocation.messages[0]
        if error is None:
            try:
                shown = json.dumps(answer)
            except RecursionError:  # as deep as JSON can hold; Lambda's own encoder stands on a shorter stack
                shown = ""
            except (TypeError, ValueError) as wrong:
                self.world.referee.broken(
                    Rule.ANSWER_IS_WELL_FORMED, f"{invocation} answered what JSON cannot hold: {wrong}; done work fails"
                )
                return
            self.acknowledge(message, invocation, rejected_too=True)
            if shown and "rejected" not in shown:
                self.world.referee.result_shown(message.key, shown, invocation)
            return
        if type(error).__name__ == "Undone" and not message.over:
            self.world.referee.undone(message, invocation)
        self.failed(invocation)


class Callers(OneByOne):
    """Callers of a function made by `once`: each calls again until there is a result, or a stored failure."""

    def answered(self, invocation: Invocation, answer: Any, error: BaseException | None) -> None:
        message = invocation.messages[0]
        if error is None:
            self.acknowledge(message, invocation, rejected_too=False)
            if (shown := text_of(answer)) is not None:
                self.world.referee.result_shown(message.key, shown, invocation)
        elif isinstance(error, StoredFailure):
            self.acknowledge(message, invocation, rejected_too=True)
        else:
            if isinstance(error, NotRun):
                self.world.referee.undone(message, invocation)
            self.failed(invocation)


def twice(world: World, batch: Sequence[Message], event: Any) -> None:
    """Now and then the same batch is delivered to another environment as well."""
    number = len(world.invocations) - 1
    label = world.pick(f"i{number}.twice", kinds.TWICE)
    if label == "no":
        return

    def deliver() -> None:
        environment = world.free_environment()
        if environment is not None:
            world.invoke(environment, batch, event)

    world.hub.at(world.hub.now + (0 if label == "at once" else COPY_MS), deliver)


def sender_of(world: World) -> Sender:
    made: dict[str, type[Any]] = {
        "sqs": Queue,
        "fifo": Queue,
        "stream": Stream,
        "webhook": Provider,
        "invoke": Invoker,
        "once": Callers,
    }
    sender: Sender = made[world.settings.source](world)
    return sender
