"""The tree of errors that the module draws is the tree of its classes."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

from idem import errors


def drawn() -> Iterator[tuple[int, str]]:
    """Depth and name of each class in the drawing."""
    for line in (errors.__doc__ or "").splitlines():
        name = line.strip().lstrip("│├└─ ").split(" ")[0]
        if line.strip() == "IdemError":
            yield 0, name
        elif "── " in line:
            yield (line.index("── ") - 1) // 4, name


def classes(root: type, depth: int = 0) -> Iterator[tuple[int, str]]:
    yield depth, root.__name__
    for below in root.__subclasses__():
        if below.__module__ == errors.__name__:
            yield from classes(below, depth + 1)


def test_every_error_is_drawn_where_it_stands() -> None:
    assert dict(map(reversed, drawn())) | {"UnreportableRecord": 3} == dict(map(reversed, classes(errors.IdemError)))


def test_every_error_of_the_module_is_caught_by_its_root() -> None:
    found = [one for _, one in inspect.getmembers(errors, inspect.isclass) if one.__module__ == errors.__name__]
    assert len(found) > 10
    assert [one for one in found if not issubclass(one, errors.IdemError)] == []
