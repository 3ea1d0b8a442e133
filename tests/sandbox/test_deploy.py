import sys
import time
from pathlib import Path

import pytest

from sandbox.deploy import STACK, DeployError, Outputs, read_outputs
from sandbox.process import ProcessGroup

WRITTEN = {
    "IdempotencyTableName": "records",
    "LedgerTableName": "ledger",
    "OrdersQueueUrl": "http://queue",
    "OrdersDlqUrl": "http://dlq",
    "OrdersFunctionName": "orders",
    "PaymentsUrl": "http://payments",
    "PaymentsFunctionName": "payments",
    "PaymentsSecretArn": "arn",
}


def test_outputs_are_read_by_name_and_others_are_passed_over() -> None:
    outputs = read_outputs({STACK: WRITTEN | {"Another": "x"}})
    assert outputs == Outputs(
        idempotency_table_name="records",
        ledger_table_name="ledger",
        orders_queue_url="http://queue",
        orders_dlq_url="http://dlq",
        orders_function_name="orders",
        payments_url="http://payments",
        payments_function_name="payments",
        payments_secret_arn="arn",
    )


def test_missing_output_is_named() -> None:
    short = {name: value for name, value in WRITTEN.items() if name != "PaymentsUrl"}
    with pytest.raises(DeployError, match="no output PaymentsUrl"):
        read_outputs({STACK: short})


def test_stopping_a_process_stops_what_it_started(tmp_path: Path) -> None:
    log = tmp_path / "log"
    script = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; print(1, flush=True); time.sleep(60)'])"
    child = ProcessGroup([sys.executable, "-c", script], cwd=tmp_path, env={}, log=log)
    try:
        deadline = time.monotonic() + 10
        while not log.read_text(encoding="utf-8") and time.monotonic() < deadline:
            time.sleep(0.02)
        assert child.tail() == "1"
    finally:
        child.stop()
    assert not child.running


def test_a_process_that_has_not_ended_has_no_status(tmp_path: Path) -> None:
    child = ProcessGroup(["sleep", "60"], cwd=tmp_path, env={"PATH": "/bin:/usr/bin"}, log=tmp_path / "log")
    try:
        assert child.ended(within_seconds=0.1) is None
    finally:
        child.stop()
