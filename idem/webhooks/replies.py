"""Replies to providers: what each ending becomes over HTTP.

Any 2xx makes a provider stop, so it is given only for what is recorded; a redirect counts as failure everywhere, so there is none.

| ending | reply | the provider |
|---|---|---|
| done, first time or again | 200 with the result, or what its reply style asks for; a replay is marked by a header | stops |
| rejected for good, and recorded | the same: the table knows, and the observer counted it | stops |
| a check of the address | what it asks for | is content |
| held by another delivery | 409 and Retry-After: a reply of success would lose the event if the other one fails | tries again |
| failed for now, table or secrets unavailable, too little time | 503 and Retry-After | tries again |
| bad signature | 400, or 401 where the provider tests for it | tries again, or gives up |
| a body or a query above its limit | 413, the same | gives up, or tries again for nothing |
| malformed | 400, with the header that ends its tries where there is one | gives up |
| another content under a known id | 422, the same | gives up |

A request that brought several events gets the reply of the one that most needs another try; what was done then is replayed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from idem.delivery import Busy, Done, NotStarted, Outcome, Overtaken, Rejected, Retry, Unavailable, Unsettled
from idem.errors import InputRefused, NotAnEvent, RequestMismatch, SignatureInvalid, TooLarge
from idem.sources.http import REPLAYED_HEADER, RETRY_AFTER_S, Reply, json_reply, shown
from idem.text import message_of, writable
from idem.webhooks.scheme import ReplyStyle

NEEDS_ANOTHER_TRY = (503, 409, 422, 401, 400)  # of several replies, the first of these that is among them


def reply_to_all(outcomes: Sequence[Outcome], now_ms: int, reply_style: ReplyStyle) -> Reply:
    """The one reply to a request that brought these."""
    replies = [reply_to(outcome, now_ms, reply_style) for outcome in outcomes]
    if len(replies) == 1:
        return replies[0]
    for status in NEEDS_ANOTHER_TRY:
        found = [reply for reply in replies if reply.status == status]
        if found:
            return max(found, key=lambda reply: int(reply.headers.get("retry-after", 0)))
    return reply_style.accepted or json_reply(200, {"events": len(replies)})


def reply_to(outcome: Outcome, now_ms: int, reply_style: ReplyStyle) -> Reply:
    """The reply to one ending."""
    match outcome:
        case Done(result, replayed, _):
            return _done(result, reply_style, {REPLAYED_HEADER: "true"} if replayed else {})
        case Busy(until):
            seconds = max(1, -(-(until - now_ms) // 1000))
            return _later(409, "another delivery of this event is being worked on", seconds)
        case Rejected(error=RequestMismatch()):
            message = "this event id was used before with other content"
            return json_reply(422, {"error": "mismatch", "message": message}, reply_style.give_up)
        case Rejected(recorded=True):
            message = "recorded as failed; do not send it again"
            return reply_style.accepted or json_reply(200, {"status": "rejected", "message": message})
        case Rejected(error=NotAnEvent(reply=Reply() as reply)):
            return reply
        case Rejected(error=SignatureInvalid() as error):
            return json_reply(reply_style.refused_status, {"error": "signature", "message": message_of(error)})
        case Rejected(error=TooLarge() as error):
            return json_reply(413, {"error": "too large", "message": message_of(error)}, reply_style.give_up)
        case Rejected(error=InputRefused() as error):
            return json_reply(400, {"error": "malformed", "message": message_of(error)}, reply_style.give_up)
        case Retry() | Overtaken() | Unsettled() | Rejected():
            return _later(503, "the work failed and will be tried again", RETRY_AFTER_S)
        case Unavailable() | NotStarted():
            return _later(503, "try again later", RETRY_AFTER_S)


def _done(result: Any, reply_style: ReplyStyle, headers: dict[str, str]) -> Reply:
    if reply_style.accepted is None:
        return json_reply(200, shown(result), headers)
    accepted = reply_style.accepted
    if reply_style.shows_text and isinstance(result, str) and result:
        return Reply(status=accepted.status, body=writable(result), headers={**accepted.headers, **headers})
    return Reply(status=accepted.status, body=accepted.body, headers={**accepted.headers, **headers})


def _later(status: int, message: str, seconds: int) -> Reply:
    return json_reply(status, {"error": "retry", "message": message}, {"retry-after": str(seconds)})
