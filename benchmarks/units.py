"""Item sizes and capacity units by DynamoDB's published rules.

A write costs one unit for each started KB of the larger of the item before and after, also when its condition fails, and twice
that in a transaction. A strongly consistent read costs one unit for each started 4 KB.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

WRITE_BYTES = 1024
READ_BYTES = 4096


def write_units(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> int:
    """The units of one write outside of a transaction."""
    return max(1, -(-max(item_bytes(before), item_bytes(after)) // WRITE_BYTES))


def read_units(item: Mapping[str, Any] | None) -> int:
    """The units of one strongly consistent read."""
    return max(1, -(-item_bytes(item) // READ_BYTES))


def item_bytes(item: Mapping[str, Any] | None) -> int:
    """The size by which an item is billed."""
    return sum(len(name.encode()) + value_bytes(value) for name, value in (item or {}).items())


def value_bytes(value: Mapping[str, Any]) -> int:
    """The size of one attribute value in the low-level form."""
    ((kind, content),) = value.items()
    match kind:
        case "S":
            return len(content.encode())
        case "N":
            return len(content.strip("-").replace(".", "").strip("0")) // 2 + 2
        case "B":
            return len(content) * 3 // 4
        case "M":
            return 3 + item_bytes(content) + len(content)
        case "L":
            return 3 + sum(1 + value_bytes(one) for one in content)
        case _:
            return 1
