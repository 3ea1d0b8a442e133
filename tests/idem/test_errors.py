"""The tree of errors that the module draws is the tree of its classes."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

from idem import errors

BESIDE_THE_TREE = {"UnreportableRecord": 3}  # told in a sentence below the drawing: nobody catches it


def drawn() -> dict[str, int]:
    """The depth of each class in the drawing."""
    found: dict[str, int] = {}
    for line in (errors.__doc__ or "").splitlines():
        if line.strip() == "IdemError":
            found["IdemError"] = 0
        elif "── " in line:
            branch, _, rest = line.partition("── ")
            found[rest.split(" ")[0]] = len(branch) // 4
    return found


def classes(root: type[Exception], depth: int = 0) -> Iterator[tuple[str, int]]:
    """Each class of the module with its depth below the root."""
    yield root.__name__, depth
    for below in type.__subclasses__(root):
        if below.__module__ == errors.__name__:
            yield from classes(below, depth + 1)


def test_every_error_is_drawn_where_it_stands() -> None:
    assert drawn() | BESIDE_THE_TREE == dict(classes(errors.IdemError))


def test_every_error_of_the_module_is_caught_by_its_root() -> None:
    found = [
        one
        for _, one in inspect.getmembers(errors, inspect.isclass)
        if one.__module__ == errors.__name__ and one is not errors.Crash
    ]
    assert len(found) > 10
    assert [one for one in found if not issubclass(one, errors.IdemError)] == []
