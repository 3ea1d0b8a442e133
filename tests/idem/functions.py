"""Plain functions for tests: what `once` makes of them, on a store that the test chooses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from idem import Policy, keys, once
from idem.record import Key
from tests.idem.clocks import TestClock
from tests.idem.consumers import DAY, Final

KEY = Key("invoices.send", "i-1")


def decorated(clock: TestClock, store: Any, **more: Any) -> Callable[[Callable[..., Any]], Any]:
    """The decorator for a function that is given an `invoice`; `more` replaces what a test is about."""
    return once(
        **{
            "operation": "invoices.send",
            "key": keys.field("invoice"),
            "store": store,
            "policy": Policy(retention=DAY, permanent=(Final,)),
            "clock": clock,
        }
        | more
    )
