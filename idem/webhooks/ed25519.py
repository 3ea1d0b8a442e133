"""Ed25519 (RFC 8032) in plain Python, for webhooks that are signed with a key pair: Discord, Standard Webhooks' v1a.

Verifying handles nothing secret: key, message and signature are all known to the sender, so it does not matter that plain integers
take different times. Signing does handle a secret and is for tests and local senders only.

The curve is -x² + y² = 1 + d x² y² over the integers modulo 2²⁵⁵ - 19. A point is kept as (X, Y, Z, T) with x = X/Z, y = Y/Z and
xy = T/Z, where adding needs no division. A signature (R, S) of a message under the key A holds if S·B = R + h·A, with
h = SHA-512(R, A, message) and B the base point. As RFC 8032 asks, S must be below the group's order and points must be written in
their one canonical form; otherwise one signature could be written in several ways. Keys of small order, under which one
signature holds for many messages, are refused.

About 3 ms for each verification on a small processor.
"""

from __future__ import annotations

import hashlib

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
SQRT_MINUS_1 = pow(2, (P - 1) // 4, P)

Point = tuple[int, int, int, int]
NEUTRAL: Point = (0, 1, 1, 0)


def verify(public_key: bytes, message: bytes, signature: bytes) -> bool:
    """Whether `signature` is the key owner's for `message`. False for anything malformed; never raises."""
    if len(public_key) != 32 or len(signature) != 64:
        return False
    key, first = _point(public_key), _point(signature[:32])
    scalar = int.from_bytes(signature[32:], "little")
    if key is None or first is None or scalar >= ORDER or _equal(_times(8, key), NEUTRAL):
        return False
    digest = _hash(signature[:32], public_key, message) % ORDER
    return _equal(_times_base(scalar), _add(first, _times(digest, key)))


def sign(seed: bytes, message: bytes) -> bytes:
    """The signature of `message` by a private key of 32 bytes. For tests and local senders: its timing tells of the key."""
    scalar, prefix = _expand(seed)
    key = _write(_times_base(scalar))
    nonce = _hash(prefix, message) % ORDER
    first = _write(_times_base(nonce))
    last = (nonce + _hash(first, key, message) * scalar) % ORDER
    return first + last.to_bytes(32, "little")


def public_key(seed: bytes) -> bytes:
    """The public key of a private key of 32 bytes."""
    return _write(_times_base(_expand(seed)[0]))


def _expand(seed: bytes) -> tuple[int, bytes]:
    """The secret scalar and the nonce's prefix."""
    digest = hashlib.sha512(seed).digest()
    scalar = int.from_bytes(digest[:32], "little")
    return scalar & ((1 << 254) - 8) | 1 << 254, digest[32:]


def _hash(*parts: bytes) -> int:
    return int.from_bytes(hashlib.sha512(b"".join(parts)).digest(), "little")


def _add(a: Point, b: Point) -> Point:
    low = (a[1] - a[0]) * (b[1] - b[0])
    high = (a[1] + a[0]) * (b[1] + b[0])
    c = 2 * D * a[3] * b[3] % P
    d = 2 * a[2] * b[2]
    e, f, g, h = high - low, d - c, d + c, high + low
    return e * f % P, g * h % P, f * g % P, e * h % P


def _double(a: Point) -> Point:
    x2, y2 = a[0] * a[0], a[1] * a[1]
    h = x2 + y2
    e = h - (a[0] + a[1]) ** 2
    g = x2 - y2
    f = (2 * a[2] * a[2] + g) % P
    e, g, h = e % P, g % P, h % P
    return e * f % P, g * h % P, f * g % P, e * h % P


def _times(scalar: int, point: Point) -> Point:
    """`scalar` times `point`, four bits at a time."""
    multiples = [NEUTRAL, point]
    for _ in range(14):
        multiples.append(_add(multiples[-1], point))
    total = NEUTRAL
    for shift in range((scalar.bit_length() + 3) // 4 * 4 - 4, -4, -4):
        total = _double(_double(_double(_double(total))))
        total = _add(total, multiples[scalar >> shift & 15])
    return total


def _times_base(scalar: int) -> Point:
    return _times(scalar, _BASE)


def _equal(a: Point, b: Point) -> bool:
    return (a[0] * b[2] - b[0] * a[2]) % P == 0 and (a[1] * b[2] - b[1] * a[2]) % P == 0


def _point(text: bytes) -> Point | None:
    """The point that 32 bytes stand for; None if they are no point in canonical form."""
    y = int.from_bytes(text, "little")
    odd, y = y >> 255, y & (1 << 255) - 1
    if y >= P:
        return None
    x = _root((y * y - 1) * pow(D * y * y + 1, P - 2, P) % P)
    if x is None or (x == 0 and odd):
        return None
    if x & 1 != odd:
        x = P - x
    return x, y, 1, x * y % P


def _root(square: int) -> int | None:
    """A number whose square modulo P is `square`, None if there is none."""
    root = pow(square, (P + 3) // 8, P)
    if (root * root - square) % P:
        root = root * SQRT_MINUS_1 % P
    return None if (root * root - square) % P else root


def _write(point: Point) -> bytes:
    inverse = pow(point[2], P - 2, P)
    x, y = point[0] * inverse % P, point[1] * inverse % P
    return (y | (x & 1) << 255).to_bytes(32, "little")


def _base() -> Point:
    """The base point: the one with y = 4/5 and an even x."""
    found = _point((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))
    if found is None:
        raise AssertionError("the curve's constants are wrong")
    return found


_BASE = _base()
