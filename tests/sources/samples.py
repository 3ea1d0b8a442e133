"""The samples in `events/`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

EVENTS = Path(__file__).resolve().parents[2] / "events"


def sample(name: str) -> Any:
    """A sample by its path, such as "invoke/sns.json"."""
    return json.loads((EVENTS / name).read_text(encoding="utf-8"))
