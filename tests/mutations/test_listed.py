"""The faults of `python -m tests.mutations` still fit the code."""

from __future__ import annotations

import ast

import pytest

from tests.mutations.frame import ROOT, Mutation
from tests.mutations.listed import MUTATIONS


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_mutation_finds_its_source_and_changes_it_to_code(mutation: Mutation) -> None:
    changed = mutation.applied(ROOT)
    assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse((ROOT / "idem" / mutation.file).read_text()))


def test_the_tests_that_a_mutation_begins_with_are_there() -> None:
    finders = {mutation.finder for mutation in MUTATIONS if mutation.finder}
    assert finders
    assert [finder for finder in sorted(finders) if not (ROOT / finder).is_file()] == []


def test_names_are_unique() -> None:
    names = [mutation.name for mutation in MUTATIONS]
    assert len(set(names)) == len(names)
