"""What the engine's errors mean: a few are worth repeating inside the time left; everything else is StoreUnavailable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import NoCredentialsError, ParamValidationError, ReadTimeoutError

from idem import Consumer, Policy, SqsSource, keys
from idem.dynamo.sender import RETRY_BASE_MS, RETRY_CAP_MS, RETRY_FOR_MS
from idem.dynamo.store import DynamoStore
from idem.errors import StoreUnavailable
from idem.record import Claim, Status
from idem.store import Store
from idem.testing import sqs_event
from tests.idem.benches import DynamoBench
from tests.idem.builders import FAILURE, KEY, LATER, NOW, RESULT, request, won
from tests.idem.clients import Raising, client_error
from tests.idem.clocks import TestClock

DEADLINE = NOW + 50_000
CONFLICTS = ["TransactionConflictException", "TransactionInProgressException", "ReplicatedWriteConflictException"]
THROTTLES = ["ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded"]
NO = [
    "AccessDeniedException",
    "ResourceNotFoundException",
    "ExpiredTokenException",
    "UnrecognizedClientException",
    "ValidationException",
    "SomethingNewException",
]

VERBS: dict[str, tuple[str, Callable[[Store, Claim], object]]] = {
    "claim": ("put_item", lambda store, _: store.claim(request("again"))),
    "begin": ("update_item", lambda store, claim: store.begin(claim)),
    "complete": ("update_item", lambda store, claim: store.complete(claim, RESULT, LATER)),
    "fail": ("update_item", lambda store, claim: store.fail(claim, FAILURE, LATER)),
    "release": ("delete_item", lambda store, claim: store.release(claim)),
    "commit": ("transact_write_items", lambda store, claim: store.complete(claim, RESULT, LATER, ())),
    "guard": ("transact_write_items", lambda store, _: store.guard(request("again"), RESULT, ())),
}
OUTCOMES = ("complete", "fail", "release", "commit")
every_verb = pytest.mark.parametrize("verb", VERBS)


def run(verb: str, bench: DynamoBench, clock: TestClock, *errors: Exception) -> Raising:
    """Run a verb against an engine that first answers with these errors."""
    method, call = VERBS[verb]
    claim = won(bench.store.claim(request()))
    client = Raising(bench.client, method, *errors)
    try:
        call(DynamoStore(client, bench.table, clock=clock), claim)
    except StoreUnavailable as error:
        error.__dict__["client"] = client
        raise
    return client


@every_verb
@pytest.mark.parametrize("code", [*CONFLICTS, *THROTTLES])
def test_conflicts_and_throttles_are_repeated(dynamo: DynamoBench, clock: TestClock, verb: str, code: str) -> None:
    client = run(verb, dynamo, clock, *[client_error(code)] * 3)
    assert client.count(VERBS[verb][0]) == 4
    assert len(clock.slept) == 3


@every_verb
def test_pauses_double_up_to_a_limit_and_stay_inside_the_time_left(
    dynamo: DynamoBench, clock: TestClock, verb: str
) -> None:
    with pytest.raises(StoreUnavailable) as failed:
        run(verb, dynamo, clock, *[client_error("ThrottlingException")] * 99)
    assert failed.value.code == "ThrottlingException"
    assert clock.slept[:4] == [RETRY_BASE_MS, 2 * RETRY_BASE_MS, 4 * RETRY_BASE_MS, 8 * RETRY_BASE_MS]
    assert max(clock.slept) == RETRY_CAP_MS
    assert NOW + RETRY_FOR_MS - RETRY_CAP_MS <= clock.now_ms() < NOW + RETRY_FOR_MS


@pytest.mark.parametrize(("jitter", "share"), [(0.0, 0.5), (0.5, 0.75)])
def test_pauses_are_jittered_between_half_and_all(dynamo: DynamoBench, jitter: float, share: float) -> None:
    clock = TestClock(jitter=jitter)
    run("claim", dynamo, clock, *[client_error("ThrottlingException")] * 2)
    assert clock.slept == [share * RETRY_BASE_MS, share * 2 * RETRY_BASE_MS]


@every_verb
def test_nothing_is_repeated_beyond_the_deadline(dynamo: DynamoBench, clock: TestClock, verb: str) -> None:
    clock.pass_ms(DEADLINE - NOW - 100)
    with pytest.raises(StoreUnavailable):
        run(verb, dynamo, clock, *[client_error("TransactionConflictException")] * 99)
    assert clock.now_ms() < DEADLINE


@every_verb
def test_the_first_try_is_made_even_after_the_deadline(dynamo: DynamoBench, clock: TestClock, verb: str) -> None:
    clock.pass_ms(DEADLINE - NOW + 5_000)
    assert run(verb, dynamo, clock).count(VERBS[verb][0]) >= 1
    assert clock.slept == []


# A transaction that the engine calls invalid is the caller's: see test_transactions.
REFUSALS = [
    (verb, code)
    for verb in VERBS
    for code in NO
    if (verb, code) not in {("commit", "ValidationException"), ("guard", "ValidationException")}
]


@pytest.mark.parametrize(("verb", "code"), REFUSALS)
def test_what_a_repetition_does_not_cure_is_raised_at_once(
    dynamo: DynamoBench, clock: TestClock, verb: str, code: str
) -> None:
    with pytest.raises(StoreUnavailable) as failed:
        run(verb, dynamo, clock, client_error(code))
    assert (failed.value.code, failed.value.verb) == (code, verb)
    assert failed.value.__dict__["client"].count(VERBS[verb][0]) == 1
    assert clock.slept == []


@pytest.mark.parametrize("verb", OUTCOMES)
@pytest.mark.parametrize(
    "error",
    [
        client_error("InternalServerError", 500),
        ReadTimeoutError(endpoint_url="https://dynamodb.example"),
        OSError("reset"),
    ],
)
def test_outcomes_of_work_that_has_run_are_sent_until_they_arrive(
    dynamo: DynamoBench, clock: TestClock, verb: str, error: Exception
) -> None:
    client = run(verb, dynamo, clock, error, error)
    assert client.count(VERBS[verb][0]) == 3
    stored = dynamo.store.get(KEY)
    assert stored is None or stored.status is not Status.IN_PROGRESS


@pytest.mark.parametrize("error", [client_error("InternalServerError", 500), NoCredentialsError(), OSError("reset")])
def test_a_claim_without_an_answer_is_not_insisted_on(dynamo: DynamoBench, clock: TestClock, error: Exception) -> None:
    with pytest.raises(StoreUnavailable) as failed:
        run("claim", dynamo, clock, error)
    assert failed.value.__dict__["client"].count("put_item") == 1
    assert failed.value.__cause__ is error


@pytest.mark.parametrize("verb", ["complete", "fail", "release"])
def test_a_request_that_was_never_sent_is_not_repeated(dynamo: DynamoBench, clock: TestClock, verb: str) -> None:
    with pytest.raises(StoreUnavailable) as failed:
        run(verb, dynamo, clock, ParamValidationError(report="made up"))
    assert failed.value.__dict__["client"].count(VERBS[verb][0]) == 1


def test_a_failed_read_is_store_unavailable(dynamo: DynamoBench, clock: TestClock) -> None:
    store = DynamoStore(Raising(dynamo.client, "get_item", OSError("reset")), dynamo.table, clock=clock)
    with pytest.raises(StoreUnavailable) as failed:
        store.get(KEY)
    assert failed.value.verb == "get"


@pytest.mark.parametrize(
    "error",
    [*map(client_error, [*NO, *CONFLICTS, *THROTTLES]), client_error("InternalServerError", 500), OSError("reset")],
    ids=str,
)
def test_while_the_table_gives_no_answer_no_work_is_run(
    dynamo: DynamoBench, clock: TestClock, error: Exception
) -> None:
    ran: list[Any] = []
    client: Any = dynamo.client
    for method in ("put_item", "batch_execute_statement", "transact_write_items"):
        client = Raising(client, method, *[error] * 999)
    consumer = Consumer(
        operation="orders.fulfil",
        source=SqsSource(clock=clock),
        key=keys.message_id(),
        work=lambda delivery, _claim: ran.append(delivery),
        policy=Policy(retention=None),
        store=DynamoStore(client, dynamo.table, clock=clock),
        clock=clock,
    )
    answer = consumer(sqs_event({"n": 1}, {"n": 2}))
    assert answer == {"batchItemFailures": [{"itemIdentifier": "message-1"}, {"itemIdentifier": "message-2"}]}
    assert ran == []
