"""The garbage collector of a function that starts.

On Lambda everything is imported and built in the init phase, and nothing of it is garbage. A collector that walks it again
and again, as it grows, takes a fifth of a cold start: it is slowed down before anything heavy is imported, and set right
when the handler is built.
"""

from __future__ import annotations

import gc
import os

ON_LAMBDA = "AWS_LAMBDA_RUNTIME_API" in os.environ
USUAL = gc.get_threshold()
RARELY = 100_000  # allocations: a handful of collections instead of hundreds, and still a limit if nobody sets it right


def slow_down() -> None:
    """Collect rarely while the function starts; elsewhere than on Lambda nothing is changed."""
    if ON_LAMBDA:
        gc.set_threshold(RARELY, *USUAL[1:])


def set_right() -> None:
    """Collect as usual again, and never look at what was made until now: it stays."""
    gc.freeze()
    gc.set_threshold(*USUAL)
