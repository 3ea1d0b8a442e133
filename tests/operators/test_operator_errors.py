from __future__ import annotations

import pytest
from botocore import exceptions as botocore_errors
from botocore.exceptions import ClientError

from idem.errors import CorruptRecord, MalformedDelivery, StoreUnavailable
from idem.operators.operator_errors import Exit, OperatorError, explain
from idem.record import Key


def refused(code: str, message: str = "", operation: str = "GetItem") -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": message}}, operation)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (refused("ExpiredTokenException"), "session has expired. Log in again"),
        (refused("UnrecognizedClientException"), "does not know these credentials"),
        (refused("ResourceNotFoundException", "Requested resource not found"), "There is no table"),
        (refused("ResourceNotFoundException", "Function not found: f"), "Function not found: f. Check --stack"),
        (refused("ValidationError", "Stack with id S does not exist"), "Stack with id S does not exist. Check --stack"),
        (refused("ThrottlingException"), "throttling"),
        (refused("InternalServerError", "sorry"), "AWS refused GetItem with InternalServerError: sorry"),
        (botocore_errors.NoCredentialsError(), "No AWS credentials were found. Log in with"),
        (botocore_errors.ProfileNotFound(profile="p"), "(p) could not be found"),
        (botocore_errors.NoRegionError(), "Pass --region"),
        (botocore_errors.EndpointConnectionError(endpoint_url="http://127.0.0.1:1"), "Nothing answers there"),
        (botocore_errors.ReadTimeoutError(endpoint_url="http://127.0.0.1:1"), "Try again"),
        (botocore_errors.UnauthorizedSSOTokenError(), "aws sso login"),
        (botocore_errors.SSOTokenLoadError(error_msg="none"), "aws sso login"),
        (botocore_errors.UnknownServiceError(service_name="x", known_service_names="y"), "Unknown service"),
    ],
)
def test_what_aws_says_becomes_a_sentence_with_the_exit_status_for_aws(error: Exception, said: str) -> None:
    explained = explain(error)
    assert explained is not None
    assert said in str(explained)
    assert explained.status is Exit.AWS


def test_a_denied_action_is_named_with_its_resource() -> None:
    message = (
        "User: arn:aws:iam::1:user/ada is not authorized to perform: dynamodb:Scan on resource:"
        " arn:aws:dynamodb:eu-central-1:1:table/t because no identity-based policy allows the dynamodb:Scan action"
    )
    explained = explain(refused("AccessDeniedException", message, "Scan"))
    assert explained is not None
    assert "dynamodb:Scan on arn:aws:dynamodb:eu-central-1:1:table/t" in explained.sentence
    assert "dynamodb:Scan" in explained.remedy


def test_a_denial_without_details_names_at_least_the_operation() -> None:
    assert "Scan" in str(explain(refused("AccessDenied", "Access Denied", "Scan")))


def test_an_error_that_the_store_translated_is_explained_by_its_cause() -> None:
    error = StoreUnavailable("read", "ExpiredToken", "x")
    error.__cause__ = refused("ExpiredToken")
    assert "Log in again" in str(explain(error))


def test_our_own_errors_are_sentences() -> None:
    assert str(explain(MalformedDelivery("the body is not JSON"))) == "The body is not JSON."
    assert "idem doctor" in str(explain(CorruptRecord(Key("o", "1"), "it is odd")))
    own = OperatorError("No.", "Try yes.")
    assert explain(own) is own


def test_a_fault_of_the_programs_own_is_not_explained_away() -> None:
    assert explain(KeyError("x")) is None
