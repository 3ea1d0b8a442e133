"""The deployed stack as a whole: its own marked events, delivered again and again, and what they did.

It sends what a producer and a provider would send, under ids that nobody else uses, and looks at the effects in the
ledger and at the records. Then it removes its rows. It works on any stack of this project, in a real account as in a
local one; its caller needs what a producer needs, to invoke the orders function, to read the signing secret, and to
read and delete in both tables.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from idem.clock import new_token
from idem.dynamo.schema import PARTITION_KEY, SORT_KEY, TTL_ATTRIBUTE, primary_key
from idem.keys import make_key
from idem.operators import delivering
from idem.operators.delivering import Sent
from idem.operators.samples import SampleMessage
from idem.operators.table_checks import Checked
from idem.record import Key, Status
from idem.testing import sqs_event
from sandbox.stack_connection import (
    CREDITS_QUEUE,
    LEDGER,
    ORDERS_FUNCTION,
    ORDERS_QUEUE,
    PAYMENTS_URL,
    TABLE,
    StackConnection,
)

WAIT_SECONDS = 60.0  # a queue's poller, a batch window and a cold start take a few; a held message comes back later
POLL_SECONDS = 0.3
AT_ONCE = 5
LATE_SECONDS = 3600  # how long a record stays if its queue may still hold a copy of its message


@dataclass(frozen=True, slots=True, kw_only=True)
class Marked:
    """One piece of work of this run: what is sent, the row it makes and the key it has."""

    body: Any
    subject: str
    key: Key

    @property
    def message(self) -> SampleMessage:
        return SampleMessage(body=json.dumps(self.body).encode(), headers={})


def order(run: str, number: int) -> Marked:
    """An order that nobody else sends."""
    order_id = f"smoke-{run}-{number}"
    body = {"orderId": order_id, "lines": [{"sku": "smoke", "quantity": 1, "unitPrice": 1}]}
    return Marked(body=body, subject=f"ORDER#{order_id}", key=make_key("orders.fulfil", [order_id]))


def payment(run: str, number: int) -> Marked:
    """A completed checkout that nobody else posts."""
    event_id, session = f"evt_smoke_{run}_{number}", f"cs_smoke_{run}_{number}"
    bought = {
        "id": session,
        "object": "checkout.session",
        "payment_status": "paid",
        "amount_total": 1,
        "currency": "eur",
        "livemode": False,
    }
    body = {"id": event_id, "object": "event", "type": "checkout.session.completed", "data": {"object": bought}}
    return Marked(body=body, subject=f"PAYMENT#{session}", key=make_key("payments.credit", [event_id]))


@dataclass(slots=True)
class StackChecks:
    """The checks of one run. `made` is what has to be removed."""

    connection: StackConnection
    wait_seconds: float = WAIT_SECONDS
    run: str = field(default_factory=lambda: new_token()[:8])
    made: list[Marked] = field(default_factory=list)

    def check(self) -> Generator[Checked, None, None]:
        """Every check, also after one failed; then nothing of it is left. Raises OperatorError without the outputs."""
        for name in (TABLE, LEDGER, ORDERS_QUEUE, ORDERS_FUNCTION, PAYMENTS_URL):
            self.connection.output(name)
        first = (
            "is answered with 200 and credited once" if self._enqueues else "gets the first answer, marked as a replay"
        )
        checks: list[tuple[str, Callable[[], str]]] = [
            ("an order that is sent three times, as three messages, is fulfilled once", self._repeated_order),
            ("the same SQS event, invoked twice more, is acknowledged and does nothing", self._redelivered_event),
            (f"a webhook that is posted again {first}", self._repeated_payment),
            (f"a webhook that is posted {AT_ONCE} times at once is credited once", self._racing_payment),
            ("a webhook whose body was changed after it was signed is refused, and leaves no record", self._tampered),
        ]
        try:
            for says, one in checks:
                yield Checked(says, one())
        finally:
            left = self.clean()
        yield Checked("every row of this check is removed again", left)

    # --- the checks: each returns what is wrong ---

    def _repeated_order(self) -> str:
        made = self._new(order(self.run, 1))
        send = self.connection.orders()
        delivering.repeat(send, [made.message], times=3, concurrently=True)
        return self._settled(made)

    def _redelivered_event(self) -> str:
        made = order(self.run, 1)
        event = json.dumps(sqs_event(made.body)).encode()
        client, name = self.connection.client("lambda"), self.connection.output(ORDERS_FUNCTION)
        for _ in range(2):
            answer = client.invoke(FunctionName=name, Payload=event)
            said = answer["Payload"].read().decode("utf-8", "replace")
            if answer.get("FunctionError") or json.loads(said) != {"batchItemFailures": []}:
                return f"the function answered {said[:200]}"
        return self._wrong(made)

    def _repeated_payment(self) -> str:
        made = self._new(payment(self.run, 1))
        first, second = delivering.repeat(self._post(), [made.message], times=2, concurrently=False)
        if (first.status, second.status) != (HTTPStatus.OK, HTTPStatus.OK):
            return f"answered {_shown(first)}, then {_shown(second)}"
        if self._enqueues:
            return self._settled(made)
        if wrong := self._wrong(made):
            return f"{wrong}; answered {_shown(first)}"
        return "" if second.replayed and not first.replayed else "the second answer is not marked as a replay"

    def _racing_payment(self) -> str:
        made = self._new(payment(self.run, 2))
        answers = delivering.repeat(self._post(), [made.message], times=AT_ONCE, concurrently=True)
        first_runs = Counter(one.replayed for one in answers if one.status == HTTPStatus.OK)[False]
        if first_runs > 1 and not self._enqueues:
            return f"{first_runs} of the answers claim to be the first"
        # Whoever was held, or met a function that was still starting, comes again, as a provider would.
        return self._until(lambda: self._refused(made)) or self._settled(made)

    def _refused(self, made: Marked) -> str:
        """What one more delivery is told, if that is not 200."""
        answer = self._post()(made.message)
        return "" if answer.status == HTTPStatus.OK else f"answered {_shown(answer)}"

    def _tampered(self) -> str:
        made = self._new(payment(self.run, 3))
        answer = self._post(tamper=True)(made.message)
        if answer.status != HTTPStatus.BAD_REQUEST:
            return f"answered {_shown(answer)}"
        found = self.connection.store().get(made.key)
        return "a record was written" if found or self._rows(made) else ""

    def _new(self, made: Marked) -> Marked:
        self.made.append(made)
        return made

    def _post(self, *, tamper: bool = False) -> delivering.Target:
        return self.connection.payments(tamper=tamper)

    # --- what is there ---

    def _wrong(self, made: Marked) -> str:
        """What is not as it must be after the work was done: one effect, and a record that says so."""
        effects, record = len(self._rows(made)), self.connection.store().get(made.key)
        if effects != 1:
            return f"{made.subject} has {effects} effects in the ledger, not 1"
        if record is None or record.status is not Status.SUCCEEDED:
            return f"the record of {made.key} is {record.status if record else 'absent'}, not succeeded"
        return ""

    def _rows(self, made: Marked) -> list[dict[str, Any]]:
        answer = self.connection.dynamodb.query(
            TableName=self.connection.output(LEDGER),
            KeyConditionExpression="#pk = :subject",
            ExpressionAttributeNames={"#pk": PARTITION_KEY},
            ExpressionAttributeValues={":subject": {"S": made.subject}},
            ConsistentRead=True,
        )
        return list(answer["Items"])

    @property
    def _enqueues(self) -> bool:
        """Whether the webhook's receiver puts events on a queue, and another function works on them."""
        return CREDITS_QUEUE in self.connection.outputs

    def _queue_holds(self) -> str:
        """How many messages the queues still hold, visible, in flight or delayed; empty for none."""
        client, outputs = self.connection.client("sqs"), self.connection.outputs
        kinds = ("", "NotVisible", "Delayed")
        waiting = 0
        for name in (name for name in (ORDERS_QUEUE, CREDITS_QUEUE) if name in outputs):
            found = client.get_queue_attributes(QueueUrl=outputs[name], AttributeNames=["All"])["Attributes"]
            waiting += sum(int(found.get(f"ApproximateNumberOfMessages{kind}", 0)) for kind in kinds)
        return f"the queue still holds {waiting} messages" if waiting else ""

    def _settled(self, made: Marked) -> str:
        """What is wrong once the work is done and every copy of its message is gone."""
        return self._until(lambda: self._wrong(made)) or self._until(self._queue_holds) or self._wrong(made)

    def _until(self, wrong: Callable[[], str]) -> str:
        """What `wrong` says once it says nothing, or when the time is over."""
        deadline = time.monotonic() + self.wait_seconds
        while (said := wrong()) and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
        return said

    # --- afterwards ---

    def clean(self) -> str:
        """Remove the rows. While the queue holds messages, records are left to expire: a late copy must find them."""
        dynamodb, sort_value = self.connection.dynamodb, self.connection.sort_value
        late = self._queue_holds()
        for made in self.made:
            for row in self._rows(made):
                key = {name: row[name] for name in (PARTITION_KEY, SORT_KEY)}
                dynamodb.delete_item(TableName=self.connection.output(LEDGER), Key=key)
            where = {"TableName": self.connection.table, "Key": primary_key(made.key, sort_value)}
            if late and self.connection.store().get(made.key):
                dynamodb.update_item(
                    **where,
                    UpdateExpression="SET #ttl = :soon",
                    ExpressionAttributeNames={"#ttl": TTL_ATTRIBUTE},
                    ExpressionAttributeValues={":soon": {"N": str(int(time.time()) + LATE_SECONDS)}},
                )
            else:
                dynamodb.delete_item(**where)
        remaining = [made.subject for made in self.made if self._rows(made)]
        if remaining:
            return f"{', '.join(remaining)} came back while it was removed"
        return f"{late}, so the records stay for an hour: a late copy of a message must find them" if late else ""


def _shown(sent: Sent) -> str:
    return f"{sent.status} {sent.said[:200]}"
