"""Key rules: what identifies the same work, and what is refused because it identifies nothing."""

from __future__ import annotations

import hashlib
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Any
from uuid import UUID

import pytest

from idem import keys
from idem.delivery import Delivery
from idem.dynamo.schema import primary_key
from idem.errors import ConfigurationError, InputRefused, MissingKeyPart
from idem.keys import KeyRule, make_key
from idem.record import Key


def delivery(payload: Any = None, **more: Any) -> Delivery:
    return Delivery(**{"id": "m-1", "payload": payload} | more)


@pytest.mark.parametrize(
    ("operation", "parts", "pk"),
    [
        ("orders.fulfil", ["o-1"], "IDEMPOTENCY#orders.fulfil#o-1"),
        ("orders.fulfil", ["t-1", "o-1"], "IDEMPOTENCY#orders.fulfil#t-1#o-1"),
        ("a", ["50%", "a#b"], "IDEMPOTENCY#a#50%25#a%23b"),
        ("a", ["%23"], "IDEMPOTENCY#a#%2523"),
        ("a", ["%sha256:x"], "IDEMPOTENCY#a#%25sha256:x"),
        ("a", ["caf\u00e9"], "IDEMPOTENCY#a#caf\u00e9"),
        ("a", ["cafe\u0301"], "IDEMPOTENCY#a#caf\u00e9"),
        ("a", [" o 1 "], "IDEMPOTENCY#a# o 1 "),
        ("a", ["x" * 512], "IDEMPOTENCY#a#" + "x" * 512),
        ("a", ["x" * 513], "IDEMPOTENCY#a#%sha256:" + hashlib.sha256(b"x" * 513).hexdigest()),
        ("a", ["a\nb"], "IDEMPOTENCY#a#%sha256:" + hashlib.sha256(b"a\nb").hexdigest()),
        ("a", ["\ud800"], "IDEMPOTENCY#a#%sha256:" + hashlib.sha256(b"\xed\xa0\x80").hexdigest()),
        ("a", ["\u00e9" * 257], "IDEMPOTENCY#a#%sha256:" + hashlib.sha256(b"\xc3\xa9" * 257).hexdigest()),
    ],
)
def test_the_key_format_never_changes(operation: str, parts: list[str], pk: str) -> None:
    assert primary_key(make_key(operation, parts)) == {"pk": {"S": pk}}


@pytest.mark.parametrize(
    "parts", [[], [""], [" "], ["a", ""], ["\t\n", "a"], ["\u2003"], None, [None], [7], ["a", 7], [b"a"]]
)
def test_a_key_without_all_of_its_parts_is_refused(parts: Any) -> None:
    with pytest.raises(MissingKeyPart, match="orders"):
        make_key("orders.fulfil", parts)


def test_a_rule_that_gives_plain_text_gives_one_part() -> None:
    assert make_key("a", "order 7") == make_key("a", ["order 7"]) == Key("a", "order 7")


@pytest.mark.parametrize("operation", ["", "#", "a#b", " a", "a b", "-a", ".a", "a" * 65, "\u00e9", "a\n"])
def test_an_operation_that_cannot_be_part_of_a_key_is_refused_when_it_is_built(operation: str) -> None:
    with pytest.raises(ConfigurationError):
        keys.check_operation(operation)


@pytest.mark.parametrize("operation", ["a", "orders.fulfil", "A-1_b.c", "9", "a" * 64])
def test_an_operation_is_a_plain_name(operation: str) -> None:
    assert keys.check_operation(operation) == operation


ORDER = {
    "orderId": "o-1",
    "tenant": {"id": 7},
    "lines": [{"sku": "a"}, {"sku": "b"}],
    "a.b": "dotted",
    "flag": False,
    "zero": 0,
    "total": 19.90,
}


@pytest.mark.parametrize(
    ("rule", "parts"),
    [
        (keys.message_id(), ["m-1"]),
        (keys.event_id(), ["acct_1", "evt_1"]),
        (keys.header("Idempotency-Key"), ["k-1"]),
        (keys.field("orderId"), ["o-1"]),
        (keys.fields("tenant.id", "orderId"), ["7", "o-1"]),
        (keys.field("lines.1.sku"), ["b"]),
        (keys.field(("a.b",)), ["dotted"]),
        (keys.field(("lines", "0", "sku")), ["a"]),
        (keys.field("flag"), ["false"]),
        (keys.field("zero"), ["0"]),
        (keys.field("total"), ["19.9"]),
        (keys.intent("{tenant.id}#{orderId}#order.shipped"), ["7", "o-1", "order.shipped"]),
        (keys.intent("welcome"), ["welcome"]),
        (keys.payload_hash("orderId"), [hashlib.sha256(b'["o-1"]').hexdigest()]),
        (keys.constant("welcome"), ["welcome"]),
        (keys.all_of(keys.constant("eu"), keys.field("orderId")), ["eu", "o-1"]),
    ],
)
def test_a_rule_gives_its_parts(rule: KeyRule, parts: list[str]) -> None:
    found = rule(delivery(ORDER, event_id="evt_1", scope="acct_1", headers={"idempotency-key": "k-1", "other": "x"}))
    assert list(found) == parts


def test_the_whole_payload_can_be_the_identity_whatever_its_order() -> None:
    rule = keys.payload_hash()
    assert rule(delivery({"a": 1, "b": 2})) == rule(delivery({"b": 2.0, "a": 1}))
    assert rule(delivery({"a": 1})) != rule(delivery({"a": 2}))


def test_chosen_fields_ignore_the_others() -> None:
    rule = keys.payload_hash("customer", "lines")
    one, other = {"customer": "c", "lines": [1], "sentAt": 1}, {"customer": "c", "lines": [1], "sentAt": 2}
    assert rule(delivery(one)) == rule(delivery(other))
    assert rule(delivery(one)) != rule(delivery(one | {"lines": [2]}))


@pytest.mark.parametrize("value", [7, 7.0, Decimal("7.00"), "7"], ids=lambda value: type(value).__name__)
def test_one_number_is_one_identity_however_it_is_written(value: Any) -> None:
    assert list(keys.field("n")(delivery({"n": value}))) == ["7"]


def test_a_uuid_is_its_text() -> None:
    value = UUID("12345678-1234-5678-1234-56781234567A")
    assert list(keys.field("id")(delivery({"id": value}))) == ["12345678-1234-5678-1234-56781234567a"]


@pytest.mark.parametrize(
    "value", [None, "", " ", "\t\n", [], {}, [1], {"a": 1}, (), float("nan"), float("inf"), b"x", object()]
)
def test_a_field_that_identifies_nothing_is_refused_by_name(value: Any) -> None:
    with pytest.raises(InputRefused):
        keys.field("order.id")(delivery({"order": {"id": value}}))


@pytest.mark.parametrize(
    "payload",
    [None, {}, [], "text", 7, {"order": None}, {"order": "o"}, {"order": []}, {"order": [{"id": 1}]}, {"order": {}}],
)
def test_a_missing_field_is_refused_by_name(payload: Any) -> None:
    for rule in (
        keys.field("order.id"),
        keys.fields("order.id", "x"),
        keys.intent("{order.id}#x"),
        keys.payload_hash("order.id"),
    ):
        with pytest.raises(MissingKeyPart, match=r"order\.id"):
            rule(delivery(payload))


@pytest.mark.parametrize(
    "payload", [{"tenant": "t", "id": None}, {"tenant": None, "id": 1}, {"tenant": "t"}, {"id": 1}]
)
def test_half_a_key_is_no_key(payload: Any) -> None:
    for rule in (keys.fields("tenant", "id"), keys.payload_hash("tenant", "id"), keys.intent("{tenant}#{id}")):
        with pytest.raises(MissingKeyPart):
            rule(delivery(payload))


@pytest.mark.parametrize("rule", [keys.event_id(), keys.header("x-id")])
def test_what_the_delivery_does_not_have_is_refused(rule: KeyRule) -> None:
    with pytest.raises(MissingKeyPart):
        rule(delivery({}))


def test_an_empty_message_id_or_null_payload_identifies_nothing() -> None:
    with pytest.raises(MissingKeyPart):
        keys.message_id()(delivery({}, id=""))
    with pytest.raises(MissingKeyPart):
        keys.payload_hash()(delivery(None))


class Kind(str, Enum):  # noqa: UP042 - what people have
    WELCOME = "welcome"


class Colour(Enum):
    RED = "red"


class Null(Enum):
    NOTHING = None


class Level(IntEnum):
    HIGH = 3


@pytest.mark.parametrize(("member", "value"), [(Kind.WELCOME, "welcome"), (Colour.RED, "red"), (Level.HIGH, 3)])
def test_an_enum_member_is_its_value_in_every_rule(member: Any, value: Any) -> None:
    rules = [
        keys.field("kind"),
        keys.fields("kind", "id"),
        keys.intent("{kind}#sent"),
        keys.payload_hash("kind"),
        keys.payload_hash(),
        keys.header("kind"),
        lambda one: [one.payload["kind"]],
    ]

    def made(rule: KeyRule, kind: Any, text: Any) -> str:
        return str(keys.make_key("o", rule(delivery({"kind": kind, "id": 1}, headers={"kind": text}))))

    assert len(rules) == 7
    for rule in rules[:6]:
        assert made(rule, member, member) == made(rule, value, str(value))
    if isinstance(value, str):
        assert made(rules[6], member, member) == made(rules[6], value, value) == f"o#{value}"
        assert keys.make_key("o", member) == keys.make_key("o", value)


def test_an_enum_members_value_counts_also_where_it_is_nothing() -> None:
    class Empty(Enum):
        NONE = None
        BLANK = " "

    assert len(Empty) == 2
    for member in Empty:
        with pytest.raises(MissingKeyPart):
            keys.field("kind")(delivery({"kind": member}))


NOTHING: list[Any] = [
    None,
    "",
    " \n",
    b"",
    [],
    {},
    (),
    set(),
    [None],
    (None, None),
    {"user": None},
    {"a": [{"b": ""}], "c": ()},
    Null.NOTHING,
]
SOMETHING: list[Any] = [0, False, 0.0, "x", [0], {"a": None, "b": False}, {"a": [None, {"b": 0}]}, b"\0", Level.HIGH]


@pytest.mark.parametrize("value", NOTHING, ids=repr)
def test_a_payload_or_a_part_of_it_that_holds_nothing_identifies_nothing(value: Any) -> None:
    assert keys.is_nothing(value)
    with pytest.raises(MissingKeyPart):
        keys.payload_hash()(delivery(value))
    with pytest.raises(MissingKeyPart, match="k"):
        keys.payload_hash("k")(delivery({"k": value, "other": 1}))


@pytest.mark.parametrize("value", SOMETHING, ids=repr)
def test_zero_and_false_are_something(value: Any) -> None:
    assert not keys.is_nothing(value)
    assert keys.payload_hash()(delivery(value))
    assert keys.payload_hash("k")(delivery({"k": value}))


def test_what_is_nested_without_end_is_left_to_be_refused_when_it_is_hashed() -> None:
    endless: list[Any] = []
    endless.append(endless)
    assert not keys.is_nothing(endless)
    with pytest.raises(InputRefused):
        keys.payload_hash()(delivery(endless))


@pytest.mark.parametrize("template", ["", "#", "a##b", "{}", "{a}b", "a{b}", "{a", "a}", "{a}#", "{{a}}"])
def test_a_template_that_cannot_be_read_is_refused_when_it_is_built(template: str) -> None:
    with pytest.raises(ConfigurationError):
        keys.intent(template)


def test_fields_needs_a_field() -> None:
    with pytest.raises(ConfigurationError):
        keys.fields()


def test_list_positions_are_plain_numbers_inside_the_list() -> None:
    for path in ("lines.2.sku", "lines.-1.sku", "lines.\u0661.sku", "lines.x.sku", "lines.1e0.sku"):
        with pytest.raises(MissingKeyPart):
            keys.field(path)(delivery(ORDER))
