"""Deploy the stack to a local account with the CDK's own command line, as a user would to a real one.

`cdk synth` needs no account, so it runs beside `cdk bootstrap`. Most of the time goes into starting Node and jsii.
"""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from sandbox import folders
from sandbox.account import ACCOUNT_ID, REGION, ROOT, LocalAccount
from sandbox.process import ProcessGroup

STACK = "Idem-sandbox"
STEP_SECONDS = 180.0
"""How long one CDK command may take. On two cores the longest takes 10 s."""

ROOM_BYTES_MIN = 16 * 1024**2
"""With less than this left on its disk the engine answers errors, which the CDK tries again for minutes."""

LOOK_SECONDS = 0.5
"""How often it is looked whether there is room."""

CDK_QUIET = {
    "CDK_DISABLE_VERSION_CHECK": "1",
    "CDK_DISABLE_CLI_TELEMETRY": "true",
    "JSII_SILENCE_WARNING_UNTESTED_NODE_VERSION": "1",
}

Report = Callable[[str], None]


class DeployError(Exception):
    """The stack could not be deployed; the message carries the command and the end of its output."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """What the deployed stack says about itself: CloudFormation outputs under the same names in snake case."""

    idempotency_table_name: str
    ledger_table_name: str
    orders_queue_url: str
    orders_dlq_url: str
    orders_function_name: str
    payments_url: str
    payments_function_name: str
    payments_secret_arn: str


@dataclass(frozen=True, slots=True)
class Command:
    """One CDK command: the name of its log, its arguments and the folder it runs in."""

    name: str
    arguments: tuple[str, ...]
    folder: Path


def deploy(
    account: LocalAccount, *, app: Path = ROOT, context: Mapping[str, str] | None = None, report: Report = print
) -> Outputs:
    """Bootstrap the account, deploy the stack of the CDK app in folder `app`, return its outputs.

    `context` is further context for the app, as `-c name=value`. A second time it updates the stack.
    Raises `DeployError` when a CDK command fails or hangs, or when an output is missing.
    """
    began = time.monotonic()
    assembly, outputs = account.folder / "cdk.out", account.folder / "outputs.json"
    asked = [f"{name}={value}" for name, value in {"stage": "sandbox", **(context or {})}.items()]
    flags = tuple(word for pair in asked for word in ("-c", pair))
    report("preparing the account and synthesising the stack ...")
    _run(
        account,
        # Not in the app's folder: there the CDK would run the whole app first, to no use.
        Command("bootstrap", ("bootstrap", f"aws://{ACCOUNT_ID}/{REGION}"), account.folder),
        Command("synth", ("synth", "--quiet", *flags, "-o", str(assembly)), app),
    )
    report(f"deploying {STACK} ...")
    arguments = ("deploy", STACK, "--app", str(assembly), "--require-approval", "never", "--method", "direct")
    _run(account, Command("deploy", (*arguments, "--outputs-file", str(outputs)), app))
    deployed = read_outputs(json.loads(outputs.read_text(encoding="utf-8")))
    _switch_expiry_on(account, deployed.idempotency_table_name)
    report(f"deployed in {time.monotonic() - began:.0f} s")
    return deployed


def destroy(account: LocalAccount) -> None:
    """Remove the stack again. Raises `DeployError`."""
    assembly = account.folder / "cdk.out"
    _run(account, Command("destroy", ("destroy", STACK, "--app", str(assembly), "--force"), account.folder))


def read_outputs(written: dict[str, dict[str, str]]) -> Outputs:
    """Turn the CDK's outputs file into `Outputs`. Raises `DeployError` naming the outputs that are missing."""
    names = {field.name: "".join(part.title() for part in field.name.split("_")) for field in fields(Outputs)}
    found = written.get(STACK, {})
    missing = [name for name in names.values() if name not in found]
    if missing:
        message = f"the stack {STACK} has no output {', '.join(missing)}: add a CfnOutput of that name to it"
        raise DeployError(message)
    return Outputs(**{field: found[name] for field, name in names.items()})


def _run(account: LocalAccount, *commands: Command) -> None:
    """Run CDK commands side by side. Raises `DeployError` for the first that failed; none is left running."""
    steps: list[ProcessGroup] = []
    try:
        for command in commands:
            steps.append(_start(account, command))
        for step in steps:
            _finish(account, step)
    finally:
        for step in steps:
            step.stop()


def _start(account: LocalAccount, command: Command) -> ProcessGroup:
    cdk = ROOT / "node_modules" / ".bin" / "cdk"
    if not cdk.exists():
        message = f"the CDK command line is not installed at {cdk}: run `make setup`"
        raise DeployError(message)
    quiet = ["--ci", "--no-color", "--no-notices", "--no-version-reporting"]
    # Compiled JavaScript and unpacked jsii libraries are kept between runs, in this folder and not in the home folder.
    cache = _cache(account)
    caches = {"NODE_COMPILE_CACHE": str(cache / "node"), "JSII_RUNTIME_PACKAGE_CACHE_ROOT": str(cache / "jsii")}
    # What the CDK keeps in the home folder (accounts found, fingerprints of assets) is this account's: it goes with it.
    home = {"HOME": str(account.folder), "TMPDIR": str(account.folder), "CDK_HOME": str(account.folder / "cdk")}
    return ProcessGroup(
        [str(cdk), *command.arguments, *quiet],
        cwd=command.folder,
        env=account.environment() | CDK_QUIET | caches | home,
        log=account.folder / f"{command.name}.log",
    )


def _cache(account: LocalAccount) -> Path:
    """Where the CDK keeps what it can use again: in the checkout, or with the account if the checkout cannot be written."""
    cache = ROOT / ".cache"
    try:
        cache.mkdir(exist_ok=True)
    except OSError:
        return account.folder / "cache"
    return cache if folders.room(cache) > ROOM_BYTES_MIN else account.folder / "cache"


def _finish(account: LocalAccount, step: ProcessGroup) -> None:
    deadline = time.monotonic() + STEP_SECONDS
    while (status := step.ended(within_seconds=LOOK_SECONDS)) is None:
        if folders.room(account.folder) < ROOM_BYTES_MIN:
            message = f"the disk of {account.folder} is full: make room there, or point TMPDIR to another disk"
            raise DeployError(message)
        if time.monotonic() > deadline:
            message = (
                f"`{' '.join(step.argv)}` has not ended after {STEP_SECONDS:.0f} s; its last words:\n{step.tail()}"
            )
            raise DeployError(message)
    if status != 0:
        message = f"`{' '.join(step.argv)}` failed with status {status}; its last words:\n{step.tail()}"
        raise DeployError(message)


def _switch_expiry_on(account: LocalAccount, table: str) -> None:
    # MiniStack's CloudFormation accepts the table's TTL setting and does not apply it; its UpdateTimeToLive does.
    account.client("dynamodb").update_time_to_live(
        TableName=table, TimeToLiveSpecification={"AttributeName": "expiresAt", "Enabled": True}
    )
