"""The constructs in apps of their own; the stack of this repository is tested in `tests/stacks`."""

from __future__ import annotations

import os
from pathlib import Path

# jsii greets older Node versions on stderr; set before the first import of aws_cdk.
os.environ.setdefault("JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION", "1")

ROOT = Path(__file__).resolve().parents[2]
