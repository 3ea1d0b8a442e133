"""Functions of the user's, as they come."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import Any

import pytest

from idem.errors import ConfigurationError
from idem.functions import is_coroutine_function


def plain(one: int = 1) -> int:
    return one


async def awaited(one: int = 1) -> int:
    return one


class Plain:
    def __call__(self) -> None: ...


class Awaited:
    async def __call__(self) -> None: ...

    async def method(self) -> None: ...


def some() -> Iterator[int]:
    yield 1


async def more() -> AsyncIterator[int]:
    yield 1


class Some:
    def __call__(self) -> Iterator[int]:
        yield 1


@pytest.mark.parametrize("function", [plain, Plain(), partial(plain, 2), len])
def test_what_is_called(function: Any) -> None:
    assert not is_coroutine_function(function, "o")


@pytest.mark.parametrize("function", [awaited, Awaited(), Awaited().method, partial(awaited, 2), partial(Awaited())])
def test_what_is_awaited(function: Any) -> None:
    assert is_coroutine_function(function, "o")


@pytest.mark.parametrize("function", [some, more, Some(), partial(some)])
def test_what_would_not_run_a_line_is_refused(function: Any) -> None:
    with pytest.raises(ConfigurationError, match="yield"):
        is_coroutine_function(function, "orders.fulfil")
