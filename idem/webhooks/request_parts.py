"""Where in a request something is: a header, a field of the payload, or several of these together.

A part finds text that is not blank, or None. Whether it can be trusted is another matter: headers that are not part of the signed
content can be changed by whoever replays a request.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from idem.canonical import digest
from idem.errors import MalformedDelivery
from idem.sources.http import HttpRequest

HASHED = "sha256:"  # begins an identity that is a hash of content


class Part(Protocol):
    def find(self, request: HttpRequest, payload: Any) -> str | None: ...


class Header:
    """The first of these headers that is there."""

    def __init__(self, *names: str) -> None:
        self.names = tuple(name.lower() for name in names)

    def __repr__(self) -> str:
        return f"Header{self.names!r}"

    def find(self, request: HttpRequest, payload: Any) -> str | None:  # noqa: ARG002 - a Part may look at both
        for name in self.names:
            if (value := request.headers.get(name)) and value.strip():
                return value
        return None


class Field:
    """The first of these fields that holds text or a whole number. Dots go down: "data.object.id"."""

    def __init__(self, *paths: str, numbers: bool = False) -> None:
        self.paths = tuple(tuple(path.split(".")) for path in paths)
        self.numbers = numbers

    def __repr__(self) -> str:
        return f"Field{tuple('.'.join(path) for path in self.paths)!r}"

    def find(self, request: HttpRequest, payload: Any) -> str | None:  # noqa: ARG002 - a Part may look at both
        for path in self.paths:
            value = payload
            for step in path:
                value = value.get(step) if isinstance(value, Mapping) else None
            if isinstance(value, str) and value.strip():
                return value
            if self.numbers and type(value) is int:
                return written(value)
        return None


@dataclass(frozen=True, slots=True)
class Joined:
    """Several parts that only together identify something: all of them, or nothing."""

    parts: tuple[Part, ...]

    def find(self, request: HttpRequest, payload: Any) -> str | None:
        found = [part.find(request, payload) for part in self.parts]
        if any(text is None for text in found):
            return None
        return "/".join(escaped(text or "") for text in found)


@dataclass(frozen=True, slots=True)
class Own:
    """A provider's own id where `AnyOf` has others behind it: no joined id and no hash is written like it."""

    part: Part

    def find(self, request: HttpRequest, payload: Any) -> str | None:
        found = self.part.find(request, payload)
        if found is None:
            return None
        text = escaped(found)
        return text.replace(":", "%3A", 1) if text.startswith(HASHED) else text


@dataclass(frozen=True, slots=True)
class AnyOf:
    """The first of these parts that has something."""

    parts: tuple[Part, ...]

    def find(self, request: HttpRequest, payload: Any) -> str | None:
        return next((found for part in self.parts if (found := part.find(request, payload)) is not None), None)


@dataclass(frozen=True, slots=True)
class BodyHash:
    """The signed bytes themselves: nobody can change this identity, and two equal bodies are one event."""

    def find(self, request: HttpRequest, payload: Any) -> str | None:  # noqa: ARG002 - a Part may look at both
        return HASHED + hashlib.sha256(request.body).hexdigest()


@dataclass(frozen=True, slots=True)
class ContentHash:
    """The content of one event, without the fields that may differ between its deliveries."""

    without: tuple[str, ...] = ()

    def find(self, request: HttpRequest, payload: Any) -> str | None:  # noqa: ARG002 - a Part may look at both
        try:
            return HASHED + digest(without(payload, self.without))
        except MalformedDelivery:
            return None


@dataclass(frozen=True, slots=True)
class Always:
    """The same text for every request: a type for providers that send only one."""

    text: str

    def find(self, request: HttpRequest, payload: Any) -> str | None:  # noqa: ARG002 - a Part may look at both
        return self.text


def escaped(text: str) -> str:
    """The text without slashes, so that texts can be joined by them and no two joinings meet."""
    return text.replace("%", "%25").replace("/", "%2F")


def without(payload: Any, names: tuple[str, ...]) -> Any:
    """The payload without these members."""
    if not isinstance(payload, Mapping):
        return payload
    return {name: value for name, value in payload.items() if name not in names}


def written(number: int) -> str | None:
    """The digits of a number, None for one that is too long to be an id."""
    return str(number) if abs(number) < 10**40 else None
