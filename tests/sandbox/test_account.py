import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from sandbox.account import ACCOUNT_ID, REGION, ROOT, AccountError, LocalAccount

OWNER = """
import signal, time
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it, and so do their children
from sandbox.account import LocalAccount
with LocalAccount() as account:
    print(account.folder, account.endpoint, flush=True)
    time.sleep(60)
"""


def test_environment_of_children_leaves_out_the_callers_aws_setup(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "production")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "real")
    monkeypatch.setenv("AWS_ENDPOINT_URL_SQS", "https://sqs.example")
    monkeypatch.setenv("CDK_DEFAULT_ACCOUNT", "123456789012")
    environment = LocalAccount().environment()
    named = {name for name in environment if name.startswith(("AWS_", "CDK_"))}
    assert named == {
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_REGION",
        "AWS_DEFAULT_REGION",
        "AWS_ENDPOINT_URL",
        "AWS_ENDPOINT_URL_S3",
        "AWS_CONFIG_FILE",
        "AWS_SHARED_CREDENTIALS_FILE",
        "AWS_EC2_METADATA_DISABLED",
    }
    assert environment["AWS_ACCESS_KEY_ID"] == ACCOUNT_ID
    assert environment["AWS_ENDPOINT_URL"].startswith("http://127.0.0.1:")


def test_environment_finds_our_node_before_the_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/somewhere/else")
    path = LocalAccount().environment()["PATH"].split(os.pathsep)
    assert path == [str(ROOT / ".venv" / "bin"), str(ROOT / "node_modules" / ".bin"), "/somewhere/else"]


def test_client_ignores_the_callers_profile_and_talks_to_the_account(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "there-is-no-such-profile")
    monkeypatch.setenv("AWS_ENDPOINT_URL_SQS", "https://sqs.example")
    account = LocalAccount()
    client = account.client("sqs")
    assert client.meta.endpoint_url == account.endpoint
    assert client.meta.region_name == REGION


def test_missing_engine_is_named_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(AccountError, match=r"no-engine: run `make setup`"):
        LocalAccount(engine=tmp_path / "no-engine").start()


def test_engine_that_ends_at_once_is_reported_with_its_last_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    engine = tmp_path / "engine"
    engine.write_text("#!/bin/sh\necho no licence for today\nexit 3\n", encoding="utf-8")
    engine.chmod(0o700)
    account = LocalAccount(engine=engine)
    with pytest.raises(AccountError, match="ended 3 times before it answered; its last words:\nno licence for today"):
        account.start()
    assert list(tmp_path.iterdir()) == [engine]


def test_folder_is_refused_before_the_start() -> None:
    with pytest.raises(AccountError, match=r"call start\(\)"):
        _ = LocalAccount().folder


@pytest.mark.e2e
def test_account_answers_and_leaves_nothing_behind() -> None:
    with LocalAccount() as account:
        folder = account.folder
        made = account.client("sqs").create_queue(QueueName="q")["QueueUrl"]
        assert made.endswith(f"/{ACCOUNT_ID}/q")
    assert not folder.exists()


@pytest.mark.e2e
def test_two_accounts_run_side_by_side() -> None:
    with LocalAccount() as one, LocalAccount() as other:
        one.client("sqs").create_queue(QueueName="q")
        assert other.client("sqs").list_queues().get("QueueUrls", []) == []


@pytest.mark.e2e
@pytest.mark.parametrize("way", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_account_ends_with_its_owner(way: signal.Signals) -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    with owner:
        assert owner.stdout is not None
        folder, endpoint = owner.stdout.readline().split()
        assert endpoint.startswith("http://127.0.0.1:")
        assert Path(folder).exists()
        owner.send_signal(way)
        owner.wait(20)
    deadline = time.monotonic() + 10
    while Path(folder).exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not Path(folder).exists()
