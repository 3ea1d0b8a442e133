"""idem: the work of a redelivered message is done once.

A `Consumer` is a Lambda handler; `once` is the same for a plain function. Both claim a key in a `Store`, run the work, and
record how it ended; whoever comes later with the same key gets the first one's answer.

The names of this door are written once, in `__init__.pyi`, and each is fetched at its first use: a queue's function never
imports what only webhooks need.
"""


def _homes() -> dict[str, str]:
    """Each name of the door, and the module that it comes from: `from HOME import NAME as NAME` in the stub."""
    path = f"{__file__.rpartition('.')[0]}.pyi"
    try:
        stub: bytes = __spec__.loader.get_data(path)  # also out of a zip file
    except OSError as missing:
        raise ImportError(f"{path} is missing, and idem reads its names from it: package .pyi files, too") from missing
    words = [line.split() for line in stub.decode().splitlines() if line.startswith("from ")]
    return {name: home for _, home, _, name, _, _ in words}


_HOMES = _homes()
__all__ = list(_HOMES)


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - at the top it would be a name of the door

    is_module = home == __name__ or not hasattr(import_module(home), name)
    found = import_module(f"{home}.{name}") if is_module else getattr(import_module(home), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return [*globals(), *_HOMES]
