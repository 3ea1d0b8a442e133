"""An asset run by itself: a fresh interpreter, without site-packages, with the staged folder alone on its path.

Nothing is installed for it. Every handler is called once, against an account that does not answer: what it says then
is said by the code in the asset, all the way down to botocore.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# Run with -I -S: no environment of Python's, no site-packages.
PROGRAM = """
import importlib, json, sys, time
asset, *handlers = sys.argv[1:]
sys.path.insert(0, asset)
began = time.perf_counter()
entries = {}
for handler in handlers:
    module, name = handler.rsplit(".", 1)
    entries[handler] = getattr(importlib.import_module(module), name)
imported = time.perf_counter() - began
message = {"messageId": "m-1", "receiptHandle": "h", "body": '{"orderId": "1", "parcelId": "1"}', "attributes": {},
           "messageAttributes": {}, "eventSource": "aws:sqs", "eventSourceARN": "arn:aws:sqs:eu-west-1:1:q"}
request = {"version": "2.0", "rawPath": "/", "headers": {}, "body": "{}", "isBase64Encoded": False,
           "requestContext": {"requestId": "r", "http": {"method": "POST", "path": "/"}}}
answers = {}
for handler, entry in entries.items():
    for event in ({"Records": [message]}, request):
        try:
            answers[handler] = entry(event, None)
            break
        except Exception as error:
            if type(error).__name__ != "WrongEvent":
                raise
strangers = sorted({
    name for name, module in sys.modules.items()
    if (file := getattr(module, "__file__", None)) and not file.startswith((asset, sys.base_prefix))
})
sys.stdout.write("\\n" + json.dumps({"strangers": strangers, "answers": answers, "imported": imported}))
"""

ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "nobody",
    "AWS_SECRET_ACCESS_KEY": "nothing",
    "AWS_DEFAULT_REGION": "eu-central-1",
    "AWS_EC2_METADATA_DISABLED": "true",
    # Nobody listens there, so every call fails at once.
    "AWS_ENDPOINT_URL": "http://127.0.0.1:9",
    "POWERTOOLS_SERVICE_NAME": "alone",
    "IDEMPOTENCY_TABLE": "records",
    "LEDGER_TABLE": "ledger",
    "ORDERS_QUEUE_URL": "http://127.0.0.1:9/1/orders",
    "PAYMENTS_SECRET_ID": "signing",
    "QUEUE_URL": "http://127.0.0.1:9/1/queue",
    "WEBHOOK_SECRET_ID": "signing",
}


def asset_of(assembly: Path, stack: str) -> Path:
    """The one staged folder that all functions of a stack use."""
    files = json.loads((assembly / f"{stack}.assets.json").read_text())["files"]
    folders = [str(each["source"]["path"]) for each in files.values() if each["source"]["packaging"] == "zip"]
    assert len(folders) == 1
    return assembly / folders[0]


def run(asset: Path, handlers: Sequence[str], more: dict[str, str] | None = None) -> dict[str, Any]:
    """What the handlers answered, how long their import took in s, and modules that came from elsewhere."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-B", "-c", PROGRAM, str(asset), *handlers],
        capture_output=True,
        text=True,
        check=False,
        env=ENVIRONMENT | (more or {}),
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return report
