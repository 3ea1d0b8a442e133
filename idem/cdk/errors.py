"""What can be wrong with a deployment before AWS sees it.

    StackError (a ValueError)
    ├── LimitError      a prop breaks a limit of AWS, or one that keeps this pattern safe
    ├── GuaranteeError  it would deploy, and then do some work twice
    └── PackagingError  the Lambda asset cannot be made from what is installed

Each message names the thing and the remedy, so an app can print the message alone:
`except StackError as error: sys.exit(str(error))`.
"""

from __future__ import annotations


class StackError(ValueError):
    """The deployment as described cannot work."""


class LimitError(StackError):
    """A prop is outside its limits."""

    def __init__(self, construct: str, prop: str, problem: str) -> None:
        super().__init__(f"{construct}: {prop} {problem}")
        self.prop = prop


class GuaranteeError(StackError):
    """What is asked for takes away the guarantee, and nobody has said that this is known."""

    def __init__(self, construct: str, reason: str, remedy: str) -> None:
        super().__init__(f"{construct}: {reason}. {remedy}")


class PackagingError(StackError):
    """The Lambda asset cannot be made."""


def require_between(construct: str, prop: str, value: int, limits: tuple[int, int], why: str) -> None:
    """Raise LimitError unless `value` is within `limits`, both included; `why` says where they come from."""
    low, high = limits
    if not low <= value <= high:
        raise LimitError(construct, prop, f"is {value}; set it from {low} to {high}: {why}")
