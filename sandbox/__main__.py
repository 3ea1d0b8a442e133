"""`make sandbox`: a local account with the stack on it, until Ctrl-C. `sandbox.play` plays with it from another terminal."""

import json
import signal
import sys
from dataclasses import asdict, fields

from sandbox.account import AccountError, LocalAccount
from sandbox.deploy import DeployError, Outputs, deploy
from sandbox.isolation import RUNNING


def main() -> int:
    """Deploy, print the addresses and wait; the exit status."""
    try:
        with LocalAccount() as account:
            outputs = deploy(account)
            RUNNING.write_text(json.dumps({"port": account.port, "outputs": asdict(outputs)}), encoding="utf-8")
            print(_addresses(account, outputs), flush=True)
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


def _addresses(account: LocalAccount, outputs: Outputs) -> str:
    shown = ("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION")
    environment = account.environment()
    exports = "\n".join(f"  export {name}={environment[name]}" for name in shown)
    made = "\n".join(f"  {field.name:24} {getattr(outputs, field.name)}" for field in fields(outputs))
    play = ".venv/bin/python -m sandbox.play"
    return (
        f"\nDeployed:\n{made}\n\n"
        "Play with it in another terminal:\n"
        f"  {play} order 7 --times 3        the same order, three messages\n"
        f"  {play} order 8 --die            its first handler dies half-way; comes again after 18 s\n"
        f"  {play} payment 7 --times 3      the same webhook, three times\n"
        f"  {play} payment 8 --at-once 8    eight times at the same moment\n"
        f"  {play} payment 9 --tampered     changed after it was signed\n"
        f"  {play} table                    what was delivered, and what it did\n\n"
        f"Or with the AWS command line or boto3:\n{exports}\n\n"
        "Running until Ctrl-C."
    )


if __name__ == "__main__":
    sys.exit(main())
