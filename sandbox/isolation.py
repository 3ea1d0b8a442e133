"""What keeps the local account apart: from the caller's AWS set-up, and from what is installed on this machine."""

import os
from pathlib import Path

import boto3
import botocore.session

ROOT = Path(__file__).resolve().parent.parent
REGION = "us-east-1"
ACCOUNT_ID = "000000000000"
HOST = "127.0.0.1"
RUNNING = "sandbox.json"
"""In the account's folder: where `make sandbox` says how it can be reached, and from which checkout it was started."""
EXPORTS = "sandbox.env"
"""The same for a shell: sourced, it makes the AWS command line, boto3 and `idem` use the sandbox."""

LOCAL_ONLY = {
    "AWS_ACCESS_KEY_ID": ACCOUNT_ID,
    "AWS_SECRET_ACCESS_KEY": "local",
    "AWS_EC2_METADATA_DISABLED": "true",
}
"""Credentials that no real account knows. The engine takes an access key of twelve digits for the account's number."""


def child_environment(endpoint: str) -> dict[str, str]:
    """Return the caller's environment with nothing of AWS in it but the account at `endpoint`, and our tools first."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "CDK_"))}
    tools = [str(ROOT / ".venv" / "bin"), str(ROOT / "node_modules" / ".bin"), inherited.get("PATH", os.defpath)]
    proxied = inherited.get("NO_PROXY", inherited.get("no_proxy", ""))
    direct = ",".join(filter(None, [HOST, "localhost", ".localhost", proxied]))
    return (
        inherited
        | LOCAL_ONLY
        | {
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_ENDPOINT_URL": endpoint,
            "AWS_ENDPOINT_URL_S3": endpoint,
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "NO_PROXY": direct,
            "no_proxy": direct,
            "PATH": os.pathsep.join(tools),
        }
    )


def engine_environment(folder: Path, port: int) -> dict[str, str]:
    """Return what the engine and its Lambda workers see: little, so that nothing of this machine helps a function run.

    Everything the engine writes goes below `folder`.
    """
    return LOCAL_ONLY | {
        "PATH": os.defpath,
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "GATEWAY_PORT": str(port),
        "BIND_HOST": HOST,
        "MINISTACK_ACCOUNT_ID": ACCOUNT_ID,
        "MINISTACK_REGION": REGION,
        "STATE_DIR": str(folder / "state"),
        "S3_DATA_DIR": str(folder / "s3"),
        # At start and end the engine removes every MiniStack container it finds: it must not find a Docker.
        "DOCKER_HOST": f"unix://{folder}/no-docker.sock",
        # One port is guarded (`sandbox.ministack`), so no other is opened.
        "SFTP_ENABLED": "0",
        "IOT_MTLS_ENABLED": "0",
    }


def blind_session() -> boto3.Session:
    """Return a boto3 session with the local credentials that reads no profile and no file of the caller's."""
    unread = {
        "profile": (None, None, None, None),
        "config_file": (None, None, os.devnull, None),
        "credentials_file": (None, None, os.devnull, None),
    }
    return boto3.Session(
        aws_access_key_id=LOCAL_ONLY["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=LOCAL_ONLY["AWS_SECRET_ACCESS_KEY"],
        region_name=REGION,
        botocore_session=botocore.session.Session(session_vars=unread),
    )
