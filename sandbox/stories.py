"""The demo's stories: what is delivered, how often, and what must be true afterwards."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus

from idem import Key, Record, Status
from sandbox.account import Response
from sandbox.observed import Observed, order_key, payment_key, wait_for
from sandbox.outside_world import Producer, Stripe, order, payment, sample

AT_ONCE = 8
WAIT_SECONDS = 60.0  # the longest story waits for a visibility timeout of 18 s and the queue's poller behind it
RETRY_SECONDS = 1.0  # this Stripe's patience before it delivers again; the real one waits for minutes

Say = Callable[[str], None]


@dataclass(slots=True, kw_only=True)
class Story:
    """One thing that happens to the stack.

    effects: how many rows the ledger must have for `subject` in the end. status: of the record of `key`, None for no record.
    posts: deliveries made by hand; messages: those that the queue delivers. dead: must be in the dead-letter queue.
    """

    title: str
    subject: str
    key: Key
    effects: int
    status: Status | None
    dead: bool = False
    posts: int = 0
    messages: list[str] = field(default_factory=list)

    def deliveries(self, arrivals: dict[str, int]) -> int:
        """How often the stack was handed this work."""
        return self.posts + sum(arrivals.get(message, 0) for message in self.messages)

    def faults(self, effects: Counter[str], record: Record | None, dead: list[str]) -> list[str]:
        """What is not as it must be."""
        found: list[str] = []
        if effects[self.subject] != self.effects:
            found.append(f"{self.subject} has {effects[self.subject]} effects, not {self.effects}")
        if (record.status if record else None) != self.status:
            found.append(f"the record of {self.key} is {record.status if record else 'absent'}, not {self.status}")
        lying = [message for message in self.messages if message in dead]
        if self.dead and lying != self.messages:
            found.append(f"{self.subject} is not in the dead-letter queue: its message is lost")
        if not self.dead and lying:
            found.append(f"{self.subject} is in the dead-letter queue, but its work was done")
        return found


class World:
    """Who the stories act through."""

    def __init__(self, producer: Producer, stripe: Stripe, observed: Observed, say: Say) -> None:
        self.producer = producer
        self.stripe = stripe
        self.observed = observed
        self.say = say
        self.stories: list[Story] = []

    def begin(self, story: Story) -> Story:
        """Take note of a story, so that it is accounted for however it goes on."""
        self.stories.append(story)
        return story

    def wait_done(self, story: Story) -> Record:
        """Wait until the story's record is succeeded."""

        def done() -> bool:
            record = self.observed.record(story.key)
            return record is not None and record.status is Status.SUCCEEDED

        wait_for(f"{story.subject}: its record", done, seconds=WAIT_SECONDS)
        record = self.observed.record(story.key)
        assert record is not None  # noqa: S101 - it was there a moment ago, and succeeded records stay
        return record

    def post_until_done(self, story: Story, event: object) -> Response:
        """Deliver an event again and again until it is answered with 200, as a provider does."""
        deadline = time.monotonic() + WAIT_SECONDS
        while True:
            response = self.stripe.post(event)
            story.posts += 1
            if response.status == HTTPStatus.OK or time.monotonic() > deadline:
                return response
            self.say(f"  {story.subject}: answered {response.status}, so it is delivered again")
            time.sleep(RETRY_SECONDS)


def crashed_order(world: World) -> None:
    """The same SQS message redelivered after a handler died half-way."""
    story = world.begin(
        Story(
            title="handler died half-way",
            subject="ORDER#1001",
            key=order_key("1001"),
            effects=1,
            status=Status.SUCCEEDED,
        )
    )
    story.messages.append(world.producer.send(order("1001", sandbox={"die": "before-effect"})))
    world.say("order 1001 sent; its handler dies half-way, the queue gives the message back after 18 s")
    record = world.wait_done(story)
    world.say(f"order 1001 done by attempt {record.attempt}, which took over the dead attempt's claim")


def repeated_order(world: World) -> None:
    """The same order sent twice by its producer, under two message ids."""
    story = world.begin(
        Story(
            title="sent twice, two message ids",
            subject="ORDER#1002",
            key=order_key("1002"),
            effects=1,
            status=Status.SUCCEEDED,
        )
    )
    for _ in range(2):
        story.messages.append(world.producer.send(order("1002")))
        world.say(f"order 1002 sent as message {story.messages[-1][:8]}…")
    world.wait_done(story)
    wait_for(
        "order 1002: both deliveries", lambda: story.deliveries(world.observed.arrivals()) > 1, seconds=WAIT_SECONDS
    )
    world.say("order 1002: the second message was acknowledged and did nothing")


def poison_order(world: World) -> None:
    """A message that can never be worked on ends in the dead-letter queue; its work runs once, not five times."""
    story = world.begin(
        Story(
            title="poison: to the DLQ",
            subject="ORDER#1003",
            key=order_key("1003"),
            effects=0,
            status=Status.FAILED,
            dead=True,
        )
    )
    story.messages.append(world.producer.send(sample("orders/order_poison.json")))
    world.say("order 1003 sent; it orders -2 packets of tea")
    wait_for(
        "order 1003: the dead letter",
        lambda: story.messages[0] in world.observed.dead_letters(),
        seconds=WAIT_SECONDS,
    )
    world.say("order 1003 is in the dead-letter queue; its failure was stored, so the work ran once")


def repeated_payment(world: World) -> None:
    """The same webhook posted again."""
    story = _payment_story(world, "posted again", "2001")
    for _ in range(3):
        response = world.stripe.post(payment("2001"))
        story.posts += 1
        replay = ", replayed" if response.headers.get("idempotent-replayed") else ""
        world.say(f"payment 2001 posted: {response.status}{replay} {response.body.decode()}")


def racing_payment(world: World) -> None:
    """The same webhook eight times at once."""
    story = _payment_story(world, f"posted {AT_ONCE} times at once", "2002")
    responses = world.stripe.post_at_once(payment("2002"), AT_ONCE)
    story.posts += AT_ONCE
    counts = Counter(
        f"{response.status}{' replayed' if response.headers.get('idempotent-replayed') else ''}"
        for response in responses
    )
    world.say("payment 2002 posted at once: " + ", ".join(f"{number} x {answer}" for answer, number in counts.items()))
    world.post_until_done(story, payment("2002"))


def crashed_payment(world: World) -> None:
    """A webhook whose handler died after its work, before its record."""
    story = _payment_story(world, "handler died before record", "2003")
    world.post_until_done(story, payment("2003", sandbox_die="before-record"))
    record = world.wait_done(story)
    world.say(f"payment 2003 credited by attempt {record.attempt}: the dead attempt had committed nothing")


def tampered_payment(world: World) -> None:
    """A webhook whose body was changed after it was signed."""
    story = world.begin(
        Story(title="tampered with", subject="PAYMENT#cs_2004", key=payment_key("evt_2004"), effects=0, status=None)
    )
    response = world.stripe.post(payment("2004"), tampered=True)
    story.posts += 1
    world.say(f"payment 2004 posted with a changed amount: {response.status} {response.body.decode()}")


def _payment_story(world: World, title: str, number: str) -> Story:
    return world.begin(
        Story(
            title=title,
            subject=f"PAYMENT#cs_{number}",
            key=payment_key(f"evt_{number}"),
            effects=1,
            status=Status.SUCCEEDED,
        )
    )


# In the order of their waiting: each queue story runs beside the others, the webhooks one after another.
QUEUE_STORIES = (crashed_order, repeated_order, poison_order)
WEBHOOK_STORIES = (repeated_payment, racing_payment, crashed_payment, tampered_payment)
