"""The same for plain functions: a decorator. A call is a delivery whose payload is its arguments, bound by signature."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, cast

from idem.arguments import told
from idem.canonical import request_hash
from idem.clock import Clock, SystemClock, new_token
from idem.delivery import Delivery, NotStarted
from idem.errors import PROCESS_ENDS, ConfigurationError, MissingKeyPart
from idem.flow import TOO_LATE, Flow, Unready, check_memory, check_rules, not_run, refused, value_of
from idem.functions import is_coroutine_function
from idem.keys import KeyRule, check_operation, is_nothing, make_key
from idem.lanes import in_thread
from idem.log import CallLog
from idem.policy import Policy
from idem.record import Answer, Claim, Key, Request
from idem.results import Serializer
from idem.serializers import serializer_of
from idem.store import Store

if TYPE_CHECKING:
    from concurrent.futures import Executor

P = ParamSpec("P")
R = TypeVar("R")

THREADS = 32  # calls to the store at once; each takes milliseconds


class Once(Generic[P, R]):
    """A function that runs once for each key. Made by `once`.

    A call returns the result of the first run. It raises the work's own error when the work fails, and StoredFailure,
    InProgress, RequestMismatch, UnsettledWork or StoreUnavailable when the work is not run. What it raises, other than
    InProgress, is a warning of the standard logger `idem` as well.
    """

    def __init__(
        self, function: Callable[P, R], flow: Flow, key: KeyRule, check: KeyRule | None, claim_as: str | None
    ) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._flow = flow
        self._key = key
        self._check = check
        self._claim_as = claim_as
        self._signature = inspect.signature(function)
        self._is_async = is_coroutine_function(function, flow.operation)
        if claim_as is not None and claim_as not in self._signature.parameters:
            raise ConfigurationError(f"{_name(function)} has no parameter {claim_as!r} to hand the claim to")

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return cast("R", self._call(None, args, kwargs))

    def within(self, context: Any) -> Callable[P, R]:
        """The function under the lease of a Lambda invocation: a crash then blocks the key only until its end."""

        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            ends_at = self._flow.clock.now_ms() + int(context.get_remaining_time_in_millis())
            return cast("R", self._call(ends_at, args, kwargs))

        return call

    def key_of(self, *args: P.args, **kwargs: P.kwargs) -> Key:
        """The key of a call with these arguments."""
        return make_key(self._flow.operation, self._key(self._delivery(args, kwargs)))

    def _delivery(self, args: Any, kwargs: Any) -> Delivery:
        hidden = {self._claim_as: None} if self._claim_as else {}
        bound = self._signature.bind(*args, **{**kwargs, **hidden})
        bound.apply_defaults()
        payload = {name: value for name, value in bound.arguments.items() if name not in hidden}
        return Delivery(id="", payload=payload, origin={"function": _name(self._function)})

    def _call(self, ends_at: int | None, args: Any, kwargs: Any) -> Any:
        if self._is_async:
            return self._call_async(ends_at, args, kwargs)
        wanted = self._request(ends_at, args, kwargs)
        with CallLog(wanted) as call:
            answer = self._flow.claim(wanted)
            if not isinstance(answer, Claim):
                return refused(answer, self._flow.serializer)
            claim = self._flow.ready(answer)
            if not isinstance(claim, Claim):
                return not_run(self._flow, claim)
            call.claim = claim
            try:
                value: Any = self._function(*args, **self._with_claim(kwargs, claim))
            except PROCESS_ENDS:
                raise  # the lease ends the claim
            except BaseException as error:
                call.outcome = self._flow.record(self._flow.raised(claim, error))
                raise
            call.outcome = self._flow.record(self._flow.returned(claim, value))
            return value_of(call.outcome)

    async def _call_async(self, ends_at: int | None, args: Any, kwargs: Any) -> Any:
        """The same for a coroutine function; calls to the store run in threads, so that they do not hold up the loop.

        A cancellation is an ending like any other error; one that comes before the work has started gives the claim back.
        """
        threads, recording = store_threads(os.getpid(), "claim"), store_threads(os.getpid(), "record")
        wanted = self._request(ends_at, args, kwargs)
        with CallLog(wanted) as call:
            claim = await self._claim_async(threads, wanted)
            if not isinstance(claim, Claim):
                return refused(claim, self._flow.serializer)
            if self._flow.is_late(claim):  # whatever blocked the loop since its thread looked at the time
                given_back = self._flow.given_back(claim, TOO_LATE, begun=self._flow.counts_starts)
                return await in_thread(threads, partial(not_run, self._flow, Unready(TOO_LATE, given_back)))
            call.claim = claim
            try:
                running: Any = self._function(*args, **self._with_claim(kwargs, claim))
                value = await running
            except PROCESS_ENDS:
                raise
            except GeneratorExit as error:  # closed from outside: nothing can be awaited any more
                call.outcome = self._flow.record(self._flow.raised(claim, error))
                raise
            except BaseException as error:
                call.outcome = await in_thread(recording, partial(self._flow.record, self._flow.raised(claim, error)))
                raise
            call.outcome = await in_thread(recording, partial(self._flow.record, self._flow.returned(claim, value)))
            return value_of(call.outcome)

    async def _claim_async(self, threads: Executor, wanted: Request) -> Answer:
        """A claim whose work may start now, or what stands in its way. Waiting for another attempt keeps no thread busy."""
        from asyncio import CancelledError  # noqa: PLC0415 - only coroutine functions need it

        won: list[Claim] = []
        closed: list[GeneratorExit] = []

        def asked() -> float | Answer:
            try:
                return next(waits)
            except StopIteration as over:
                answer: Answer = over.value
                if isinstance(answer, Claim):
                    won.append(answer)
                    if closed:
                        give_back()
                return answer

        def give_back() -> None:
            with suppress(IndexError):  # another thread has done it
                self._flow.record(self._flow.given_back(won.pop(), NotStarted("the call was cancelled")))

        waits = self._flow.waits(wanted)
        try:
            while isinstance(answer := await in_thread(threads, asked), float | int):
                await self._flow.clock.pause_ms(answer)
            if not isinstance(answer, Claim):
                return answer
            claim = await in_thread(threads, partial(self._flow.ready, answer))
        except CancelledError:
            await in_thread(threads, give_back)
            raise
        except (
            GeneratorExit
        ) as error:  # closed from outside: nothing can be awaited any more, and a thread may still ask
            closed.append(error)
            give_back()
            raise
        return claim if isinstance(claim, Claim) else await in_thread(threads, partial(not_run, self._flow, claim))

    def _request(self, ends_at: int | None, args: Any, kwargs: Any) -> Request:
        delivery = self._delivery(args, kwargs)
        key = make_key(self._flow.operation, self._key(delivery))
        checked = self._check(delivery) if self._check else None
        if self._check and is_nothing(checked):
            raise MissingKeyPart(
                f"the check of {self._flow.operation} gives nothing, so that everything would be equal"
            )
        hashed = request_hash(checked) if self._check else None
        return self._flow.request(key, ends_at=ends_at, request_hash=hashed, origin=delivery.origin)

    def _with_claim(self, kwargs: Any, claim: Claim) -> Any:
        return {**kwargs, self._claim_as: claim} if self._claim_as else kwargs

    def __get__(self, instance: object, _owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(cast("Any", self), instance)


@cache
def store_threads(process: int, use: str) -> Executor:  # noqa: ARG001 - a forked process has no threads of its parent's
    """The threads of a process that ask the store for coroutine functions: not the loop's own, which works may keep busy.

    Each use has its own, so that what has ended is recorded while others wait for their claims.
    """
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - as above

    return ThreadPoolExecutor(THREADS, thread_name_prefix=f"idem-{use}")


def _name(function: Callable[..., Any]) -> str:
    """A function's name; that of its class where it is an object."""
    return str(getattr(function, "__qualname__", type(function).__qualname__))


def once(
    *,
    operation: str,
    key: KeyRule,
    store: Store,
    policy: Policy,
    check: KeyRule | None = None,
    claim_as: str | None = None,
    result: Serializer[Any] | type | None = None,
    clock: Clock | None = None,
    token: Callable[[], str] = new_token,
) -> Callable[[Callable[P, R]], Once[P, R]]:
    """Make a function run once for each key.

    Key and check rules see the arguments by name, however they were passed: `key=keys.field("invoice_id")`.
    claim_as: the parameter that receives the Claim, for work that passes its key or attempt on.
    result: the type that a replay returns, or the Serializer of one; by default the function's return annotation
    (see `serializers.py`). Raises ConfigurationError for a type that nobody can read.
    """
    check_operation(operation)
    check_rules(f"{operation}: ", key, check)
    check_memory(f"{operation}: ", store, policy)

    def decorate(function: Callable[P, R]) -> Once[P, R]:
        if not callable(function):
            raise ConfigurationError(f"{operation}: once() decorates a function, and got {told(function)}")
        flow = Flow(
            operation=operation,
            store=store,
            policy=policy,
            clock=clock or SystemClock(),
            token=token,
            serializer=serializer_of(function, result),
        )
        return Once(function, flow, key, check, claim_as)

    return decorate
