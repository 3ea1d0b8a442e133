"""Content of any shape: bytes to JSON or a form, with one error for whatever is wrong, and members that may be anything."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from idem.delivery import MAPPINGS
from idem.errors import IdemError, MalformedDelivery
from idem.text import message_of

T = TypeVar("T")

FORM_FIELDS_MAX = 1000  # a provider sends some dozens; parsing is bounded for everybody else
NESTING_MAX = (
    200  # levels of JSON: hashing some more of them would need more of Python's stack than a handler may have left
)


def parse_json(body: bytes) -> Any:
    """The value that UTF-8 JSON text holds. Raises MalformedDelivery; NaN and Infinity are not JSON.

    Also above NESTING_MAX levels. How long a whole number may be is Python's limit: 4,300 digits.
    """
    try:
        value = _DECODER.decode(body.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise MalformedDelivery(f"the body is not UTF-8 text (byte {error.start})") from None
    except RecursionError:
        raise MalformedDelivery("the body is not usable JSON: it is nested too deeply") from None
    except ValueError as error:
        raise MalformedDelivery(f"the body is not JSON: {error}") from None
    if body.count(b"[") + body.count(b"{") > NESTING_MAX and _levels(value) > NESTING_MAX:
        raise MalformedDelivery(
            f"the body is not usable JSON: it is nested too deeply, in more than {NESTING_MAX} levels"
        )
    return value


def parse_form(body: bytes) -> dict[str, list[str]]:
    """The fields of a URL-encoded form, each with its values in order. Raises MalformedDelivery."""
    found: dict[str, list[str]] = {}
    try:
        pairs = parse_qsl(
            body.decode("ascii"), keep_blank_values=True, max_num_fields=FORM_FIELDS_MAX, errors="surrogatepass"
        )
    except ValueError as error:
        raise MalformedDelivery(f"the body is not a form: {error}") from None
    for name, value in pairs:
        found.setdefault(name, []).append(value)
    return found


def understood(what: str, rule: Callable[..., T], *given: Any) -> T:
    """What a function of the user's makes of input: whatever it raises of its own is input that cannot be read."""
    try:
        return rule(*given)
    except IdemError:
        raise
    except Exception as error:
        raise MalformedDelivery(f"{what} failed with {type(error).__name__}: {message_of(error)}") from error


def mapping_of(value: Any) -> Mapping[str, Any]:
    """What should be an object, as one: anything else is an empty one."""
    return value if isinstance(value, MAPPINGS) else {}


def text_of(value: Any) -> str:
    """What should be text, as text: anything else is none."""
    return value if isinstance(value, str) else ""


def _levels(value: Any) -> int:
    """How deeply the lists and objects of parsed JSON are nested, level by level."""
    levels, level = 0, [value]
    while level := [one for one in level if isinstance(one, dict | list)]:
        levels += 1
        level = [below for one in level for below in (one.values() if isinstance(one, dict) else one)]
    return levels


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)
