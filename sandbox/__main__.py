"""`python -m sandbox`: a local account with the stack on it, until Ctrl-C."""

import signal
import sys
from dataclasses import fields

from sandbox.account import AccountError, LocalAccount
from sandbox.deploy import DeployError, Outputs, deploy


def main() -> int:
    """Deploy, print the addresses and wait; the exit status."""
    try:
        with LocalAccount() as account:
            outputs = deploy(account)
            print(_addresses(account, outputs), flush=True)
            while True:
                signal.pause()
    except (AccountError, DeployError) as error:
        print(f"the local account could not be made ready: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nstopped; nothing is left behind")
        return 0


def _addresses(account: LocalAccount, outputs: Outputs) -> str:
    shown = ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION")
    environment = account.environment()
    exports = "\n".join(f"  export {name}={environment[name]}" for name in shown)
    made = "\n".join(f"  {field.name:24} {getattr(outputs, field.name)}" for field in fields(outputs))
    return (
        f"\nFor the AWS command line or boto3 in another terminal:\n{exports}\n\n"
        f"Deployed (post to an address at {account.endpoint} with its name as the Host header):\n{made}\n\n"
        "Running until Ctrl-C."
    )


if __name__ == "__main__":
    sys.exit(main())
