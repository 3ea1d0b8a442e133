"""`make demo`: deploy to a local account, deliver everything more than once, and count the effects.

Exit status 0 only if every effect is there exactly once and nothing is lost.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from rich import box
from rich.console import Console
from rich.table import Table

from sandbox.account import LocalAccount
from sandbox.command import run
from sandbox.deploy import deploy
from sandbox.observed import NotSeenError, Observed, wait_for
from sandbox.outside_world import Producer, Stripe
from sandbox.stories import QUEUE_STORIES, WAIT_SECONDS, WEBHOOK_STORIES, Story, World

WIDTH_MIN = 100  # the table's own width; a pipe has none


class Progress:
    """Lines with the time they were said at, and the time that each step took."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._began = time.monotonic()
        self.steps: list[tuple[str, float]] = []

    def say(self, text: str) -> None:
        self._console.print(f"[dim]{time.monotonic() - self._began:5.1f} s[/dim]  ", end="", highlight=False)
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        started = time.monotonic()
        yield
        self.steps.append((name, time.monotonic() - started))

    def spent(self) -> str:
        """Where the time went, in one line."""
        parts = ", ".join(f"{name} {seconds:.0f} s" for name, seconds in self.steps)
        return f"{time.monotonic() - self._began:.0f} s in all: {parts}"


def main() -> int:
    """Run the demo; the exit status."""
    console = Console()
    if console.width < WIDTH_MIN:
        console = Console(width=WIDTH_MIN)
    progress = Progress(console)
    with local_account(progress) as account:
        with progress.step("deploy"):
            outputs = deploy(account, report=progress.say)
        observed = Observed(account, outputs)
        with progress.step("deliveries"):
            world = World(Producer(account, outputs), Stripe(account, outputs), observed, progress.say)
            late = _deliver(world)
            waiting = _wait_until_empty(observed)
        faults = late + _report(console, sorted(world.stories, key=lambda story: story.subject), observed)
        if waiting:
            faults.append(f"{waiting} messages are still in the queue")
    return _verdict(console, faults, progress)


@contextmanager
def local_account(progress: Progress) -> Iterator[LocalAccount]:
    """A local account whose start and end are steps of their own."""
    progress.say("starting a local AWS account (MiniStack) ...")
    account = LocalAccount()
    with progress.step("start"):
        account.start()
    try:
        yield account
    finally:
        with progress.step("stop"):
            account.stop()


def _deliver(world: World) -> list[str]:
    """Play every story: the queue's beside each other, the webhooks in order. What did not happen in its time."""
    late: list[str] = []

    def told(play: Callable[[World], None]) -> None:
        try:
            play(world)
        except NotSeenError as error:
            world.say(f"{error}")
            late.append(str(error))

    with ThreadPoolExecutor(len(QUEUE_STORIES)) as pool:
        queued = [pool.submit(told, play) for play in QUEUE_STORIES]
        for play in WEBHOOK_STORIES:
            told(play)
        for story in queued:
            story.result()
    return late


def _wait_until_empty(observed: Observed) -> int:
    """Wait until the queue is empty; how many messages it still holds if it does not get so."""
    try:
        wait_for("the end of the queue", lambda: observed.waiting() == 0, seconds=WAIT_SECONDS)
    except NotSeenError:
        return observed.waiting()
    return 0


def _report(console: Console, stories: list[Story], observed: Observed) -> list[str]:
    """Print the table; what is not as it must be."""
    effects, arrivals, dead = observed.effects(), observed.arrivals(), observed.dead_letters()
    table = Table(
        title="\nWhat was delivered, and what it did", title_justify="left", title_style="bold", box=box.SIMPLE_HEAD
    )
    table.add_column("subject", no_wrap=True)
    table.add_column("what happened", no_wrap=True)
    for heading in ("deliveries", "runs", "effects"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("record", no_wrap=True)
    table.add_column("", no_wrap=True)
    faults: list[str] = []
    for story in stories:
        record = observed.record(story.key)
        wrong = story.faults(effects, record, dead)
        faults += wrong
        table.add_row(
            story.subject,
            story.title,
            str(story.deliveries(arrivals)),
            str(record.starts if record else 0),
            str(effects[story.subject]),
            record.status if record else "none",
            "[red]wrong[/red]" if wrong else "[green]right[/green]",
        )
    console.print(table)
    known = {story.subject for story in stories}
    return faults + [
        f"the ledger has a row for {subject}, which nobody sent" for subject in effects if subject not in known
    ]


def _verdict(console: Console, faults: list[str], progress: Progress) -> int:
    for fault in faults:
        console.print(f"WRONG: {fault}", style="bold red", highlight=False, markup=False)
    if not faults:
        console.print("Every effect is there exactly once, and nothing is lost.", style="bold green")
    console.print(progress.spent(), style="dim", highlight=False)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(run("the demo", main))
