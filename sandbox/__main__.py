"""`make sandbox`: a local account with the stack on it, until Ctrl-C. `idem` plays with it from another terminal."""

import json
import shlex
import signal
import sys
from dataclasses import asdict, fields

from sandbox.access import Access
from sandbox.account import AccountError, LocalAccount
from sandbox.deploy import STACK, DeployError, Outputs, deploy
from sandbox.isolation import EXPORTS, ROOT, RUNNING

EXPORTED = ("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION", "AWS_DEFAULT_REGION")


def main() -> int:
    """Deploy, print the addresses and wait; the exit status."""
    try:
        with LocalAccount() as account:
            outputs = deploy(account)
            RUNNING.write_text(json.dumps({"port": account.port, "outputs": asdict(outputs)}), encoding="utf-8")
            EXPORTS.write_text(exports(account, outputs), encoding="utf-8")
            print(addresses(outputs), flush=True)
            while True:
                signal.pause()
    except (AccountError, DeployError) as error:
        print(f"the local account could not be made ready: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nstopped; nothing is left behind")
        return 0
    finally:
        RUNNING.unlink(missing_ok=True)
        EXPORTS.unlink(missing_ok=True)


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


def addresses(outputs: Outputs) -> str:
    """What was deployed, and what can be done with it."""
    made = "\n".join(f"  {field.name:24} {getattr(outputs, field.name)}" for field in fields(outputs))
    orders, payments = "events/orders/order_1001.json", "events/payments/checkout_completed.json"
    return (
        f"\nDeployed:\n{made}\n\n"
        "Play with it in another terminal, from this folder:\n"
        "  source .venv/sandbox.env\n"
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
    sys.exit(main())
