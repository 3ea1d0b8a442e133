"""What a signature scheme is: does this request come from who it says, and which events does it bring?

A scheme verifies the raw bytes that arrived, with each of the secrets, in constant time, before anything is parsed or claimed.
Whatever is wrong with hostile input is one error: SignatureInvalid. The schemes of known providers are in `schemes.py`; most are
values of `HeaderScheme`, and so is your own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any, Protocol

from idem.errors import SecretsUnavailable, SignatureInvalid
from idem.sources.http import HttpRequest, Reply

TOLERANCE = timedelta(minutes=5)  # what most providers' own libraries use; here in both directions
HEADER_CHARS_MAX = 4096  # 16 signatures of 128 characters and their stamp are half of it
SECRETS_MAX = 32  # that are tried for one request: each costs a hash of the whole body
SIGNATURES_MAX = 16  # in one header: a provider sends one for each active secret, an attacker could send thousands
STAMP_CHARS_MAX = 40  # ISO 8601 with microseconds and zone has 32
STAMP_DIGITS_MAX = 15  # epoch milliseconds have 13 digits until the year 2286


class NoMatch(SignatureInvalid):
    """The signature is well-formed and recent, and no secret made it: the one case that a newer secret could cure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """An event's own id, its type, the account or endpoint that ids are unique in, and the object that it is about."""

    event_id: str
    event_type: str
    scope: str | None = None
    object_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One event of a verified request; a request of some providers brings several. body: the bytes of this event alone."""

    identity: Identity
    payload: Any
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyStyle:
    """How a provider wants to be replied to.

    accepted: the reply to what is done; None shows the work's result as JSON. shows_text: a result that is text takes the place
    of the accepted reply's body. refused_status: for a signature that proves nothing.
    give_up: headers that stop the provider's retries, for what can never succeed.
    """

    accepted: Reply | None = None
    shows_text: bool = False
    refused_status: int = 400
    give_up: Mapping[str, str] = field(default_factory=dict)


class Scheme(Protocol):
    """How one provider signs, which events a request of its brings, and how it wants to be replied to."""

    @property
    def provider(self) -> str: ...

    @property
    def reply_style(self) -> ReplyStyle: ...

    @property
    def body_bytes_max(self) -> int:
        """Of a request's body: a larger one is refused before anything of it is decoded or verified."""
        ...

    @property
    def varying(self) -> Sequence[str]:
        """Fields of an event that may differ between two deliveries of it."""
        ...

    def verify(self, request: HttpRequest, secrets: Sequence[str], now_ms: int) -> None:
        """Raises SignatureInvalid unless one of the secrets signed this request, recently."""
        ...

    def events(self, request: HttpRequest, now_ms: int) -> Sequence[Event]:
        """The events of a verified request. Raises MalformedDelivery, or NotAnEvent with the reply that it asks for."""
        ...

    def sign(self, request: HttpRequest, secrets: Sequence[str], now_ms: int) -> HttpRequest:
        """The request as the provider would send it now, signed with every secret."""
        ...


class Unit(Enum):
    """How a time stamp is written."""

    SECONDS = "seconds"
    MILLISECONDS = "milliseconds"
    ISO = "ISO 8601"

    def parse_ms(self, stamp: str) -> int:
        """Epoch milliseconds. Raises SignatureInvalid for what is no such stamp."""
        if self is not Unit.ISO:
            if not stamp.isdecimal() or not stamp.isascii() or len(stamp) > STAMP_DIGITS_MAX:
                raise SignatureInvalid(f"the signature's time stamp is not a number of {self.value}")
            return int(stamp) * (1000 if self is Unit.SECONDS else 1)
        if not stamp.isascii() or len(stamp) > STAMP_CHARS_MAX:
            raise SignatureInvalid("the signature's time stamp is too long, or is not ASCII")
        return _iso_ms(stamp)

    def write(self, now_ms: int) -> str:
        """The stamp of a moment."""
        match self:
            case Unit.SECONDS:
                return str(now_ms // 1000)
            case Unit.MILLISECONDS:
                return str(now_ms)
            case Unit.ISO:
                return datetime.fromtimestamp(now_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _iso_ms(stamp: str) -> int:
    try:
        moment = datetime.fromisoformat(stamp)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return int(moment.timestamp() * 1000)
    except (ValueError, OverflowError):
        raise SignatureInvalid("the signature's time stamp is not ISO 8601") from None


def check_time(stamp_ms: int, now_ms: int, tolerance_ms: float) -> None:
    """Refuse a moment that is too far from now, in either direction. A tolerance of zero does not switch the check off."""
    apart = abs(now_ms - stamp_ms)
    if apart > tolerance_ms:
        allowed = f"the tolerance is {tolerance_ms / 1000:g} s"
        raise SignatureInvalid(f"the signature is {apart // 1000} s away from now; {allowed}")


def usable(secrets: Sequence[str]) -> list[str]:
    """The secrets that are not blank: anybody can sign with an empty one. Raises SecretsUnavailable for too many."""
    found = [secret for secret in secrets if secret and not secret.isspace()]
    if len(found) > SECRETS_MAX:
        raise SecretsUnavailable(
            f"there are {len(found)} signing secrets, and at most {SECRETS_MAX} are tried: keep those that are active"
        )
    return found


def unusable(position: int, form: str) -> SecretsUnavailable:
    """The error for a secret of the wrong form; it never shows the secret."""
    return SecretsUnavailable(f"signing secret {position + 1} is not {form}: store it as the provider shows it")
