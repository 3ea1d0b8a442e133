"""What is refused: one type to catch, and a message that names the thing and the limits."""

from __future__ import annotations

import pytest

from idem.cdk import GuaranteeError, LimitError, PackagingError, StackError
from idem.cdk.errors import require_between


@pytest.mark.parametrize("kind", [GuaranteeError, LimitError, PackagingError])
def test_whatever_is_refused_is_a_stack_error_and_a_wrong_value(kind: type[Exception]) -> None:
    assert issubclass(kind, StackError)
    assert issubclass(kind, ValueError)


@pytest.mark.parametrize("value", [1, 2, 3])
def test_limits_include_both_ends(value: int) -> None:
    require_between("Theirs/Parcels", "batch_size", value, (1, 3), "Lambda's limits")


@pytest.mark.parametrize("value", [0, 4])
def test_a_value_outside_is_refused_with_construct_prop_limits_and_reason(value: int) -> None:
    message = rf"^Theirs/Parcels: batch_size is {value}; set it from 1 to 3: Lambda's limits$"
    with pytest.raises(LimitError, match=message) as caught:
        require_between("Theirs/Parcels", "batch_size", value, (1, 3), "Lambda's limits")
    assert caught.value.prop == "batch_size"
