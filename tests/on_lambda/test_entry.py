"""The handler: built once, observed at each invocation, and started on Lambda in the init phase."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from idem import Consumer, MemoryStore, Policy, Retention, SqsSource, keys
from idem.on_lambda import Observer, lambda_handler, observer_of
from idem.testing import ManualClock, sqs_event

OPERATION = "parcels.ship"


class Builder:
    """Builds a consumer in memory, and counts how often it was asked to."""

    def __init__(self) -> None:
        self.built = 0

    def __call__(self) -> Consumer:
        self.built += 1
        clock = ManualClock()
        return Consumer(
            operation=OPERATION,
            source=SqsSource(),
            key=keys.field("parcelId"),
            work=lambda _delivery, _claim: {"shipped": True},
            policy=Policy(retention=Retention.QUEUE),
            store=MemoryStore(clock),
            observe=observer_of(OPERATION),
            clock=clock,
        )


def metrics(printed: str) -> dict[str, list[float]]:
    """What the metrics lines on standard output count."""
    blobs = [json.loads(line) for line in printed.splitlines() if '"_aws"' in line]
    return {name: value for blob in blobs for name, value in blob.items() if isinstance(value, list)}


def test_a_consumer_is_built_once_at_its_first_event_and_its_store_is_measured(
    capsys: pytest.CaptureFixture[str],
) -> None:
    observer_of.cache_clear()
    build = Builder()
    handler = lambda_handler(build)
    assert build.built == 0
    counted = []
    for _ in range(2):
        assert handler(sqs_event({"parcelId": "7"}), None) == {"batchItemFailures": []}
        counted.append(metrics(capsys.readouterr().out))
    assert build.built == 1
    first, second = counted
    assert (first["Claims"], first["FirstRuns"], len(first["ClaimTime"])) == ([1.0], [1.0], 1)
    assert second["Replays"] == [1.0]
    assert "Claims" not in second


def test_an_observer_of_the_consumers_own_counts_the_invocation(capsys: pytest.CaptureFixture[str]) -> None:
    made = replace(Builder()(), observe=Observer(OPERATION, mask=str.upper))
    assert lambda_handler(lambda: made)(sqs_event({"parcelId": "7"}), None) == {"batchItemFailures": []}
    assert metrics(capsys.readouterr().out)["FirstRuns"] == [1.0]


PROGRAM = """
import gc, json, sys
sys.path.insert(0, {folder!r})
usual = gc.get_threshold()
import idem.on_lambda
starting = gc.get_threshold()
import shop.orders
print(json.dumps([usual, starting, gc.get_threshold(), gc.get_freeze_count() > 0, shop.orders.built]))
"""
SHOP = """
from idem.on_lambda import lambda_handler
built = []
def build():
    built.append("once")
    return lambda event, context: None
handler = lambda_handler(build)
"""


@pytest.mark.parametrize(
    ("environment", "slow", "built"),
    [
        ({"AWS_LAMBDA_RUNTIME_API": "127.0.0.1:1", "_HANDLER": "shop.orders.handler"}, True, ["once"]),
        ({"AWS_LAMBDA_RUNTIME_API": "127.0.0.1:1", "_HANDLER": "shop/orders.handler"}, True, ["once"]),
        ({"AWS_LAMBDA_RUNTIME_API": "127.0.0.1:1", "_HANDLER": "shop.another.handler"}, True, []),
        ({}, False, []),
    ],
    ids=["on-lambda", "on-lambda-by-path", "imported-by-another-function", "elsewhere"],
)
def test_on_lambda_all_is_built_at_import_with_a_slow_collector_that_is_set_right_then(
    tmp_path: Path, environment: dict[str, str], built: list[str], *, slow: bool
) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "__init__.py").touch()
    (tmp_path / "shop" / "orders.py").write_text(SHOP)
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(folder=str(tmp_path))],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    usual, starting, then, frozen, made = json.loads(run.stdout)
    assert (starting[0] > 100 * usual[0]) is slow
    assert made == built
    assert (then == usual) is (bool(built) or not slow)
    assert frozen is bool(built)
