"""A consumer: event -> deliveries -> keys -> claims -> work -> records -> outcomes -> Lambda's answer.

How deliveries are claimed, worked on and recorded is in `batch.py`; the rules around one piece of work are in `flow.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any, TypeVar

from idem.arguments import check_count, check_duration, check_function, check_object
from idem.batch import Batch
from idem.canonical import request_hash
from idem.clock import Clock, SystemClock, milliseconds, new_token
from idem.delivery import Arrival, Delivery, Ending, Plan, Rejected, Source, Unavailable, Unreadable, Work
from idem.errors import PROCESS_ENDS, ConfigurationError, IdemError, InputRefused, MissingKeyPart
from idem.flow import Flow, check_memory, check_rules
from idem.functions import is_coroutine_function
from idem.keys import KeyRule, check_operation, is_nothing, make_key
from idem.lanes import Beside, Call, in_thread, in_threads, run, run_async, run_loop
from idem.log import tell
from idem.policy import Policy
from idem.progress import Waiting
from idem.record import Key
from idem.store import Store
from idem.text import message_of

T = TypeVar("T")

RESERVE = timedelta(
    milliseconds=500
)  # work that starts later than this before the invocation's end could not be recorded

# About what a claim costs on a busy day: work that is quicker gains from waiting.
RECORD_WITHIN = timedelta(milliseconds=50)


@dataclass(frozen=True, slots=True, kw_only=True)
class Consumer:
    """Runs `work` once for each key, and is the Lambda handler: `consumer(event, context)`.

    operation: the name of the kind of work; part of every key, so it outlives any renaming of code.
    source: what reads the event and answers it. key: which deliveries are the same work. store: where records are kept.
    work: called with the delivery and the claim; what it returns is the result, or a Commit to write in one transaction.
    plan: instead of work, for effects that are only DynamoDB writes: called with the delivery, without a claim, and returns the
    Commit. One request does it all. It must have no effect of its own, because it may be called for a duplicate.
    concurrency: how many deliveries of a batch are worked on at once, in threads, or as tasks if the work is a coroutine
    function; never two of one ordered group. Deliveries are claimed 25 at a time, and the next 25 when these are through.
    A coroutine that blocks the loop holds up the others, also what of them is to be recorded. Work that cancels tasks which are
    not its own ends the invocation; what had ended is recorded.
    record_within: how long work that is done may stay unrecorded while others of its batch run, so that outcomes travel
    together. A process that is killed in between leaves all of them unrecorded: zero records each before the next work starts.
    check: what of the payload must be equal whenever the key is; a difference is refused. Some sources have a check of their own.
    beside: runs lanes of work beside each other; threads of its own unless another way is given.
    observe: told how each delivery ended; without it, what fails is a warning of the standard logger `idem`.
    reserve: no work is started later than this before the invocation's end.
    """

    operation: str
    source: Source
    key: KeyRule
    policy: Policy
    store: Store
    work: Work | None = None
    plan: Plan | None = None
    check: Callable[[Delivery], object] | None = None
    observe: Callable[[Ending], None] | None = None
    reserve: timedelta = RESERVE
    concurrency: int = 1
    record_within: timedelta = RECORD_WITHIN
    beside: Beside = in_threads
    clock: Clock = field(default_factory=SystemClock)
    token: Callable[[], str] = new_token
    _flow: Flow = field(init=False, repr=False, compare=False)
    _is_async: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_operation(self.operation)
        self._check_types()
        if self.reserve < timedelta(0):
            raise ConfigurationError(f"{self.operation}: reserve is {self.reserve}, it must not be below zero")
        if self.plan is not None and (self.policy.starts_max is not None or self.policy.wait > timedelta(0)):
            raise ConfigurationError(
                f"{self.operation}: a plan is not claimed before it runs, so a policy with starts_max or wait says nothing to it:"
                " leave them out"
            )
        if self.policy.lease <= self.reserve:
            raise ConfigurationError(
                f"{self.operation}: the policy's lease ({self.policy.lease}) is not longer than the reserve ({self.reserve}), so"
                " without a Lambda context no work could ever start; lengthen the one or shorten the other"
            )
        function = self.work or self.plan
        is_async = function is not None and is_coroutine_function(function, self.operation)
        flow = Flow(
            operation=self.operation,
            store=self.store,
            policy=self.policy,
            clock=self.clock,
            token=self.token,
            reserve=self.reserve,
        )
        object.__setattr__(self, "_flow", flow)  # made once, because every message would wait for it
        object.__setattr__(self, "_is_async", is_async)

    def _check_types(self) -> None:
        named = f"{self.operation}: "
        if (self.work is None) == (self.plan is None):
            raise ConfigurationError(f"{named}give either work or plan, and not both")
        if self.work is not None:
            check_function(
                f"{named}work", self.work, "the delivery", "the claim", give="a function work(delivery, claim)"
            )
        if self.plan is not None:
            check_function(f"{named}plan", self.plan, "the delivery", give="a function plan(delivery)")
        check_object(f"{named}source", self.source, ("read", "reply"), give="SqsSource()")
        check_rules(named, self.key, self.check)
        check_memory(named, self.store, self.policy)
        if self.observe is not None:
            check_function(f"{named}observe", self.observe, "the ending", give="a function observe(ending)")
        check_duration(f"{named}reserve", self.reserve)
        check_duration(f"{named}record_within", self.record_within)
        check_count(f"{named}concurrency", self.concurrency)

    def __call__(self, event: Any, context: Any = None) -> Any:
        """Lambda's entry. Raises WrongEvent for an event that is not this source's."""
        ends_at = self._ends_at(context)
        arrivals = self.source.read(event, self.clock.now_ms())
        endings = self._work_on(arrivals, ends_at)
        for ending in endings:
            tell(self.observe, ending)
        return self.source.reply(endings, self.clock.now_ms())

    def _work_on(self, arrivals: Sequence[Arrival], ends_at: int | None) -> list[Ending]:
        """One ending for each arrival, in order. What has ended is recorded, also when an exception leaves."""
        batch = Batch(
            self._flow,
            arrivals,
            ends_at=ends_at,
            plans=self.plan is not None,
            concurrency=self.concurrency,
            record_within_ms=milliseconds(self.record_within),
        )
        waiting = self._waiting(arrivals, batch)
        try:
            if self._is_async:
                run_loop(self._run_async(batch, waiting))
            else:
                for lanes in batch.rounds(waiting):
                    run(lanes, self._call, self.concurrency, self.beside)
        except BaseException:
            with suppress(BaseException):  # the first exception is the one to know
                batch.close()
            raise
        batch.close()
        endings = [ending for ending in batch.endings if ending is not None]
        if len(endings) != len(arrivals):
            raise AssertionError("a delivery was left without an ending: nothing of the batch is acknowledged")
        return endings

    async def _run_async(self, batch: Batch, waiting: Sequence[Waiting]) -> None:
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - only coroutine functions need it

        rounds = batch.rounds(waiting)
        with ThreadPoolExecutor(self.concurrency + 1) as threads:
            while (lanes := await in_thread(threads, partial(next, rounds, None))) is not None:
                await run_async(lanes, self._call, self.concurrency, threads, self.clock.now_ms)

    def _waiting(self, arrivals: Sequence[Arrival], batch: Batch) -> list[Waiting]:
        """The deliveries that have a key; what has none gets its ending."""
        last: dict[tuple[Key, str | None], int] = {}
        waiting: list[Waiting] = []
        for index, arrival in enumerate(arrivals):
            try:
                if isinstance(arrival, Unreadable):
                    raise arrival.error
                key, checked = self.key_of(arrival), self._request_hash(arrival)
            except InputRefused as error:
                batch.refuse(index, Rejected(error, recorded=False))
                continue
            except IdemError as error:
                batch.refuse(index, Unavailable(error, ran=False))
                continue
            twin = last.get((key, checked))
            last[key, checked] = index
            waiting.append(Waiting(index=index, delivery=arrival, key=key, request_hash=checked, twin=twin))
        return waiting

    def _call(self, call: Call) -> Any:
        """Call the user's function: its value, or the coroutine to await."""
        if self.plan is not None:
            return self.plan(call.delivery)
        if self.work is None or call.claim is None:
            raise AssertionError("work runs under a claim")
        return self.work(call.delivery, call.claim)

    def key_of(self, delivery: Delivery) -> Key:
        """The key of a delivery. Raises InputRefused if it has none."""
        return _ask("key", lambda one: make_key(self.operation, self.key(one)), delivery)

    def _request_hash(self, delivery: Delivery) -> str | None:
        """The hash of what must be equal whenever the key is: by this consumer's check, or by its source's own one."""
        check = self.check or getattr(self.source, "check", None)
        if check is None:
            return None

        def hashed(one: Delivery) -> str:
            checked = check(one)
            if is_nothing(checked):
                raise MissingKeyPart(f"the check of delivery {one.id} gives nothing, so that everything would be equal")
            return request_hash(checked)

        return _ask("check", hashed, delivery)

    def _ends_at(self, context: Any) -> int | None:
        """When this invocation ends, in epoch ms; None without a Lambda context."""
        remaining = getattr(context, "get_remaining_time_in_millis", None)
        return self.clock.now_ms() + int(remaining()) if remaining else None


def _ask(name: str, rule: Callable[[Delivery], T], delivery: Delivery) -> T:
    """Ask a rule of the user's, and read what it gives. What either raises is an unusable delivery, and keeps to itself."""
    try:
        return rule(delivery)
    except (IdemError, *PROCESS_ENDS):
        raise
    except BaseException as error:
        said = f"{type(error).__name__}: {message_of(error)}"
        raise MissingKeyPart(f"the {name} rule failed on delivery {delivery.id}: {said}") from error
