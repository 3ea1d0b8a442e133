"""Exit statuses, and every error as a sentence with its remedy."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import IntEnum
from typing import Any

from idem.errors import CorruptRecord, IdemError, StoreUnavailable
from idem.text import bounded

SENTENCE_CHARS_MAX = 1_000
DENIED = re.compile(r"not authorized to perform:? (\S+)(?: on resource:? (\S+))?")


class Exit(IntEnum):
    """What the exit status of a command says."""

    DONE = 0  # done, found, or nothing wrong
    NO = 1  # the answer is no: no such record, a change that was refused or declined, a check that found a fault
    USAGE = 2  # the command was written wrongly
    AWS = 3  # AWS could not be reached, or does not let you
    CHANGED = 4  # the record changed after it was shown: nothing was written
    INTERRUPTED = 130


class OperatorError(Exception):
    """What a command says instead of going on: one sentence, its remedy, and the exit status."""

    def __init__(self, sentence: str, remedy: str = "", status: Exit = Exit.NO) -> None:
        self.sentence = bounded(sentence, SENTENCE_CHARS_MAX)  # it may quote what a table or a file holds
        super().__init__(f"{self.sentence} {remedy}".strip())
        self.remedy = remedy
        self.status = status


def explain(error: BaseException, table: str = "") -> OperatorError | None:
    """The sentence for an error of ours, of botocore's or of the network's; None for anything else.

    table: the name and place of the table that was asked, to be named if it is not there.
    """
    if isinstance(error, OperatorError):
        return error
    if isinstance(error, StoreUnavailable) and error.__cause__ is not None:
        return explain(error.__cause__, table) or _aws(str(error))
    if isinstance(error, CorruptRecord):
        return OperatorError(f"{_capital(error)}.", "`idem doctor` says what is in the table.")
    if isinstance(error, IdemError):
        return OperatorError(f"{_capital(error)}.")
    if _named(error, "ClientError"):
        return _refused(error, table)
    for name, sentence in BOTOCORE.items():
        if _named(error, name):
            return sentence(error)
    if _named(error, "BotoCoreError"):
        return _aws(f"{_capital(error)}.")
    return None


def _refused(error: Any, table: str) -> OperatorError:
    """What an error code of AWS means."""
    said = error.response.get("Error", {})
    code, message = str(said.get("Code", "")), str(said.get("Message", ""))
    action = error.operation_name
    if code in {"ExpiredToken", "ExpiredTokenException", "RequestExpired"}:
        return _aws("Your AWS session has expired.", "Log in again: `aws sso login`, or get new credentials.")
    if code in {"UnrecognizedClientException", "InvalidClientTokenId", "InvalidSignatureException", "AuthFailure"}:
        return _aws(
            "AWS does not know these credentials.", "Check which ones are used with `aws sts get-caller-identity`."
        )
    if "AccessDenied" in code or code in {"UnauthorizedOperation", "AuthorizationError"}:
        return _denied(action, message)
    if code == "ResourceNotFoundException" and "Function" in message:
        return _aws(f"{message.rstrip('.')}.", "Check --stack or --function, and the region.")
    if code == "ResourceNotFoundException" and action == "GetSecretValue":
        return _aws("There is no secret of this name.", "Check --secret-id, --region and --profile.")
    if "NonExistentQueue" in code or "QueueDoesNotExist" in code:
        return _aws("There is no queue of this name.", "Check --queue, --region and --profile.")
    if code == "ResourceNotFoundException":
        return _aws(
            f"There is no table {table or 'of this name'}.",
            "Check --table, --region, --profile and --endpoint-url; --stack finds the table among a stack's tables.",
        )
    if code == "ValidationError" and "does not exist" in message:
        return _aws(f"{message}.", "Check --stack, --region, --profile and --endpoint-url.")
    if code == "ValidationException" and "key" in message.lower() and "schema" in message.lower():
        return _aws(
            "The table's primary key is not the one that was asked for.",
            "For a table with a sort key pass --sort-value; `idem doctor` shows what the table has.",
        )
    if "Throttl" in code or code in {"ProvisionedThroughputExceededException", "RequestLimitExceeded"}:
        return _aws("AWS is throttling these requests.", "Wait a moment, or read less: --limit, --pages-max.")
    return _aws(f"AWS refused {action} with {code}: {message.rstrip('.')}.")


def _denied(action: str, message: str) -> OperatorError:
    found = DENIED.search(message)
    what = found[1] if found else action
    where = f" on {found[2].rstrip('.')}" if found and found[2] else ""
    return _aws(f"You are not allowed to {what}{where}.", f"Ask for a policy that allows the action {what}.")


def _aws(sentence: str, remedy: str = "") -> OperatorError:
    return OperatorError(sentence, remedy, Exit.AWS)


def _named(error: BaseException, name: str) -> bool:
    """Whether a class of this name is among the error's own: botocore need not be imported to know its errors."""
    return any(kind.__name__ == name for kind in type(error).__mro__)


def _capital(error: BaseException) -> str:
    text = " ".join(str(error).split()).rstrip(".")
    return text[:1].upper() + text[1:]


LOG_IN = "Log in with `aws sso login`, set AWS_PROFILE, or pass --profile."

BOTOCORE: dict[str, Callable[[Any], OperatorError]] = {
    "NoCredentialsError": lambda _: _aws("No AWS credentials were found.", LOG_IN),
    "CredentialRetrievalError": lambda error: _aws(f"The AWS credentials could not be read: {error}.", LOG_IN),
    "PartialCredentialsError": lambda _: _aws("The AWS credentials are incomplete.", LOG_IN),
    "ProfileNotFound": lambda error: _aws(
        f"{_capital(error)}.", "`aws configure list-profiles` shows those there are."
    ),
    "NoRegionError": lambda _: _aws("No AWS region is set.", "Pass --region, or set AWS_REGION."),
    "SSOError": lambda _: _aws("Your AWS session has expired.", "Log in again: `aws sso login`."),
    "TokenRetrievalError": lambda _: _aws("Your AWS session has expired.", "Log in again: `aws sso login`."),
    "LoginRefreshRequired": lambda _: _aws("Your AWS session has expired.", "Log in again: `aws login`."),
    "ConnectionError": lambda error: _aws(
        f"Nothing answers there: {_capital(error)}.",
        "Check --endpoint-url and --region, the network and, for a local engine, whether it still runs.",
    ),
    "HTTPClientError": lambda error: _aws(f"The connection broke: {_capital(error)}.", "Try again."),
    "InvalidRegionError": lambda error: _aws(f"{_capital(error)}.", "Check --region and AWS_REGION."),
    "ParamValidationError": lambda error: _aws(f"{_capital(error)}.", "Check --table."),
    "ValueError": lambda error: (
        OperatorError(f"{_capital(error)}.", "Check --endpoint-url.", Exit.USAGE)
        if "endpoint" in str(error).lower()
        else OperatorError(f"{_capital(error)}.")
    ),
}
"""By the name of the class; the first that fits counts."""
