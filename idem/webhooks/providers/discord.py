"""Discord: interactions, which wait 3 s for a reply, and webhook events."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from idem.sources.http import Reply, json_reply
from idem.webhooks import ed25519
from idem.webhooks.header_scheme import HeaderScheme, Stamp
from idem.webhooks.request_parts import Always, AnyOf, BodyHash, Field, Header, Own
from idem.webhooks.scheme import TOLERANCE, ReplyStyle
from idem.webhooks.signatures import Ed25519, Ed25519Verify


def discord(*, tolerance: timedelta | None = TOLERANCE, check: Ed25519Verify = ed25519.verify) -> HeaderScheme:
    """Discord: interactions and webhook events; the secret is the application's public key, in hex.

    Discord sends wrong signatures on purpose and wants 401 for them. Its pings are answered. Webhook events have no id.
    """
    return HeaderScheme(
        provider="discord",
        header="x-signature-ed25519",
        proofs={"": Ed25519(encoding="hex", check=check)},
        signed="{timestamp}{body}",
        stamp=Stamp(header=Header("x-signature-timestamp")),
        tolerance=tolerance,
        event_id=AnyOf((Own(Field("id")), BodyHash())),
        event_type=AnyOf((Field("event.type", "data.name"), Always("interaction"))),
        scope=Field("application_id"),
        handshake=_discord_ping,
        reply_style=ReplyStyle(refused_status=401),
    )


def _discord_ping(payload: Any) -> Reply | None:
    """Interactions ping with type 1, and have a token; webhook events ping with type 0, and have none."""
    kind = payload.get("type") if isinstance(payload, Mapping) else None
    if type(kind) is not int:
        return None
    if kind == 1 and "token" in payload:
        return json_reply(200, {"type": 1})
    return Reply(status=204) if kind == 0 and "token" not in payload else None
