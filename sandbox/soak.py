"""`make soak`: thousands of messages, many of them twice, through workers that fail, hang and are killed.

At the end each order has exactly one effect, the queue is empty, every poison message is in the dead-letter queue and no other,
and no record is stuck. Effects are committed with their records, because a killed process may have done anything else twice.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from rich.console import Console

from idem.dynamo.schema import KEY_PREFIX, PARTITION_KEY
from sandbox import command
from sandbox.access import Access
from sandbox.account import LocalAccount
from sandbox.deploy import Outputs, deploy
from sandbox.observed import NotSeenError, Observed, wait_for
from sandbox.outside_world import order, sample

DUPLICATES = 0.3
TROUBLES = (
    # share of the orders, and what its first attempts meet
    (0.005, {"die": "before-effect"}),
    (0.005, {"die": "before-record"}),
    (0.003, {"hang": True}),
    (0.05, {"fail": 1}),
    (0.02, {"fail": 2}),
)
POISON = 0.02
SEND_MAX = 10  # entries in one SendMessageBatch
QUIET_SECONDS = 600.0  # the longest wait for the queue to be empty; each kill costs a visibility timeout of 18 s


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is sent: bodies in order, and what must be true afterwards."""

    bodies: list[Any]
    orders: frozenset[str]
    poison: frozenset[str]


def make_plan(messages: int, seed: int) -> Plan:
    """`messages` messages, of which DUPLICATES repeat an order that was sent before; the same for the same seed."""
    chance = random.Random(seed)  # noqa: S311 - repeatable on purpose
    first = [_body(f"soak-{number}", chance) for number in range(round(messages * (1 - DUPLICATES)))]
    bodies = first + [chance.choice(first) for _ in range(messages - len(first))]
    chance.shuffle(bodies)
    poison = frozenset(body["orderId"] for body in first if body["lines"][0]["quantity"] < 0)
    return Plan(bodies=bodies, orders=frozenset(body["orderId"] for body in first) - poison, poison=poison)


def _body(order_id: str, chance: random.Random) -> Any:
    if chance.random() < POISON:
        return sample("orders/order_poison.json") | {"orderId": order_id}
    told: dict[str, Any] = {"commit": True}
    draw = chance.random()
    for share, trouble in TROUBLES:
        if 0 <= draw < share:
            told |= trouble
            break
        draw -= share
    return order(order_id, sandbox=told)


def run(account: Access, outputs: Outputs, plan: Plan, say: Callable[[str], None]) -> list[str]:
    """Send the plan, wait until the queue is empty, and say what is not as it must be."""
    observed = Observed(account, outputs)
    started = time.monotonic()
    ids = _send(account, outputs, plan)
    say(f"{len(plan.bodies)} messages sent: {len(plan.orders)} orders, {len(plan.poison)} poison, the rest repeats")

    def quiet() -> bool:
        # Twice, because between two receives a message is in neither count for a moment.
        return observed.waiting() == 0 and observed.waiting() == 0

    try:
        _watch(observed, quiet, say)
    except NotSeenError as error:
        return [str(error)]
    seconds = time.monotonic() - started
    say(
        f"the queue is empty after {seconds:.0f} s: {len(plan.bodies) / seconds:.0f} messages a second, faults included"
    )
    return _faults(account, outputs, observed, plan, ids)


def _send(account: Access, outputs: Outputs, plan: Plan) -> dict[str, list[str]]:
    """Send everything; the message ids of each order."""
    sqs = account.client("sqs")
    ids: dict[str, list[str]] = {}
    for start in range(0, len(plan.bodies), SEND_MAX):
        batch = plan.bodies[start : start + SEND_MAX]
        entries: Any = [{"Id": str(index), "MessageBody": json.dumps(body)} for index, body in enumerate(batch)]
        for sent in sqs.send_message_batch(QueueUrl=outputs.orders_queue_url, Entries=entries)["Successful"]:
            ids.setdefault(batch[int(sent["Id"])]["orderId"], []).append(sent["MessageId"])
    return ids


def _watch(observed: Observed, quiet: Callable[[], bool], say: Callable[[str], None]) -> None:
    told = time.monotonic()

    def seen() -> bool:
        nonlocal told
        if time.monotonic() - told > 10:
            told = time.monotonic()
            say(f"  {observed.waiting()} messages are left")
        return quiet()

    wait_for("the end of the queue", seen, seconds=QUIET_SECONDS)


def _faults(account: Access, outputs: Outputs, observed: Observed, plan: Plan, ids: dict[str, list[str]]) -> list[str]:
    effects = observed.effects()
    expected = Counter({f"ORDER#{order_id}": 1 for order_id in plan.orders})
    faults = [
        f"{subject}: {effects[subject]} effects, not {expected[subject]}"
        for subject in effects | expected
        if effects[subject] != expected[subject]
    ]
    dead = observed.all_dead_letters()
    of_poison = {message for order_id in plan.poison for message in ids[order_id]}
    faults += [f"poison message {message} is not in the dead-letter queue" for message in of_poison - dead]
    faults += [f"message {message} is in the dead-letter queue, and is no poison" for message in dead - of_poison]
    pages = account.client("dynamodb").get_paginator("scan").paginate(TableName=outputs.idempotency_table_name)
    statuses = {
        item[PARTITION_KEY]["S"].removeprefix(KEY_PREFIX): item["status"]["S"]
        for page in pages
        for item in page["Items"]
    }
    for order_id, wanted in {**dict.fromkeys(plan.orders, "succeeded"), **dict.fromkeys(plan.poison, "failed")}.items():
        found = statuses.get(f"orders.fulfil#{order_id}", "absent")
        if found != wanted:
            faults.append(f"the record of order {order_id} is {found}, not {wanted}")
    return faults


def main(
    messages: Annotated[int, typer.Option(min=10, help="how many messages are sent")] = 2_000,
    seed: Annotated[int, typer.Option(help="the same seed gives the same messages and the same faults")] = 1,
) -> None:
    """Deploy to a local account, send the messages, and check that each effect was made exactly once."""
    sys.exit(command.run("the soak", lambda: _soak(make_plan(messages, seed), seed)))


def _soak(plan: Plan, seed: int) -> int:
    console = Console()
    began = time.monotonic()

    def say(text: str) -> None:
        console.print(f"{time.monotonic() - began:6.1f} s  {text}", highlight=False, markup=False, soft_wrap=True)

    say(f"seed {seed}")
    with LocalAccount() as account:
        outputs = deploy(account, report=say)
        faults = run(account, outputs, plan, say)
    for fault in faults:
        console.print(f"WRONG: {fault}", style="bold red", highlight=False, markup=False)
    if not faults:
        say("each effect is there exactly once, every poison message is a dead letter, nothing is stuck")
    return 1 if faults else 0


if __name__ == "__main__":
    typer.run(main)
