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
from idem.delivery import Busy, Delivery, Done, NotStarted, Rejected, Retry, Unavailable
from idem.errors import InProgress
from idem.flow import Flow, refusal
from idem.keys import KeyRule, check_operation, make_key
from idem.policy import Policy
from idem.record import Claim, Held
from idem.store import Store

Work = Callable[[Delivery, Claim], Any]


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
    flow = Flow(
        operation=check_operation(operation), store=store, policy=policy, clock=clock or SystemClock(), token=token
    )

    def done_once(delivery: Delivery, claim: Claim) -> Any:
        second = make_key(operation, key(delivery))
        answer = flow.claim(flow.request(second, ends_at=claim.deadline, origin=delivery.origin))
        if isinstance(answer, Held):
            raise InProgress(answer.record, answer.until)
        if not isinstance(answer, Claim):
            return _result_of(refusal(answer))
        try:
            value = work(delivery, answer)
        except Exception as error:
            flow.record(flow.raised(answer, error))
            raise
        return _result_of(flow.record(flow.returned(answer, value)))

    return done_once


def _result_of(outcome: Done | Busy | Retry | Rejected | Unavailable | NotStarted) -> Any:
    """What the work returns or raises for the ending of the inner claim."""
    match outcome:
        case Done(result, _, _):
            return result
        case Retry(error) | Rejected(error, _) | Unavailable(error, _):
            raise error
        case Busy() | NotStarted():
            raise AssertionError(f"a claim that is held or not started has its own answer: {outcome!r}")
