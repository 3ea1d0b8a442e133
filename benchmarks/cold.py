"""A process of its own for one cold start: import a handler, answer one event, say what it took. Run by `starting.py`.

The stub is as small as can be, because what it costs is in the figure: every write succeeds.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from importlib import import_module
from typing import Any

HANDLERS = {"ours": "handlers.orders", "powertools": "benchmarks.orders_with_powertools"}


class _Empty:
    def stream(self) -> list[bytes]:
        return [b"{}"]


class _Context:
    function_name = "orders"
    function_version = "1"
    memory_limit_in_mb = 512
    invoked_function_arn = "arn:aws:lambda:us-east-1:000000000000:function:orders"
    aws_request_id = "5c2b3d0a-0000-4000-8000-000000000000"

    def get_remaining_time_in_millis(self) -> int:
        return 30_000


def main() -> None:
    """Answer the event on standard input with the handler that is named on the command line."""
    which = sys.argv[1]
    module = import_module(HANDLERS[which])
    client: Any = import_module("idem.on_lambda").dynamodb() if which == "ours" else module.client
    response = import_module("botocore.awsrequest").AWSResponse
    headers = {"Content-Type": "application/x-amz-json-1.0"}
    client.meta.events.register("before-send.*", lambda request, **_: response(request.url, 200, headers, _Empty()))
    answer = module.handler(json.loads(sys.stdin.readline()), _Context())
    cpu, answered = time.process_time(), time.monotonic()
    if answer != {"batchItemFailures": []}:
        raise SystemExit(f"the handler answered {answer}")
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"cpu": cpu, "answered": answered, "modules": len(sys.modules), "memory_kb": memory}), flush=True)


if __name__ == "__main__":
    main()
