"""Import time and cold starts: each in a fresh interpreter, the contenders in turn.

A cold start runs from the start of the process to the handler's first answer. It is measured with the bytecode that an
earlier run left, and without any, as in a Lambda asset that has none and lies in a folder that cannot be written to. `asset` is
the same handler out of the asset that the stack deploys, whose botocore describes the services that are called and no others.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.events import ACCOUNT, orders
from benchmarks.report import Report
from benchmarks.timing import Sample, Samples, Spread, ratio

ROOT = Path(__file__).resolve().parent.parent
IMPORT_ROUNDS, COLD_ROUNDS, BYTECODE_FREE_ROUNDS = 9, 11, 5
STAGE = """
from pathlib import Path
from stacks.asset import stage_asset
print(stage_asset(Path("build/asset")).path)
"""
IMPORTS = {
    "ours": "idem",
    "ours_for_a_queue": "idem; from idem import Consumer, DynamoStore, Policy, Retention, SqsSource, keys",
    "powertools": "aws_lambda_powertools.utilities.idempotency",
    "boto3": "boto3",
    "botocore": "botocore.session",
}
FORBIDDEN = ("boto3", "botocore", "asyncio", "pydantic", "aws_cdk", "concurrent.futures")
ENVIRONMENT = ACCOUNT | {
    "AWS_LAMBDA_RUNTIME_API": "127.0.0.1:1",
    "AWS_LAMBDA_FUNCTION_NAME": "orders",
    "POWERTOOLS_SERVICE_NAME": "orders",
    "IDEMPOTENCY_TABLE": "records",
    "LEDGER_TABLE": "ledger",
    "ORDERS_QUEUE_URL": "https://sqs.us-east-1.amazonaws.com/000000000000/orders",
}
TIMED = """
import sys, time
known = set(sys.modules)
wall, cpu = time.perf_counter(), time.process_time()
import {module}
wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
new = sorted(set(sys.modules) - known)
import json
print(json.dumps({{"wall": wall, "cpu": cpu, "modules": len(new), "names": [n for n in new if n in {names!r}]}}))
"""


def run(report: Report) -> None:
    """Ratios of import time and of cold starts, with modules and peak memory beside them."""
    report.progress("import time, in fresh interpreters")
    imports = _turns({name: partial(_import, module) for name, module in IMPORTS.items()}, IMPORT_ROUNDS)
    samples = _samples(imports)
    report.ratio("import_ours_over_powertools", ratio(samples, "ours", "powertools", "cpu"))
    report.ratio("import_for_a_queue_ours_over_powertools", ratio(samples, "ours_for_a_queue", "powertools", "cpu"))
    report.ratio("import_ours_over_powertools_wall", ratio(samples, "ours", "powertools", "wall"))
    for name, found in imports.items():
        report.figure("import_modules", name, found[-1]["modules"])
    for name in ("ours", "ours_for_a_queue"):
        report.figure("import_forbidden", name, imports[name][-1]["names"])
    report.progress("staging the Lambda asset")
    asset = _staged()
    report.progress("cold starts, in fresh interpreters")
    _cold(report, "cold_start", COLD_ROUNDS, asset, bytecode=True)
    report.progress("cold starts without bytecode")
    _cold(report, "cold_start_without_bytecode", BYTECODE_FREE_ROUNDS, asset, bytecode=False)


def _cold(report: Report, name: str, rounds: int, asset: Path, *, bytecode: bool) -> None:
    contenders = {who: partial(start, who, bytecode=bytecode) for who in ("ours", "powertools")}
    found = _turns(contenders | {"asset": partial(start, "ours", bytecode=bytecode, asset=asset)}, rounds)
    samples = _samples(found)
    for who in ("ours", "asset"):
        report.ratio(f"{name}_{who}_over_powertools", ratio(samples, who, "powertools", "cpu"))
        report.ratio(f"{name}_{who}_over_powertools_wall", ratio(samples, who, "powertools", "wall"))
    memory = zip(found["ours"], found["powertools"], strict=True)
    spread = Spread.of([ours["memory_kb"] / powertools["memory_kb"] for ours, powertools in memory])
    report.ratio(f"{name}_memory_ours_over_powertools", spread)
    for who, figures in found.items():
        report.figure(f"{name}_modules", who, figures[-1]["modules"])


def _staged() -> Path:
    """The folder that the stack would deploy, made by the environment that packages it."""
    python = str(ROOT / ".venv" / "bin" / "python")
    done = subprocess.run([python, "-c", STAGE], cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S603 - ours
    return ROOT / done.stdout.splitlines()[-1]


def start(who: str, *, bytecode: bool = True, asset: Path | None = None) -> dict[str, Any]:
    """One cold start of a handler: CPU seconds of its process, and wall seconds until its answer is read."""
    event = json.dumps(orders([1001]))
    with tempfile.TemporaryDirectory() as empty:
        more = {} if bytecode else {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPYCACHEPREFIX": empty}
        if asset is not None:
            more["PYTHONPATH"] = f"{asset}{os.pathsep}{ROOT}"
        began = time.monotonic()  # one clock for all processes of a machine
        answer = _child(["-P", "-m", "benchmarks.cold", who], ENVIRONMENT | more, event)
        return answer | {"wall": answer["answered"] - began}


def _import(module: str) -> dict[str, Any]:
    return _child(["-c", TIMED.format(module=module, names=FORBIDDEN)], ACCOUNT, "")


def _child(arguments: list[str], environment: Mapping[str, str], given: str) -> dict[str, Any]:
    """Run Python in the same environment of packages; the last line that it prints is JSON."""
    inherited = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    done = subprocess.run(  # noqa: S603 - this interpreter, with code of ours
        [sys.executable, *arguments],
        env=inherited | {"PYTHONPATH": str(ROOT)} | dict(environment),
        cwd=ROOT,
        input=given,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(arguments[:2])} ended with {done.returncode}:\n{done.stderr}")
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def _turns(contenders: Mapping[str, Callable[[], dict[str, Any]]], rounds: int) -> dict[str, list[dict[str, Any]]]:
    """Each contender once in each round, in an order that rotates; the first round, which fills caches, is not kept."""
    names = list(contenders)
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    for round_ in range(-1, rounds):
        turn = round_ % len(names)
        for name in names[turn:] + names[:turn]:
            one = contenders[name]()
            if round_ >= 0:
                found[name].append(one)
    return found


def _samples(found: Mapping[str, list[dict[str, Any]]]) -> Samples:
    return {name: [Sample(one["wall"], one["cpu"]) for one in figures] for name, figures in found.items()}
