"""Reading content: bytes to JSON, with one error for whatever is wrong with them."""

from __future__ import annotations

import json
from typing import Any

from idem.errors import MalformedDelivery


def parse_json(body: bytes) -> Any:
    """The value that UTF-8 JSON text holds. Raises MalformedDelivery; NaN and Infinity are not JSON."""
    try:
        return json.loads(body.decode("utf-8"), parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        raise MalformedDelivery(f"the body is not UTF-8 text (byte {error.start})") from None
    except RecursionError:
        raise MalformedDelivery("the body is not usable JSON: it is nested too deeply") from None
    except ValueError as error:
        raise MalformedDelivery(f"the body is not JSON: {error}") from None


def parse_text(body: bytes) -> str:
    """The text of the body, for queues that do not carry JSON."""
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise MalformedDelivery(f"the body is not UTF-8 text (byte {error.start})") from None


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")
