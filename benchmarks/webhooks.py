"""Webhooks: verifying and reading a Stripe event of 10 KB, beside Stripe's own library; and what importing either costs.

`verify` is the signature alone, from the bytes that arrived: Stripe's verifier wants them as text, as its own `construct_event`
hands them on. `read` is what a receiver does before its work: decode the body that a function URL hands over,
verify, parse, and know which event it is. Both check the same one signature, with the same tolerance.
"""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import stripe

from benchmarks.report import Report
from benchmarks.timing import Prepare, Sample, Samples, compare, ratio
from idem import WebhookSource, schemes
from idem.sources.http import parse_request
from idem.webhooks.signed_requests import as_event, sign

SECRET = "whsec_of_the_benchmark"  # noqa: S105 - made up
TIMES, ROUNDS, IMPORT_ROUNDS = 400, 25, 9
IMPORTS = {"ours": "idem; from idem import Consumer, WebhookSource, schemes; schemes.stripe()", "stripe": "stripe"}
TIMED = "import time; start = time.perf_counter(); import {module}; print(time.perf_counter() - start)"


def run(report: Report) -> None:
    """Ratios of verifying, reading and importing."""
    report.progress("verifying webhooks of 10 KB")
    samples = compare(_contenders(), rounds=ROUNDS, units=TIMES)
    report.ratio("webhook_10kb_verify_ours_over_stripe", ratio(samples, "ours_verify", "stripe_verify", "cpu"))
    report.ratio("webhook_10kb_read_ours_over_stripe", ratio(samples, "ours_read", "stripe_read", "cpu"))
    for name, found in samples.items():
        median = sorted(one.cpu for one in found)[len(found) // 2]
        report.figure("webhooks", f"{name}_us", round(median * 1e6, 1))
    report.progress("importing, in fresh interpreters")
    imports = _imports()
    report.ratio("webhook_import_ours_over_stripe", ratio(imports, "ours", "stripe", "wall"))
    for name, found in imports.items():
        report.figure("webhooks", f"import_{name}_ms", round(sorted(one.wall for one in found)[len(found) // 2] * 1e3))


def event_of_10_kb() -> bytes:
    """A completed checkout with enough lines to be 10 KB long, written as Stripe writes it."""
    line = {"id": "li_1Example", "object": "item", "amount_total": 2500, "currency": "eur", "description": "a thing"}
    session = {"id": "cs_test_1", "object": "checkout.session", "amount_total": 2500, "lines": [line] * 62}
    event = {
        "id": "evt_1",
        "object": "event",
        "type": "checkout.session.completed",
        "created": 1,
        "data": {"object": session},
    }
    return json.dumps(event, indent=2).encode()


def _contenders() -> dict[str, Prepare]:
    body = event_of_10_kb()
    now_ms = int(time.time()) * 1000  # Stripe's library reads the clock by itself
    sent = sign("stripe", body, [SECRET], now_ms)
    event, header = as_event(sent), sent.headers["stripe-signature"]
    scheme, source, secrets = schemes.stripe(), WebhookSource(schemes.stripe(), lambda: [SECRET]), [SECRET]
    verify_header: Any = stripe.WebhookSignature.verify_header
    construct_event: Any = stripe.Webhook.construct_event
    request = parse_request(event)

    def repeated(call: Callable[[], object]) -> Prepare:
        return lambda: lambda: [call() for _ in range(TIMES)]

    return {
        "ours_verify": repeated(lambda: scheme.verify(request, secrets, now_ms)),
        "stripe_verify": repeated(lambda: verify_header(body.decode("utf-8"), header, SECRET, 3600)),
        "ours_read": repeated(lambda: source.read(event, now_ms)),
        "stripe_read": repeated(
            lambda: construct_event(base64.b64decode(event["body"]), event["headers"]["stripe-signature"], SECRET, 3600)
        ),
    }


def _imports() -> Samples:
    """Seconds for importing each, in turns; the first turn fills the file system's cache and is not kept."""
    samples: Samples = {name: [] for name in IMPORTS}
    for turn in range(-1, IMPORT_ROUNDS):
        for name, module in IMPORTS.items():
            command = [sys.executable, "-c", TIMED.format(module=module)]
            seconds = float(subprocess.run(command, capture_output=True, check=True, text=True).stdout)  # noqa: S603 - our own
            if turn >= 0:
                samples[name].append(Sample(wall=seconds, cpu=seconds))
    return samples
