"""What a Lambda function of this library needs beside its own key rule, work and policy (extra `lambda`).

    from idem.on_lambda import Environment, dynamodb, lambda_handler, observer_of, signing_secrets, sqs

environment.py      settings, read from the environment as a type
clients.py          DynamoDB and SQS with short time-outs, and the store on the table
secrets_manager.py  signing secrets: cached, and read again when a signature fails
observer.py         one log line and one count for each delivery
metrics.py          what is counted, and under which names; the alarms and dashboards of `idem.cdk` read them
entry.py            the handler, built once for each execution environment
collector.py        the garbage collector, slowed down while a function starts

Nothing is built when this is imported, so a file of handlers can be imported without an environment. On Lambda everything
is built in the init phase; what most invocations never use is imported and made at its first use, because every cold start
would wait for it.
"""

# ruff: noqa: E402 - the collector is slowed down before the imports that it would slow down

from idem.on_lambda import collector

collector.slow_down()

from idem.on_lambda.clients import AWS, Later, dynamo_store, dynamodb, session, sqs
from idem.on_lambda.entry import lambda_handler
from idem.on_lambda.environment import Environment, TableEnvironment
from idem.on_lambda.observer import Observer, observer_of
from idem.on_lambda.secrets_manager import signing_secrets

__all__ = [
    "AWS",
    "Environment",
    "Later",
    "Observer",
    "TableEnvironment",
    "dynamo_store",
    "dynamodb",
    "lambda_handler",
    "observer_of",
    "session",
    "signing_secrets",
    "sqs",
]
