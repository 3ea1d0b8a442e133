"""Every error of this package.

    IdemError
    ├── ConfigurationError        wrong when it was built: a name, a limit, a missing environment variable
    ├── InputRefused              hostile or broken input; nothing was claimed
    │   ├── WrongEvent            the whole event is not for this source
    │   ├── MalformedDelivery     one delivery cannot be read
    │   │   └── TooLarge          it is above a limit, and was not looked at
    │   ├── MissingKeyPart        a part of the key is absent, null or empty
    │   ├── NotAnEvent            a provider's check of the address, which has an answer of its own
    │   ├── SignatureInvalid      a webhook whose signature does not prove its sender
    │   └── UnknownCaller         a request to an API by somebody who is not authenticated
    ├── NotNow                    nothing was done, and it can be tried later
    ├── NotRun                    the key answered; the work did not run
    │   ├── InProgress            another attempt holds the key
    │   ├── RequestMismatch       the key was used with another request
    │   ├── StoredFailure         the work failed for good before; its own error, replayed
    │   └── UnsettledWork         an attempt was started and never ended; a person decides
    ├── ClaimLost                 the claim was taken over; nothing was written
    ├── WorkStopped               the work raised what is no Exception, such as SystemExit
    ├── CorruptRecord             the stored item cannot be read as a record
    ├── StoreUnavailable          no answer from the table
    ├── SecretsUnavailable        the signing secrets could not be read, so nothing can be verified
    └── TransactionRefused        a transaction that cannot be sent, or that the engine refused for good
        └── WriteRefused          a condition of the caller's own write failed

`Crash` is none of these, and no Exception: it stands for the death of a process in tests.

`UnreportableRecord` (a WrongEvent) is the one case in which an SQS batch cannot be answered record by record.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from idem.record import Key, Record


class IdemError(Exception):
    """The root: catches whatever this package raises of its own."""


class ConfigurationError(IdemError):
    """Something was put together wrongly. Raised when it is built, not when a delivery arrives."""


class InputRefused(IdemError):
    """Input that cannot be worked on. Trying it again cannot help."""


class WrongEvent(InputRefused):
    """The event is not of the kind that this source reads."""


class UnreportableRecord(WrongEvent):
    """A record without a message id: it cannot be named in a partial batch response, so the whole batch must come again."""


class MalformedDelivery(InputRefused):
    """One delivery whose content cannot be read."""


class TooLarge(MalformedDelivery):
    """A request above a limit: nothing of it was decoded, verified or parsed."""


class MissingKeyPart(InputRefused):
    """A part of the key is missing, null, empty or of a kind that cannot identify anything."""


class NotAnEvent(InputRefused):
    """A request that its provider signed and that is no event, such as a check of the address. `reply` is what it asks for."""

    def __init__(self, reply: Any) -> None:
        super().__init__("the provider checks the address: there is no work in it")
        self.reply = reply


class SignatureInvalid(InputRefused):
    """The signature is missing, malformed, too old, too new, or of another secret or body."""


class UnknownCaller(InputRefused):
    """Nobody is known to have sent the request, so the key in it cannot be told from the same key of another caller."""


class NotRun(IdemError):
    """The work was not run, because of what the record says."""

    def __init__(self, record: Record, message: str) -> None:
        super().__init__(message)
        self.record = record


class NotNow(IdemError):
    """Nothing was done, and the same can be tried later: no start of the work is used up, whatever the policy says."""


class InProgress(NotRun, NotNow):
    """Another attempt holds the key until `until` (epoch ms)."""

    def __init__(self, record: Record, until: int) -> None:
        super().__init__(record, f"{record.key} is being worked on by attempt {record.attempt}; try again later")
        self.until = until


class RequestMismatch(NotRun):
    """The same key came with a different request."""

    def __init__(self, record: Record) -> None:
        super().__init__(
            record,
            f"{record.key} was used before with a different request: use a new key for new work, or repeat the same request",
        )


class StoredFailure(NotRun):
    """The stored failure of an earlier attempt: `type` and `reason` are those of the error that the work raised."""

    def __init__(self, record: Record) -> None:
        failure = record.failure
        self.type = failure.type if failure else "unknown"
        self.reason = failure.message if failure else ""
        super().__init__(record, f"{record.key} failed before with {self.type}: {self.reason}")


class UnsettledWork(NotRun):
    """An attempt was started and its outcome is not known."""

    def __init__(self, record: Record, reason: str) -> None:
        super().__init__(record, f"{record.key} is unsettled: {reason}; settle it or release it by hand")


class ClaimLost(IdemError):
    """The record no longer carries this claim: it was taken over, or removed. The record was left exactly as it is."""

    def __init__(self, key: Key, found: Record | None) -> None:
        now = f"attempt {found.attempt} holds it, {found.status}" if found else "the record is gone"
        super().__init__(f"the claim on {key} was lost: {now}")
        self.key = key
        self.found = found


class Crash(BaseException):
    """The process died here: raised by tests in its place (`idem.testing`). Not an Exception, and never the ending of a work.

    Raised by work it still lets what had ended before be recorded, as KeyboardInterrupt does; a process that is killed would not.
    """


PROCESS_ENDS = (KeyboardInterrupt, Crash)
"""What ends the process when work raises it. Anything else, an Exception or not, is how that one work ended."""


class WorkStopped(IdemError):
    """The work raised something that is no Exception: SystemExit, a cancellation. It is this error's cause."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(
            f"the work raised {type(error).__name__}, which is no Exception: it ended itself, not the process"
        )


class CorruptRecord(IdemError):
    """The item under the key is not a record that this code can read."""

    def __init__(self, key: Key, reason: str) -> None:
        super().__init__(f"the item stored for {key} is not usable: {reason}")
        self.key = key


class StoreUnavailable(IdemError):
    """The table gave no answer, or refused the request. `code` is the engine's error code, or the error's class name."""

    def __init__(self, verb: str, code: str, reason: str) -> None:
        super().__init__(f"the idempotency table did not {verb}: {code}: {reason}")
        self.verb = verb
        self.code = code


class SecretsUnavailable(IdemError):
    """The signing secrets could not be read: a request can be neither trusted nor refused, so it must come again."""


class TransactionRefused(IdemError):
    """The transaction cannot succeed as it is written; nothing of it was applied."""


class WriteRefused(TransactionRefused):
    """The condition of the caller's own write failed.

    index: which of the writes, from 0, in the order they were given. item: what the engine returned for it in the low-level
    form, None unless the write asked for it and the item exists.
    """

    def __init__(self, key: Key, index: int, item: Mapping[str, Any] | None) -> None:
        super().__init__(f"the condition of write {index} in the transaction of {key} failed; nothing was written")
        self.key = key
        self.index = index
        self.item = item
