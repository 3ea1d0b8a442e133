"""What differs between deployments, as one value."""

from __future__ import annotations

import re
from dataclasses import dataclass

from idem.cdk import Front, StackError

NAMES = re.compile(r"(sandbox|dev|prod)(-[a-z0-9]{1,20})?")


class StageError(StackError):
    """The `stage` context names no known stage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableName:
    """A table of records that is there already. `sort_key`: its primary key is `pk` and `sk`."""

    name: str
    sort_key: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One deployment of the stack.

    `keeps_data` protects tables, queues, secret and logs from deletion. `with_faults` ships `sandbox.faults`, whose
    handlers are the real consumers with a work that can be told to die. `with_console` adds what people look at in
    CloudWatch: the dashboard and the saved queries. `records`: use this table instead of making one. `enqueues`: the
    payments' receiver puts events on a queue, and `credits_handler` works on them behind it.
    """

    name: str
    keeps_data: bool
    with_faults: bool
    with_console: bool
    orders_handler: str
    payments_handler: str
    orders_timeout_seconds: int
    payments_timeout_seconds: int
    orders_batch_window_seconds: int
    orders_concurrency_max: int | None
    log_retention_days: int
    log_level: str = "INFO"
    tracing: bool = False
    records: TableName | None = None
    front: Front = Front.FUNCTION_URL
    enqueues: bool = False
    receiver_handler: str = "handlers.payments_receiver.handler"
    credits_handler: str = "handlers.payments_enqueued.handler"

    @classmethod
    def sandbox(cls, name: str = "sandbox") -> Stage:
        """The local account. Time-outs are short so that a crash's redelivery comes after 18 s, not after minutes.

        It has no console to look at, and MiniStack refuses saved queries.
        """
        return cls(
            name=name,
            keeps_data=False,
            with_faults=True,
            with_console=False,
            orders_handler="sandbox.faults.orders",
            payments_handler="sandbox.faults.payments",
            orders_timeout_seconds=3,
            payments_timeout_seconds=3,
            orders_batch_window_seconds=0,
            orders_concurrency_max=None,
            log_retention_days=1,
        )

    @classmethod
    def development(cls, name: str = "dev") -> Stage:
        """An AWS account where everything may go again."""
        return _deployed(name, keeps_data=False, log_retention_days=7)

    @classmethod
    def production(cls, name: str = "prod") -> Stage:
        """An AWS account where nothing may get lost."""
        return _deployed(name, keeps_data=True, log_retention_days=90)

    @classmethod
    def named(cls, name: str) -> Stage:
        """The stage for `-c stage=NAME`: sandbox, dev or prod, or one of these with a suffix (`dev-ada`).

        Raises StageError for any other name.
        """
        match = NAMES.fullmatch(name)
        if match is None:
            raise StageError(
                f"there is no stage {name!r}: use sandbox, dev or prod, if need be with a suffix of lower-case"
                " letters and digits (dev-ada)"
            )
        kinds = {"sandbox": cls.sandbox, "dev": cls.development, "prod": cls.production}
        return kinds[match[1]](name)


def _deployed(name: str, *, keeps_data: bool, log_retention_days: int) -> Stage:
    return Stage(
        name=name,
        keeps_data=keeps_data,
        with_faults=False,
        with_console=True,
        orders_handler="handlers.orders.handler",
        payments_handler="handlers.payments.handler",
        orders_timeout_seconds=30,
        payments_timeout_seconds=10,
        orders_batch_window_seconds=1,
        # A backlog of orders must leave most of an account's 1,000 concurrent invocations to the payments.
        orders_concurrency_max=50,
        log_retention_days=log_retention_days,
    )
