"""Ed25519 in plain Python: RFC 8032's vectors, and what a verifier must refuse."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idem.webhooks import ed25519
from idem.webhooks.ed25519 import ORDER, P

# RFC 8032, section 7.1: private key, public key, message, signature.
VECTORS = {
    "TEST 1": (
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ),
    "TEST 2": (
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ),
    "TEST 3": (
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ),
    "TEST SHA(abc)": (
        "833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42",
        "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
        "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
        "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b58909351fc9ac90b3ecfdfbc7c66431e0303dca179c138ac17ad9bef1177331a704",
    ),
}


@pytest.mark.parametrize("name", VECTORS)
def test_the_rfcs_vectors_hold_in_both_directions(name: str) -> None:
    seed, key, message, signature = (bytes.fromhex(text) for text in VECTORS[name])
    assert ed25519.public_key(seed) == key
    assert ed25519.sign(seed, message) == signature
    assert ed25519.verify(key, message, signature)
    assert not ed25519.verify(key, message + b"\x00", signature)


def test_a_signature_cannot_be_written_in_a_second_way() -> None:
    """S + the group's order would solve the same equation."""
    seed, message = bytes(32), b"m"
    signature = ed25519.sign(seed, message)
    again = int.from_bytes(signature[32:], "little") + ORDER
    assert not ed25519.verify(ed25519.public_key(seed), message, signature[:32] + again.to_bytes(32, "little"))


@pytest.mark.parametrize(
    "key",
    [
        bytes([1]) + bytes(31),  # the neutral element: under it, S = 0 would sign everything
        bytes(32),
        b"\xec" + b"\xff" * 30 + b"\x7f",
        bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"),
        bytes.fromhex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"),
    ],
    ids=["order 1", "order 4", "order 2", "order 8", "order 8 too"],
)
def test_keys_of_small_order_are_refused(key: bytes) -> None:
    neutral = bytes([1]) + bytes(31)
    assert not ed25519.verify(key, b"anything", neutral + bytes(32))


@pytest.mark.parametrize("y", [P, P + 1, 2**255 - 1])
def test_points_are_read_in_their_one_form_only(y: int) -> None:
    assert not ed25519.verify(y.to_bytes(32, "little"), b"", bytes(64))
    assert not ed25519.verify(ed25519.public_key(bytes(32)), b"", y.to_bytes(32, "little") + bytes(32))


@given(st.binary(max_size=70), st.binary(max_size=10), st.binary(max_size=70))
def test_anything_else_is_false_and_never_an_error(key: bytes, message: bytes, signature: bytes) -> None:
    assert not ed25519.verify(key, message, signature)
    assert not ed25519.verify(ed25519.public_key(bytes(32)), message, signature[:64].ljust(64, b"\x00"))
