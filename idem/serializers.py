"""The serializer of a function: how a result of a type that JSON has not is written into the record, and read from it again.

`once` finds the type in the function's return annotation, so that a replay returns what the annotation promises:

| the function returns | a first call and a replay return | by |
|---|---|---|
| None, bool, int, float, str, Any, lists, dicts with text as names, TypedDicts of these | that | JSON itself |
| a Pydantic model, a dataclass, Decimal, datetime, a tuple, a set, a list or TypedDict with such inside | that | Pydantic |
| ResultId, HttpResult, NotKept, Commit | as `results.py` says | this package |
| no annotation, or one that is not there at run time (imported for type checkers only) | its JSON form | `results.py` |

Say `result=` where the annotation cannot, and for a pair of functions of one's own. Pydantic is asked for only where it is
needed: it is the extra `pydantic`.
"""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Callable
from typing import Any, TypeVar

from idem.errors import ConfigurationError
from idem.results import HttpResult, NotKept, ResultId, Serializer
from idem.text import message_of
from idem.writes import Commit

OURS = (ResultId, HttpResult, NotKept, Commit)
CARRIED = (None, type(None), bool, int, float, str, list, dict, Any, object, typing.Never, typing.NoReturn, *OURS)


def serializer_of(function: Callable[..., Any], result: Any = None) -> Serializer[Any] | None:
    """The serializer of a function's results, None if JSON carries them as they are.

    result: a type or a Serializer; by default what the function's return annotation names. Raises ConfigurationError if
    Pydantic is needed and not installed, or does not know the type.
    """
    if isinstance(result, Serializer):
        return result
    wanted = _hints(function).get("return") if result is None else result
    return None if is_carried(wanted) else by_pydantic(wanted)


def is_carried(wanted: Any) -> bool:
    """Whether JSON gives back what it is given of this type."""
    if isinstance(wanted, TypeVar) or wanted in CARRIED:
        return True
    kind, inner = typing.get_origin(wanted), typing.get_args(wanted)
    if hasattr(kind or wanted, "__total__"):  # a TypedDict, of `typing` or of `typing_extensions`
        return not inner and all(is_carried(one) for one in _hints(wanted).values())
    if kind is dict:
        return inner[0] is str and is_carried(inner[1])
    if kind is typing.Literal:
        return all(type(one) in CARRIED for one in inner)
    return kind in (list, typing.Union, types.UnionType) and all(is_carried(one) for one in inner)


def by_pydantic(wanted: Any) -> Serializer[Any]:
    """What Pydantic reads and writes of a type."""
    try:
        from pydantic import TypeAdapter  # noqa: PLC0415 - an extra, and slow to import
    except ImportError:
        raise ConfigurationError(
            f"a result of type {_name(wanted)} is written and read by Pydantic, which is not installed: install the extra"
            " `pydantic`, or give result=Serializer(write, read) with functions of your own"
        ) from None
    try:
        adapter = TypeAdapter(wanted)
    except Exception as error:  # Pydantic's own errors share no class
        why = message_of(error).partition("\n")[0]
        raise ConfigurationError(
            f"Pydantic cannot read a result of type {_name(wanted)} ({why}): give result=Serializer(write, read) with functions"
            " of your own, or result=object to keep what JSON can hold of it"
        ) from error

    def write(value: Any) -> Any:
        return adapter.dump_python(value, mode="json", round_trip=True, warnings="error")

    def read(value: Any) -> Any:
        return adapter.validate_json(json.dumps(value), by_alias=False, by_name=True)  # strict models read JSON, too

    return Serializer(write, read)


def _hints(annotated: Any) -> dict[str, Any]:
    """The annotations of a function or class, evaluated; none if one of them cannot be."""
    try:
        return typing.get_type_hints(annotated)
    except Exception:  # noqa: BLE001 - an annotation may be any expression
        return {}


def _name(wanted: Any) -> str:
    return getattr(wanted, "__qualname__", None) or str(wanted)
