"""`make sandbox`: a local account with the stack on it, until Ctrl-C. `idem` plays with it from another terminal."""

import json
import shlex
import signal
import sys
from dataclasses import fields
from pathlib import Path

from sandbox.access import Access
from sandbox.account import LocalAccount
from sandbox.command import run
from sandbox.deploy import STACK, Outputs, deploy
from sandbox.isolation import EXPORTS, ROOT, RUNNING

EXPORTED = ("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION", "AWS_DEFAULT_REGION")


def main() -> int:
    """Deploy, print the addresses and wait; the exit status."""
    try:
        with LocalAccount() as account:
            outputs = deploy(account)
            environment = announce(account, outputs)
            print(addresses(outputs, environment), flush=True)
            while True:
                signal.pause()
    except KeyboardInterrupt:
        print("\nstopped; nothing is left behind")
        return 0


def announce(account: LocalAccount, outputs: Outputs) -> Path:
    """Write into the account's folder, which ends with it, how it can be used; the file for a shell."""
    environment = account.folder / EXPORTS
    environment.write_text(exports(account, outputs), encoding="utf-8")
    told = {"root": str(ROOT), "port": account.port}
    (account.folder / RUNNING).write_text(json.dumps(told), encoding="utf-8")
    return environment


def exports(account: Access, outputs: Outputs) -> str:
    """What a shell sources so that `idem` and the AWS command line use the sandbox, and know its parts."""
    environment = account.environment()
    exported = {name: environment[name] for name in EXPORTED} | {
        "IDEM_STACK": STACK,
        "ORDERS_QUEUE": outputs.orders_queue_url,
        "PAYMENTS_URL": outputs.payments_url,
        "PAYMENTS_SECRET": outputs.payments_secret_arn,
        "LEDGER": outputs.ledger_table_name,
    }
    lines = [f"export {name}={shlex.quote(value)}" for name, value in exported.items()]
    lines.append("unset AWS_PROFILE AWS_SESSION_TOKEN  # a real account's would be asked first")
    lines.append('idem() { "' + str(ROOT / ".venv" / "bin" / "python") + '" -m idem "$@"; }')
    return "\n".join(lines) + "\n"


def addresses(outputs: Outputs, environment: Path) -> str:
    """What was deployed, and what can be done with it. environment: the file to source."""
    made = "\n".join(f"  {field.name:24} {getattr(outputs, field.name)}" for field in fields(outputs))
    orders, payments = "events/orders/order_1001.json", "events/payments/checkout_completed.json"
    return (
        f"\nDeployed:\n{made}\n\n"
        "Play with it in another terminal, from this folder:\n"
        f"  source {shlex.quote(str(environment))}\n"
        f"  idem send {orders} --queue $ORDERS_QUEUE --times 3\n"
        "      the same order, three messages\n"
        f"  idem send {orders} --queue $ORDERS_QUEUE --set orderId=8 --set sandbox.die=before-effect\n"
        "      its first handler dies half-way; it comes again after 18 s\n"
        f"  idem send {payments} --url $PAYMENTS_URL --secret-id $PAYMENTS_SECRET --times 8 --concurrently\n"
        "      the same webhook eight times at once; --tamper changes it after it was signed\n"
        "  idem list, idem show orders.fulfil#1001\n"
        "      what is recorded, and what one record means\n"
        "  idem race\n"
        "      eight claims of one key, one winner\n"
        "  make console\n"
        "      all of it in a browser\n\n"
        "The AWS command line and boto3 use the sandbox there too.\n\n"
        "Running until Ctrl-C."
    )


if __name__ == "__main__":
    sys.exit(run("the sandbox", main))
