"""No two different pieces of work ever meet in one key."""

from __future__ import annotations

from unicodedata import normalize

from hypothesis import assume, example, given
from hypothesis import strategies as st

from idem.dynamo.schema import KEY_PREFIX, primary_key
from idem.errors import MissingKeyPart
from idem.keys import IDENTITY_BYTES_MAX, make_key

OPERATIONS = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,10}", fullmatch=True)
NASTY = st.sampled_from(
    [
        "#",
        "%",
        "%23",
        "%25",
        "%sha256:",
        "sha256:" + "0" * 64,
        "a#b",
        "x" * 600,
        "\x00",
        "\ud800",
        "\u200b",
        "é",
        "e\u0301",
    ]
)
PARTS = st.lists(st.text(max_size=5) | NASTY | st.lists(NASTY, max_size=3).map("".join), min_size=1, max_size=4)


def pk(operation: str, parts: list[str]) -> str | None:
    try:
        found: str = primary_key(make_key(operation, parts))["pk"]["S"]
    except MissingKeyPart:
        return None
    return found


@given(OPERATIONS, PARTS, OPERATIONS, PARTS)
@example("a", ["b", "c"], "a", ["b#c"])
@example("a", ["b%23c"], "a", ["b#c"])
@example("a", ["\n"], "a", ["\n\n"])
@example("a", ["x"], "a", ["x", "x"])
@example("a", ["x" * 513], "a", ["x" * 514])
def test_two_keys_are_equal_if_and_only_if_operation_and_parts_are(
    one: str, parts: list[str], other: str, others: list[str]
) -> None:
    first, second = pk(one, parts), pk(other, others)
    assume(first is not None and second is not None)
    same = (one, [normalize("NFC", part) for part in parts]) == (other, [normalize("NFC", part) for part in others])
    assert (first == second) == same


@given(OPERATIONS, PARTS)
def test_a_key_fits_into_dynamodb_and_can_be_read(operation: str, parts: list[str]) -> None:
    found = pk(operation, parts)
    assert (found is None) == any(not part.strip() for part in parts)
    if found is not None:
        assert found.isprintable()
        assert len(found.encode("utf-8")) <= len(KEY_PREFIX) + 65 + IDENTITY_BYTES_MAX < 2048


@given(OPERATIONS, PARTS, st.text(min_size=64, max_size=64, alphabet="0123456789abcdef"))
def test_a_hashed_identity_cannot_be_forged_by_a_part(operation: str, parts: list[str], hexdigits: str) -> None:
    long = pk(operation, [*parts, "x" * 600])
    forged = pk(operation, [f"%sha256:{hexdigits}"])
    assert forged != long
    assert long is None or pk(operation, [long.removeprefix(f"{KEY_PREFIX}{operation}#")]) != long
