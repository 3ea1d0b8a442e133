"""Slack: events, commands and interactive parts. It waits 3 s for a reply."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from idem.errors import MalformedDelivery
from idem.sources.http import Reply, json_reply
from idem.webhooks.header_forms import Plain
from idem.webhooks.header_scheme import HeaderScheme, Stamp, json_or_form
from idem.webhooks.request_parts import Always, AnyOf, Field, Header
from idem.webhooks.scheme import ReplyStyle
from idem.webhooks.signatures import HEX_SHA256


def slack() -> HeaderScheme:
    """Slack: events, and the forms of commands and interactive parts. Its check of the address is answered.

    It waits 3 s and tries again at once, after a minute and after five: work that can take longer belongs behind a queue.
    """
    return HeaderScheme(
        provider="slack",
        header="x-slack-signature",
        form=Plain("v0="),
        proofs={"": HEX_SHA256},
        signed="v0:{timestamp}:{body}",
        stamp=Stamp(header=Header("x-slack-request-timestamp")),
        parse=json_or_form,
        event_id=Field("event_id", "trigger_id"),
        event_type=AnyOf((Field("event.type", "command", "type"), Always("request"))),
        scope=Field("team_id", "team.id", "enterprise_id"),
        handshake=_slack_challenge,
        reply_style=ReplyStyle(give_up={"x-slack-no-retry": "1"}),
    )


def _slack_challenge(payload: Any) -> Reply | None:
    if not isinstance(payload, Mapping) or payload.get("type") != "url_verification":
        return None
    challenge = payload.get("challenge")
    if not isinstance(challenge, str) or not challenge.isascii():
        raise MalformedDelivery("the check of the address has no challenge")
    return json_reply(200, {"challenge": challenge})
