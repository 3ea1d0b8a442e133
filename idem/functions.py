"""Functions of the user's: is one awaited or called, and does calling it run it at all?"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

from idem.errors import ConfigurationError


def is_coroutine_function(function: Callable[..., Any], operation: str) -> bool:
    """Whether `function` has to be awaited; objects with an `async def __call__` and partials have, too.

    Raises ConfigurationError for a generator function: calling it runs not one line of it.
    """
    while isinstance(function, partial):
        function = function.func
    asked = function if inspect.isroutine(function) else type(function).__call__
    if inspect.isgeneratorfunction(asked) or inspect.isasyncgenfunction(asked):
        raise ConfigurationError(
            f"the work of {operation} has a `yield`, so calling it would not run a line of it: return the result instead"
        )
    return inspect.iscoroutinefunction(asked) or inspect.iscoroutinefunction(function)  # the latter for a mock of one
