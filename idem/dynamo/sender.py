"""The seam to the engine: sends one request, and says what its failure means. No other file reads a botocore error.

`idem` is handed a client and does not import botocore, so errors are read by their shape: a `response` with an error code, or
no response at all, which means that nobody knows whether the request was applied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from idem.clock import Clock, backoff_ms
from idem.errors import StoreUnavailable, TransactionRefused

# botocore retries throttles and lost connections itself, but neither conflict: both are in none of its retry lists.
CONFLICTS = frozenset(
    {"TransactionConflictException", "TransactionInProgressException", "ReplicatedWriteConflictException"}
)
THROTTLES = frozenset(
    {
        "ProvisionedThroughputExceededException",
        "ThrottlingException",
        "ThrottlingError",
        "RequestLimitExceeded",
        "TooManyRequestsException",
        "SlowDown",
    }
)
# The second is the client's own, before it sends; with its validation off the service answers the third.
INVALID = frozenset({"ValidationException", "ParamValidationError", "SerializationException"})
RETRY_BASE_MS = 25  # the base of botocore's own DynamoDB backoff
RETRY_CAP_MS = 1_000
RETRY_FOR_MS = 20_000  # the longest that one verb repeats its request, also where the deadline is far away

ClientCall = Callable[..., Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Refused:
    """The condition failed; `item` is what stands there, None if the engine sent nothing back."""

    item: Mapping[str, Any] | None


class Attempt:
    """One try of a request. `failed` notes why it has to be made again."""

    def __init__(self) -> None:
        self.cause: BaseException | None = None
        self.code = ""
        self.reason = ""

    def failed(self, code: str, reason: str, cause: BaseException | None = None) -> None:
        self.code, self.reason, self.cause = code, reason, cause


class Sender:
    """Sends requests through a boto3 client, and repeats what is worth repeating until the deadline."""

    def __init__(self, client: Any, clock: Clock) -> None:
        self._client = client
        self._clock = clock

    def send(
        self, verb: str, call: ClientCall, request: Mapping[str, Any], deadline: int, *, insist: bool = False
    ) -> Refused | None:
        """Send a conditional write: None if it was applied, Refused if its condition failed.

        Conflicts and throttles are repeated until `deadline` (epoch ms). With `insist` lost answers and server errors are too:
        for outcomes of work that has already run. Everything else raises StoreUnavailable.
        """
        for attempt in self.attempts(verb, deadline):
            try:
                call(**request)
                return None
            except Exception as error:  # noqa: BLE001 - whatever is not an answer is translated here, once
                if _code(error) == "ConditionalCheckFailedException":
                    return Refused(_response(error).get("Item") or None)
                self._again(verb, error, attempt, insist=insist)
        raise AssertionError("attempts() either ends the loop by raising or gives another attempt")

    def transact(self, verb: str, request: Mapping[str, Any], deadline: int) -> Sequence[Mapping[str, Any]] | None:
        """Send a transaction: None if it was applied, the cancellation reasons if it was cancelled.

        Its client request token makes a repetition safe, so lost answers are repeated as well.
        """
        for attempt in self.attempts(verb, deadline):
            try:
                self._client.transact_write_items(**request)
                return None
            except Exception as error:
                if _code(error) == "TransactionCanceledException":
                    reasons: Sequence[Mapping[str, Any]] = _response(error).get("CancellationReasons") or ()
                    return reasons
                if _code(error) in INVALID or _was_not_sent(error):
                    raise TransactionRefused(f"the transaction cannot be sent as it is written: {error}") from error
                self._again(verb, error, attempt, insist=True)
        raise AssertionError("attempts() either ends the loop by raising or gives another attempt")

    def batch(
        self, verb: str, call: ClientCall, request: Mapping[str, Any], attempt: Attempt, *, insist: bool
    ) -> Mapping[str, Any] | None:
        """Send a batch of statements as one of several attempts: its answer, or None if it is worth another attempt."""
        try:
            return call(**request)
        except Exception as error:  # noqa: BLE001 - as above
            self._again(verb, error, attempt, insist=insist)
            return None

    def get(self, verb: str, call: ClientCall, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """Send a read, once."""
        try:
            return call(**request)
        except Exception as error:
            raise unavailable(verb, error) from error

    def attempts(self, verb: str, deadline: int) -> Iterator[Attempt]:
        """One attempt after another, with pauses, until the next pause would pass the deadline: then StoreUnavailable."""
        count = 0
        deadline = min(deadline, self._clock.now_ms() + RETRY_FOR_MS)
        while True:
            attempt = Attempt()
            yield attempt
            pause = backoff_ms(count, base_ms=RETRY_BASE_MS, cap_ms=RETRY_CAP_MS, jitter=self._clock.jitter())
            if self._clock.now_ms() + pause >= deadline:
                tries = f"{attempt.reason} (after {count + 1} tries, no time is left)"
                raise StoreUnavailable(verb, attempt.code, tries) from attempt.cause
            self._clock.sleep_ms(pause)
            count += 1

    def _again(self, verb: str, error: Exception, attempt: Attempt, *, insist: bool) -> None:
        """Note that the request may be repeated, or raise."""
        code = _code(error)
        if code in CONFLICTS or code in THROTTLES or (insist and _is_unknown(error)):
            attempt.failed(code, str(error), error)
        else:
            raise unavailable(verb, error) from error


def unavailable(verb: str, error: Exception) -> StoreUnavailable:
    """What an engine's error is to the callers of a store."""
    return StoreUnavailable(verb, _code(error), str(error))


def _response(error: Exception) -> Mapping[str, Any]:
    response = getattr(error, "response", None)
    return response if isinstance(response, Mapping) else {}


def _code(error: Exception) -> str:
    code = _response(error).get("Error", {}).get("Code")
    return str(code) if code else type(error).__name__


def _was_not_sent(error: Exception) -> bool:
    """Whether the client itself refused to build the request."""
    built = not isinstance(error, TypeError | ValueError) and type(error).__name__ != "ParamValidationError"
    return not _response(error) and not built


def _is_unknown(error: Exception) -> bool:
    """Whether nobody knows what became of the request: no answer, or a server's error."""
    response = _response(error)
    if not response:
        return not _was_not_sent(error)
    status = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    return bool(status >= 500)
