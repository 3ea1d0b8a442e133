"""Key rules: from a delivery to what makes it the same piece of work as another one.

A key must say what is meant, not which request carried it. A rule returns the parts of an identity; `make_key` puts them and
the operation together so that no two different (operation, parts) meet in one key.

| rule | the same work is | wrong when |
|---|---|---|
| `message_id()` | one message of the queue, redelivered | a producer may send the same fact twice, or a DLQ redrive makes new ids |
| `deduplication_id()` | one FIFO message, sent again later than SQS remembers | it is the hash of content that repeats on purpose |
| `event_id()` | one event of the provider, delivered again | two events can mean one change |
| `header("name")` | what the sender declares | the header is not covered by a signature |
| `field("orderId")`, `fields("tenant", "orderId")` | the business fact | the field is optional, or repeats on purpose |
| `intent("{userId}#{slug}#article.completed")` | a business fact spelled out | as above |
| `payload_hash()`, `payload_hash("customer", "lines")` | the same content | two orders are alike on purpose: add a nonce or scope |
| `constant("welcome")` | the operation itself, once | |
| `all_of(a, b)` | both rules together | |
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
import reprlib
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

from idem.canonical import canonical, combined, digest
from idem.delivery import MAPPINGS, SEQUENCES, Delivery
from idem.errors import ConfigurationError, MissingKeyPart
from idem.record import Key
from idem.text import composed

KeyRule = Callable[[Delivery], Sequence[str]]
Path = str | tuple[str, ...]

OPERATION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
IDENTITY_BYTES_MAX = (
    512  # DynamoDB allows 2,048 for the whole key; a refused claim is billed by the item, so stay small
)
HASHED = "%sha256:"  # cannot begin an escaped identity: there, "%" is always followed by two hex digits


def check_operation(operation: str) -> str:
    """`operation`, if it can name a kind of work. Raises ConfigurationError otherwise."""
    if not OPERATION.fullmatch(operation):
        raise ConfigurationError(
            f"operation {operation!r}: use 1 to 64 letters, digits, dots, dashes and underscores, such as 'orders.fulfil'"
        )
    return operation


def make_key(operation: str, parts: Sequence[str]) -> Key:
    """The key of `operation` and an identity made of `parts`; raises MissingKeyPart for none, or an empty one.

    A plain text is one part. Parts are brought to NFC (`composed` may refuse one), escaped ("%" and "#") and joined by "#". An
    identity that is too long or not printable is replaced by a tagged SHA-256 of the same text.
    """
    given: Any = [parts] if isinstance(parts, str | Enum) else parts  # the user's rule may return anything
    if isinstance(given, SEQUENCES):
        given = [_unwrapped(part) for part in given]
    usable = isinstance(given, SEQUENCES) and given and all(isinstance(part, str) and part.strip() for part in given)
    if not usable:
        raise MissingKeyPart(
            f"the key of {operation} has an empty part, or one that is not text: {reprlib.repr(parts)}"
        )
    identity = "#".join(composed(part).replace("%", "%25").replace("#", "%23") for part in given)
    raw = identity.encode("utf-8", "surrogatepass")
    if len(raw) > IDENTITY_BYTES_MAX or not identity.isprintable():
        identity = HASHED + hashlib.sha256(raw).hexdigest()
    return Key(operation, identity)


def message_id() -> KeyRule:
    """The id of the message or request that carried it. An event that was handed over without one has no such key."""
    return lambda delivery: (_part("the message id", delivery.id),)


def deduplication_id() -> KeyRule:
    """The deduplication id of a FIFO message: what its producer says is the same, also after SQS has forgotten it."""
    return lambda delivery: (_part("the deduplication id", delivery.deduplication_id),)


def event_id() -> KeyRule:
    """The provider's id of the event, together with its account or endpoint where the source knows one."""

    def rule(delivery: Delivery) -> Sequence[str]:
        event = _part("the event id", delivery.event_id)
        return (delivery.scope, event) if delivery.scope else (event,)

    return rule


def header(name: str) -> KeyRule:
    """An HTTP header or a message attribute, by its name in any case."""
    wanted = name.lower()
    return lambda delivery: (_part(f"header or attribute {name!r}", delivery.headers.get(wanted)),)


def field(path: Path) -> KeyRule:
    """One field of the payload. Dots go down: "order.id", "lines.0.sku"; a tuple takes names as they are."""
    return fields(path)


def fields(*paths: Path) -> KeyRule:
    """Several fields of the payload, all of them required."""
    if not paths:
        raise ConfigurationError("fields() needs at least one field name")
    named = [(path, f"field {_name(path)!r}") for path in paths]
    return lambda delivery: tuple([_part(name, look_up(delivery.payload, path)) for path, name in named])


def intent(template: str) -> KeyRule:
    """A template of fields and fixed words between "#" signs, such as "{userId}#{slug}#article.completed"."""
    segments = template.split("#")
    for segment in segments:
        if not re.fullmatch(r"\{[^{}]+\}|[^{}]+", segment):
            raise ConfigurationError(f"intent {template!r}: {segment!r} is neither a word nor one {{field}}")

    def rule(delivery: Delivery) -> Sequence[str]:
        return tuple(
            _part(f"field {segment[1:-1]!r}", look_up(delivery.payload, segment[1:-1]))
            if segment[0] == "{"
            else segment
            for segment in segments
        )

    return rule


def payload_hash(*paths: Path) -> KeyRule:
    """SHA-256 over the canonical payload, or over the chosen fields of it. None of them may be nothing: see `is_nothing`."""

    def rule(delivery: Delivery) -> Sequence[str]:
        if not paths:
            if is_nothing(delivery.payload):
                raise MissingKeyPart("there is nothing in the payload: all such deliveries would be one piece of work")
            return (digest(delivery.payload),)
        return (combined(_present(f"field {_name(path)!r}", look_up(delivery.payload, path)) for path in paths),)

    return rule


def constant(word: str) -> KeyRule:
    """A fixed word: a scope for `all_of`, or work that is done once for the whole table."""
    return lambda _delivery: (word,)


def all_of(*rules: KeyRule) -> KeyRule:
    """The parts of several rules, one after the other."""
    return lambda delivery: tuple(part for rule in rules for part in rule(delivery))


def look_up(payload: object, path: Path) -> object:
    """What `path` leads to in the payload, None if it leads nowhere."""
    found = payload
    for step in path.split(".") if isinstance(path, str) else path:
        if isinstance(found, MAPPINGS):
            found = found.get(step)
        elif isinstance(found, list | tuple) and step.isdecimal() and step.isascii() and int(step) < len(found):
            found = found[int(step)]
        else:
            return None
    return found


def is_nothing(value: object) -> bool:
    """Whether there is nothing in a value that could tell it from another: null, blank text, or only such in a container.

    Zero and False are something. A key or a check made of nothing would make all deliveries the same.
    """
    try:
        return _is_nothing(value)
    except RecursionError:
        return False  # what is nested so deeply is refused when it is hashed


def _is_nothing(value: object) -> bool:
    match value:
        case None:
            return True
        case Enum():
            return _is_nothing(value.value)
        case str():
            return not value.strip()
        case bytes() | bytearray():
            return not value
        case Mapping():
            return all(_is_nothing(member) for member in value.values())
        case list() | tuple() | set() | frozenset():
            return all(_is_nothing(member) for member in value)
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return all(_is_nothing(getattr(value, one.name)) for one in dataclasses.fields(value))
        case _:
            return False


def _name(path: Path) -> str:
    return path if isinstance(path, str) else ".".join(path)


def _present(what: str, value: object) -> object:
    if is_nothing(value):
        raise MissingKeyPart(f"{what} is missing, null or empty: it is part of the key")
    return value


def _unwrapped(value: object) -> object:
    """The value of an Enum member, and the text itself of a text with a spelling of its own."""
    while isinstance(value, Enum):
        value = value.value
    return str.__str__(value) if isinstance(value, str) else value


def _part(what: str, value: object) -> str:
    """The text of one part. 7, 7.0 and "7" are one identity, as are an Enum member and its value; an object or list is refused."""
    value = _unwrapped(value)
    if isinstance(value, str) and value.strip():
        return value
    _present(what, value)
    if isinstance(value, bool | int | float | Decimal):
        return canonical(value).decode("ascii")
    if isinstance(value, UUID):
        return str(value)
    raise MissingKeyPart(f"{what} is a {type(value).__name__}, which identifies nothing: use payload_hash() to hash it")
