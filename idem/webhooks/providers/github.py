"""GitHub: it waits 10 s for a reply, and never tries again by itself."""

from __future__ import annotations

from idem.sources.http import LAMBDA_BYTES_MAX
from idem.webhooks.header_forms import Plain
from idem.webhooks.header_scheme import HeaderScheme, json_or_form
from idem.webhooks.request_parts import Header
from idem.webhooks.signatures import HEX_SHA256


def github() -> HeaderScheme:
    """GitHub. It never tries again by itself, so that only enqueueing is safe; a redelivery by hand has the same id."""
    return HeaderScheme(
        provider="github",
        header="x-hub-signature-256",
        form=Plain("sha256="),
        proofs={"": HEX_SHA256},
        parse=json_or_form,
        event_id=Header("x-github-delivery"),
        event_type=Header("x-github-event"),
        body_bytes_max=LAMBDA_BYTES_MAX,  # GitHub documents 25 MB
    )
