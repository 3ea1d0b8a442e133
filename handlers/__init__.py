"""The pattern to copy: one file per consumer, with its key rule, its work, its policy and its handler, in this order.

On Lambda everything is imported and built in the init phase, and nothing of it is garbage. A collector that walks it again and
again, as it grows, takes a fifth of a cold start: it is slowed down here, before anything is imported, and set right by
`wiring.lambda_handler` when the handler is built.
"""

import gc
import os

ON_LAMBDA = "AWS_LAMBDA_RUNTIME_API" in os.environ
COLLECTOR = gc.get_threshold()
RARELY = 100_000  # allocations: a handful of collections instead of hundreds, and still a limit if nobody sets it right

if ON_LAMBDA:
    gc.set_threshold(RARELY, *COLLECTOR[1:])
