"""A connection to a stack of this project, which knows its parts by the names of the stack's outputs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from idem.operators import delivering
from idem.operators.connection import Connection
from idem.operators.delivering import Target
from idem.operators.operator_errors import Exit, OperatorError
from sandbox.isolation import blind_session

TABLE, LEDGER = "IdempotencyTableName", "LedgerTableName"
ORDERS_QUEUE, CREDITS_QUEUE = "OrdersQueueUrl", "CreditsQueueUrl"
ORDERS_FUNCTION = "OrdersFunctionName"
PAYMENTS_URL, PAYMENTS_SECRET = "PaymentsUrl", "PaymentsSecretArn"


@dataclass(frozen=True)
class StackConnection(Connection):
    """An operator's connection whose table is the one that the stack names. Without a stack it has no outputs."""

    @cached_property
    def outputs(self) -> dict[str, str]:
        """The stack's outputs by name."""
        if not self.stack:
            return {}
        stacks = self.client("cloudformation").describe_stacks(StackName=self.stack)["Stacks"]
        return {one["OutputKey"]: one["OutputValue"] for one in stacks[0].get("Outputs", ())}

    @cached_property
    def table(self) -> str:
        """The table's name, as given or from the stack's outputs. Raises OperatorError."""
        return self.table_name or self.output(TABLE)

    def output(self, name: str) -> str:
        """One output of the stack. Raises OperatorError that names those there are."""
        if name not in self.outputs:
            there = ", ".join(sorted(self.outputs)) or "none"
            raise OperatorError(f"The stack {self.stack} has no output {name}.", f"It has: {there}.", Exit.USAGE)
        return self.outputs[name]

    def orders(self) -> Target:
        """The queue of orders."""
        return delivering.queue(self, self.output(ORDERS_QUEUE))

    def payments(self, *, tamper: bool = False) -> Target:
        """The webhook of payments, signed with the stack's own secret."""
        secrets = delivering.secrets_of(self, self.output(PAYMENTS_SECRET))
        return delivering.webhook(self, self.output(PAYMENTS_URL), provider="stripe", secrets=secrets, tamper=tamper)


@dataclass(frozen=True)
class LocalConnection(StackConnection):
    """The same in the local account, blind to the caller's AWS set-up."""

    @cached_property
    def session(self) -> Any:
        return blind_session()
