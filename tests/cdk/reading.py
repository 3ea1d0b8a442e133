"""Ways to read a template that several test files share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aws_cdk.assertions import Template

Json = Any


def resources(template: Template, kind: str) -> dict[str, Json]:
    """Logical id -> properties of every resource of `kind`; fails when there is none."""
    found = template.find_resources(kind)
    assert found, f"no {kind} in the template"
    return {name: resource.get("Properties", {}) for name, resource in found.items()}


def function(template: Template, word: str) -> Json:
    """The properties of the function whose handler has `word` in its dotted name."""
    matching = [
        each for each in resources(template, "AWS::Lambda::Function").values() if word in each["Handler"].split(".")
    ]
    assert len(matching) == 1, f"{len(matching)} functions for {word}"
    return matching[0]


def environment(template: Template, word: str) -> dict[str, str]:
    """What the function finds at run time: deploy-time values are replaced by the id they refer to."""
    variables = function(template, word)["Environment"]["Variables"]
    return {name: value if isinstance(value, str) else f"deployed-{value['Ref']}" for name, value in variables.items()}


def statements(template: Template) -> Iterator[tuple[str, Json]]:
    """Every IAM statement of the template, with the logical id of its owner."""
    for kind in ("AWS::IAM::Policy", "AWS::IAM::Role", "AWS::SQS::QueuePolicy", "AWS::SecretsManager::ResourcePolicy"):
        for owner, properties in template.find_resources(kind).items():
            for key, value in properties["Properties"].items():
                documents = [value] if key.endswith(("PolicyDocument", "ResourcePolicy")) else []
                documents += [each["PolicyDocument"] for each in value] if key == "Policies" else []
                for document in documents:
                    yield from ((owner, statement) for statement in document["Statement"])


def as_list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else [value]


def statements_of(template: Template, word: str) -> list[Json]:
    """The statements in the policies attached to the role of one function."""
    role = function(template, word)["Role"]["Fn::GetAtt"][0]
    attached = [
        name for name, each in resources(template, "AWS::IAM::Policy").items() if {"Ref": role} in each["Roles"]
    ]
    return [statement for owner, statement in statements(template) if owner in (role, *attached)]


def granted(template: Template, owner: str) -> list[Json]:
    """The statements that allow something to the principal whose logical id begins with `owner`."""
    return [statement for name, statement in statements(template) if name.startswith(owner)]
