"""What the doctor says of a table."""

from __future__ import annotations

from dataclasses import replace

from idem import Key
from idem.dynamo.schema import to_item
from idem.operators.connection import Connection
from idem.operators.doctor import Finding, Grade, table_findings
from tests.operators.records_in_every_state import EVERY, SUCCEEDED, put


def found(connection: Connection) -> dict[str, Finding]:
    return {one.about: one for one in table_findings(connection)}


def test_a_table_without_expiry_recovery_and_protection_is_said_to_be_so(connection: Connection) -> None:
    findings = found(connection)
    assert findings["table"].grade is Grade.OK
    assert findings["key schema"].grade is Grade.OK
    assert findings["expiry (TTL)"].grade is Grade.FAULT
    assert findings["recovery"].grade is Grade.WARNING
    assert findings["deletion protection"].grade is Grade.WARNING
    assert all(one.remedy for one in findings.values() if one.grade is not Grade.OK)


def test_a_table_that_is_set_up_as_the_construct_does_has_no_fault(connection: Connection) -> None:
    client, table = connection.dynamodb, connection.table
    ttl = {"AttributeName": "expiresAt", "Enabled": True}
    client.update_time_to_live(TableName=table, TimeToLiveSpecification=ttl)
    recovery = {"PointInTimeRecoveryEnabled": True}
    client.update_continuous_backups(TableName=table, PointInTimeRecoverySpecification=recovery)
    client.update_table(TableName=table, DeletionProtectionEnabled=True)
    put(client, table, *EVERY)
    assert {one.grade for one in found(connection).values()} == {Grade.OK}


def test_an_expiry_on_another_attribute_is_a_fault(connection: Connection) -> None:
    ttl = {"AttributeName": "expiration", "Enabled": True}
    connection.dynamodb.update_time_to_live(TableName=connection.table, TimeToLiveSpecification=ttl)
    finding = found(connection)["expiry (TTL)"]
    assert finding.grade is Grade.FAULT
    assert "expiration" in finding.says


def test_a_sort_value_for_a_table_without_a_sort_key_is_a_fault(connection: Connection) -> None:
    finding = found(replace(connection, sort_value="MEMORY"))["key schema"]
    assert finding.grade is Grade.FAULT
    assert "--sort-value" in finding.remedy


def test_milliseconds_and_foreign_items_are_found_among_the_records(connection: Connection) -> None:
    far = to_item(replace(SUCCEEDED, key=Key("o", "far"))) | {"expiresAt": {"N": "1796040000000"}}
    connection.dynamodb.put_item(TableName=connection.table, Item=far)
    connection.dynamodb.put_item(TableName=connection.table, Item={"pk": {"S": "IDEMPOTENCY#odd#1"}})
    says = [one.says for one in table_findings(connection) if one.about == "records"]
    assert len(says) == 2
    assert "cannot be read" in says[0]
    assert "milliseconds" in says[1]
