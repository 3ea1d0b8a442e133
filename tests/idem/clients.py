"""DynamoDB clients that lose answers, refuse, interfere or say less. Each stands in front of a real one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from botocore.exceptions import ClientError, ConnectionClosedError

Call = Callable[..., Any]


def client_error(code: str, status: int = 400, **more: Any) -> ClientError:
    """What boto3 raises for an engine's answer."""
    answer = {"Error": {"Code": code, "Message": "made up"}, "ResponseMetadata": {"HTTPStatusCode": status}, **more}
    return ClientError(answer, "Operation")  # type: ignore[arg-type]


def cancelled(*reasons: Mapping[str, Any]) -> ClientError:
    return client_error("TransactionCanceledException", CancellationReasons=list(reasons))


def no_answer() -> ConnectionClosedError:
    return ConnectionClosedError(endpoint_url="https://dynamodb.example")


class Wrapper:
    """A client that hands every call on. `sent` keeps the names and requests, in order."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.sent: list[tuple[str, dict[str, Any]]] = []

    def __getattr__(self, name: str) -> Call:
        method = getattr(self.client, name)

        def call(**request: Any) -> Any:
            self.sent.append((name, request))
            return self.answer(name, self.count(name), method, request)

        return call

    def count(self, name: str) -> int:
        """How many calls of this name were sent."""
        return sum(sent == name for sent, _ in self.sent)

    def answer(self, _name: str, _number: int, method: Call, request: dict[str, Any]) -> Any:
        return method(**request)


class Losing(Wrapper):
    """Applies the first call of each named method and loses its answer."""

    def __init__(self, client: Any, *names: str) -> None:
        super().__init__(client)
        self._names = names

    def answer(self, name: str, number: int, method: Call, request: dict[str, Any]) -> Any:
        answer = method(**request)
        if name in self._names and number == 1:
            raise no_answer()
        return answer


class Repeating(Wrapper):
    """Sends every write twice and gives the second answer: botocore's own retry after an answer was lost."""

    def answer(self, name: str, _number: int, method: Call, request: dict[str, Any]) -> Any:
        if name != "get_item":
            try:
                method(**request)
            except ClientError as first:
                if first.response["Error"]["Code"] != "ConditionalCheckFailedException":
                    raise
        return method(**request)


class Silent(Wrapper):
    """An engine that sends no item back with a failed condition."""

    def answer(self, _name: str, _number: int, method: Call, request: dict[str, Any]) -> Any:
        try:
            return method(**request)
        except ClientError as error:
            response: dict[str, Any] = dict(error.response)
            response.pop("Item", None)
            for reason in response.get("CancellationReasons", ()):
                reason.pop("Item", None)
            raise ClientError(response, "Operation") from error  # type: ignore[arg-type]


class Raising(Wrapper):
    """Answers the first calls of the named method with the given errors; nothing reaches the table."""

    def __init__(self, client: Any, name: str, *errors: Exception) -> None:
        super().__init__(client)
        self._name = name
        self._errors = errors

    def answer(self, name: str, number: int, method: Call, request: dict[str, Any]) -> Any:
        if name == self._name and number <= len(self._errors):
            raise self._errors[number - 1]
        return method(**request)


class Interfering(Wrapper):
    """Lets a rival act just before the nth call of a method."""

    def __init__(self, client: Any, acts: Mapping[tuple[str, int], Callable[[], object]]) -> None:
        super().__init__(client)
        self._acts = acts

    def answer(self, name: str, number: int, method: Call, request: dict[str, Any]) -> Any:
        if act := self._acts.get((name, number)):
            act()
        return method(**request)
