"""The Lambda entry of a consumer: built once for each execution environment, observed at each invocation."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from idem import Consumer
from idem.on_lambda import collector
from idem.on_lambda.observer import Observer, observer_of

if TYPE_CHECKING:
    from idem.webhooks.forwarder import Forwarder


def lambda_handler(build: Callable[[], Consumer | Forwarder]) -> Callable[[Any, Any], Any]:
    """The Lambda entry of a consumer or forwarder that is built once: at import on Lambda, at the first call elsewhere."""
    built = cache(build)
    if _is_entry(build):
        built()
        collector.set_right()

    def handler(event: Any, context: Any) -> Any:
        consumer = built()
        own = consumer.observe
        observer = own if isinstance(own, Observer) else observer_of(consumer.operation)
        with observer.invocation(context):
            return consumer(event, context)

    return handler


def _is_entry(build: Callable[[], object]) -> bool:
    """Whether this process is a Lambda environment, and its function is in the module of `build`, not one that imports it."""
    module = os.environ.get("_HANDLER", "").rpartition(".")[0].replace("/", ".")
    return collector.ON_LAMBDA and module in {"", build.__module__}
