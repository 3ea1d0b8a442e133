"""What only the store in memory has: a test can look at what it keeps, and say which of the caller's writes it refuses."""

from __future__ import annotations

import pytest

from idem import MemoryStore, Put
from idem.errors import WriteRefused
from idem.record import Succeeded
from tests.idem.builders import KEY, RESULT, request
from tests.idem.clocks import TestClock

FINE, BAD = Put("orders", {"orderId": {"S": "o-1"}}), Put("orders", {"orderId": {"S": "o-2"}})


def test_a_write_that_the_test_refuses_is_named_and_leaves_neither_record_nor_write(clock: TestClock) -> None:
    store = MemoryStore(clock, refuse=lambda write: write is BAD)
    with pytest.raises(WriteRefused) as refused:
        store.guard(request(), RESULT, [FINE, BAD])
    assert refused.value.index == 1
    assert (store.records, store.written) == ({}, [])


def test_what_was_written_is_kept_in_order_and_once(clock: TestClock) -> None:
    store = MemoryStore(clock)
    first = store.guard(request(), RESULT, [BAD, FINE])
    assert isinstance(first, Succeeded)
    assert store.guard(request("theirs"), RESULT, [FINE]) == first
    assert store.written == [BAD, FINE]
    assert store.records == {KEY: first.record}


def test_two_stores_share_nothing(clock: TestClock) -> None:
    one, other = MemoryStore(clock), MemoryStore(clock)
    one.guard(request(), RESULT, [FINE])
    assert (other.records, other.written, other.get(KEY)) == ({}, [], None)
