"""Also once: work that is done once for each event id is also done once for each signed content.

Some providers send the event's id in a header that their signature does not cover (GitHub, Shopify, Linear, Twilio, Zendesk).
Whoever captured one of their requests can send it again under a new id. The consumer's key then is new, the content is not:

    work=also_once(credit, operation="github.content", store=store, policy=policy)

The price is one more record and two more requests for each new event, and that two events with equal bodies are one. Take it
where a body always differs, because it holds a time or an id of its own. List `StoredFailure` among the consumer's permanent
errors: it is how a content that failed for good before answers. Where grants name operations, name the second one as well.

The outer claim is on the consumer's key, the inner one on the content. A crash leaves both to their leases; the provider's next
try takes over both. What the inner one answers is what the work returned the first time, so the replay under a new id gets that.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

from idem.clock import Clock, SystemClock, new_token
from idem.delivery import Delivery, Work
from idem.errors import PROCESS_ENDS, ConfigurationError, IdemError, NotNow
from idem.flow import Flow, Unready, check_memory, check_rules, not_run, refused, value_of
from idem.functions import is_coroutine_function
from idem.keys import KeyRule, check_operation, make_key
from idem.policy import Policy
from idem.record import Answer, Claim, Request
from idem.store import Store
from idem.text import message_of


def body_hash(delivery: Delivery) -> list[str]:
    """A key rule: the signed bytes of the event."""
    return [hashlib.sha256(delivery.body).hexdigest()]


def also_once(
    work: Work,
    *,
    operation: str,
    store: Store,
    policy: Policy,
    key: KeyRule = body_hash,
    clock: Clock | None = None,
    token: Callable[[], str] = new_token,
) -> Work:
    """The same work, done once for each value of `key` as well. Its Commit is made with the record of that value."""
    check_rules(f"{operation}: ", key, None)
    check_memory(f"{operation}: ", store, policy)
    flow = Flow(
        operation=check_operation(operation), store=store, policy=policy, clock=clock or SystemClock(), token=token
    )

    if is_coroutine_function(work, operation):
        raise ConfigurationError(
            f"the work of {operation} is a coroutine function: here it would be called, and never awaited"
        )

    def claimed(wanted: Request) -> Answer:
        """A claim whose work may start now, or what stands in its way. Without an answer nothing was done: no start is used up."""
        try:
            answer = flow.claim(wanted)
            ready = flow.ready(answer) if isinstance(answer, Claim) else answer
            return not_run(flow, ready) if isinstance(ready, Unready) else ready
        except IdemError as error:
            raise NotNow(f"the work of {operation} did not start: {message_of(error)}") from error

    def done_once(delivery: Delivery, claim: Claim) -> Any:
        second = make_key(operation, key(delivery))
        inner = claimed(flow.request(second, ends_at=claim.deadline, origin=delivery.origin))
        if not isinstance(inner, Claim):
            return refused(inner)
        try:
            value = work(delivery, inner)
        except PROCESS_ENDS:
            raise
        except BaseException as error:
            flow.record(flow.raised(inner, error))
            raise
        return value_of(flow.record(flow.returned(inner, value)))

    return done_once
