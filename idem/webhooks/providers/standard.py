"""Standard Webhooks, and Svix, which sends them under header names of its own. Both wait 15 s for a reply."""

from __future__ import annotations

from idem.webhooks import ed25519
from idem.webhooks.header_forms import Labelled
from idem.webhooks.header_scheme import HeaderScheme, Stamp
from idem.webhooks.request_parts import Always, AnyOf, Field, Header
from idem.webhooks.signatures import Ed25519, Ed25519Verify, Hmac, standard_key


def standard(
    *, names: tuple[str, ...] = ("webhook",), provider: str = "standard", check: Ed25519Verify = ed25519.verify
) -> HeaderScheme:
    """Standard Webhooks: `whsec_` secrets for v1, `whpk_` public keys for v1a. `names`: what the headers begin with."""
    return HeaderScheme(
        provider=provider,
        header=Header(*(f"{name}-signature" for name in names)),
        form=Labelled(),
        proofs={
            "v1": Hmac(encoding="base64", key=standard_key),
            "v1a": Ed25519(encoding="base64", prefixed=True, check=check),
        },
        signed="{id}.{timestamp}.{body}",
        stamp=Stamp(header=Header(*(f"{name}-timestamp" for name in names))),
        event_id=Header(*(f"{name}-id" for name in names)),
        event_type=AnyOf((Field("type", "event_type", "eventType"), Always("event"))),
    )


def svix() -> HeaderScheme:
    """Svix, and the many providers that send through it: Standard Webhooks under headers of its own."""
    return standard(names=("svix", "webhook"), provider="svix")
