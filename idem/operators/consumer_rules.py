"""Which rules a consumer has, taken from its code: its operation, how its keys are made, and its policy."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from idem import keys
from idem.canonical import request_hash
from idem.consumer import Consumer
from idem.delivery import Delivery
from idem.errors import ConfigurationError, InputRefused
from idem.keys import KeyRule, check_operation, make_key
from idem.operators.operator_errors import Exit, OperatorError
from idem.operators.record_text import DEFAULT_POLICY
from idem.policy import Policy
from idem.record import Key

EXPECTED = (
    "Name a module with OPERATION and KEY (and POLICY), such as shop.orders, or module:name of a Consumer or of a"
    " function that builds one."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What is needed to read a consumer's records. check: what of the payload must be equal whenever the key is."""

    operation: str
    key: KeyRule
    policy: Policy = DEFAULT_POLICY
    check: Callable[[Delivery], object] | None = None

    def key_of(self, delivery: Delivery) -> Key:
        """The key of a delivery. Raises OperatorError with the part that is missing."""
        try:
            return make_key(self.operation, self.key(delivery))
        except InputRefused as error:
            raise OperatorError(f"This sample has no key: {error}.", status=Exit.NO) from error

    def hash_of(self, delivery: Delivery) -> str | None:
        return request_hash(self.check(delivery)) if self.check else None


def load(name: str) -> Rules:
    """The rules of a consumer, from `module` or `module:name`. Raises OperatorError."""
    module_name, _, attribute = name.partition(":")
    module = _import(module_name)
    if not attribute:
        if hasattr(module, "OPERATION") and hasattr(module, "KEY"):
            policy = getattr(module, "POLICY", DEFAULT_POLICY)
            return Rules(
                operation=module.OPERATION, key=module.KEY, policy=policy, check=getattr(module, "CHECK", None)
            )
        consumers = [one for one in vars(module).values() if isinstance(one, Consumer)]
        if len(consumers) != 1:
            raise OperatorError(f"{module_name} has {len(consumers)} consumers.", EXPECTED, Exit.USAGE)
        return _of(consumers[0])
    found = getattr(module, attribute, None)
    if not isinstance(found, Consumer) and callable(found):
        found = _build(name, found)
    if not isinstance(found, Consumer):
        raise OperatorError(f"{name} is not a Consumer.", EXPECTED, Exit.USAGE)
    return _of(found)


def written(operation: str, *, by: str | None, fields: list[str], intent: str | None, header: str | None) -> Rules:
    """The rules that are written on the command line. Raises OperatorError unless they are exactly one key rule."""
    simple = {
        "message-id": keys.message_id,
        "event-id": keys.event_id,
        "deduplication-id": keys.deduplication_id,
        "payload-hash": keys.payload_hash,
    }
    if by is not None and by not in simple:
        raise OperatorError(f"There is no key rule {by!r}.", f"--by takes {', '.join(simple)}.", Exit.USAGE)
    try:
        rules = [
            *([simple[by]()] if by else []),
            *([keys.fields(*fields)] if fields else []),
            *([keys.intent(intent)] if intent else []),
            *([keys.header(header)] if header else []),
        ]
        check_operation(operation)
    except ConfigurationError as error:
        raise OperatorError(f"{error}.", status=Exit.USAGE) from error
    if len(rules) != 1:
        raise OperatorError(
            "How is the key made?",
            "Pass --consumer, or --operation with one of --field (several are allowed), --intent, --header, --by.",
            Exit.USAGE,
        )
    return Rules(operation=operation, key=rules[0])


def _of(consumer: Consumer) -> Rules:
    return Rules(operation=consumer.operation, key=consumer.key, policy=consumer.policy, check=consumer.check)


def _import(name: str) -> ModuleType:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except Exception as error:
        raise OperatorError(f"{name} could not be imported: {error!r}.", EXPECTED, Exit.USAGE) from error


def _build(name: str, build: Callable[[], object]) -> object:
    try:
        return build()
    except Exception as error:
        raise OperatorError(
            f"{name} could not be built: {error}.",
            "Set the environment that it reads, or name a module with OPERATION and KEY.",
            Exit.USAGE,
        ) from error
