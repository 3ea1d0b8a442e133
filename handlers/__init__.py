"""The pattern to copy: one file per consumer, with its key rule, its work, its policy and its handler, in this order.

`settings.py` says what each function reads from its environment. `build` in each file is where real things are chosen: clients,
store, secrets, observer; all of them come from `idem.on_lambda`, and nothing of them is copied.
"""

import idem.on_lambda  # noqa: F401 - first of all: it slows the garbage collector down for what is imported after it
