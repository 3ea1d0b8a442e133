"""What the team's three functions do."""

import idem.on_lambda  # noqa: F401 - first of all: it slows the garbage collector down for what is imported after it
