"""The proofs in a signature header: a keyed hash, or a public-key signature.

| secret | as it is stored | key |
|---|---|---|
| `text_key` | any text, taken whole, prefix included | its UTF-8 bytes |
| `hex_key` | hex digits | the bytes they stand for |
| `standard_key` | `whsec_` and base64 | the bytes they stand for |

Every given signature is compared with every expected one, each in constant time.
"""

from __future__ import annotations

import base64
import binascii
import hmac
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, Protocol

from idem.webhooks import ed25519
from idem.webhooks.scheme import SECRETS_MAX, unusable

PUBLIC_KEY_SIGNATURES_MAX = 4  # each costs milliseconds, where a hash costs microseconds
PUBLIC_PREFIX, PRIVATE_PREFIX = "whpk_", "whsk_"  # Standard Webhooks' marks of an asymmetric key pair

KeyForm = Callable[[str, int], bytes | None]
"""From a secret and its position to a key; None if the secret is for another proof. Raises SecretsUnavailable."""

Ed25519Verify = Callable[[bytes, bytes, bytes], bool]
"""From public key (32 bytes), message and signature (64 bytes) to whether it holds. Never raises."""


class Proof(Protocol):
    def matches(self, given: Sequence[str], secrets: Sequence[str], contents: Sequence[bytes]) -> bool:
        """Whether one of the signatures is by one of the secrets, over one of the contents. Raises SecretsUnavailable."""
        ...

    def sign(self, secret: str, content: bytes) -> str | None:
        """The signature of a content; None if the secret is for another proof."""
        ...


def text_key(secret: str, position: int) -> bytes | None:  # noqa: ARG001 - a KeyForm may complain of its position
    """The whole text, as it is."""
    return secret.encode("utf-8", "surrogatepass")


def hex_key(secret: str, position: int) -> bytes | None:
    """The bytes that hex digits stand for."""
    try:
        return bytes.fromhex(secret) or None
    except ValueError:
        raise unusable(position, "hex digits") from None


def standard_key(secret: str, position: int) -> bytes | None:
    """The bytes behind `whsec_`, in base64; the prefix may be left out."""
    if secret.startswith((PUBLIC_PREFIX, PRIVATE_PREFIX)):
        return None
    key = _from_base64(secret.removeprefix("whsec_"))
    if not key:
        raise unusable(position, "'whsec_' and base64")
    return key


@dataclass(frozen=True, slots=True, kw_only=True)
class Hmac:
    """A keyed hash, in hex or base64."""

    encoding: Literal["hex", "base64"]
    key: KeyForm = text_key
    algorithm: Literal["sha256", "sha1", "sha512"] = "sha256"

    def matches(self, given: Sequence[str], secrets: Sequence[str], contents: Sequence[bytes]) -> bool:
        texts = [text.encode("utf-8", "surrogatepass") for text in given]
        matched = False
        for position, secret in enumerate(secrets):
            if (key := self.key(secret, position)) is None:
                continue
            for content in contents:
                expected = self._written(key, content)
                for text in texts:
                    matched |= hmac.compare_digest(text, expected)
        return matched

    def sign(self, secret: str, content: bytes) -> str | None:
        key = self.key(secret, 0)
        return None if key is None else self._written(key, content).decode("ascii")

    def _written(self, key: bytes, content: bytes) -> bytes:
        keyed = _keyed(key, self.algorithm).copy()
        keyed.update(content)
        digest = keyed.digest()
        return binascii.hexlify(digest) if self.encoding == "hex" else binascii.b2a_base64(digest, newline=False)


HEX_SHA256, BASE64_SHA256 = Hmac(encoding="hex"), Hmac(encoding="base64")


@lru_cache(maxsize=SECRETS_MAX)
def _keyed(key: bytes, algorithm: str) -> hmac.HMAC:
    """The state of a keyed hash before its first byte, to be copied: preparing it costs as much as hashing a small body."""
    return hmac.new(key, digestmod=algorithm)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ed25519:
    """A public-key signature: who verifies it cannot forge it.

    prefixed: keys are `whpk_` (to verify) or `whsk_` (to sign) and base64; otherwise both are hex.
    check: verifies one signature. The built-in one needs no dependency and takes some milliseconds; `cryptography` and PyNaCl
    take a tenth of one, but are compiled code, which an asset for both of Lambda's processors cannot carry.
    """

    encoding: Literal["hex", "base64"]
    prefixed: bool = False
    check: Ed25519Verify = ed25519.verify

    def matches(self, given: Sequence[str], secrets: Sequence[str], contents: Sequence[bytes]) -> bool:
        keys = [key for position, secret in enumerate(secrets) if (key := self._public(secret, position))]
        signatures = [raw for text in given[:PUBLIC_KEY_SIGNATURES_MAX] if (raw := self._raw(text))]
        return any(self.check(key, content, raw) for key in keys for content in contents for raw in signatures)

    def sign(self, secret: str, content: bytes) -> str | None:
        """Sign with a private key; a public one, or a secret for a keyed hash, signs nothing."""
        if self.prefixed and not secret.startswith(PRIVATE_PREFIX):
            return None
        seed = _from_base64(secret.removeprefix(PRIVATE_PREFIX)) if self.prefixed else hex_key(secret, 0)
        if seed is None or len(seed) not in {32, 64}:  # some libraries keep the public key behind the seed
            raise unusable(0, "a private key of 32 or 64 bytes")
        signature = ed25519.sign(seed[:32], content)
        return signature.hex() if self.encoding == "hex" else base64.b64encode(signature).decode("ascii")

    def _public(self, secret: str, position: int) -> bytes | None:
        if self.prefixed and not secret.startswith(PUBLIC_PREFIX):
            return None
        key = _from_base64(secret.removeprefix(PUBLIC_PREFIX)) if self.prefixed else hex_key(secret, position)
        if key is None or len(key) != 32:
            raise unusable(position, "a public key of 32 bytes")
        return key

    def _raw(self, text: str) -> bytes | None:
        try:
            raw = bytes.fromhex(text) if self.encoding == "hex" else _from_base64(text)
        except ValueError:
            return None
        return raw if raw is not None and len(raw) == 64 else None


def _from_base64(text: str) -> bytes | None:
    """The bytes, None if it is no base64; padding may be missing."""
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None
