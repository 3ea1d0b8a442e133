"""docs/glossary.md explains every name of the door, and each word once."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import idem
from idem.operators.record_text import State

ROOT = Path(__file__).resolve().parent.parent
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (?!word \|)([^|]+?) \| ([^|]+?) \|$", GLOSSARY, re.MULTILINE)
WORDS = [word for words, _ in ROWS for word in words.split(", ")]
NAMES = [word.strip("`") for word in WORDS if word.startswith("`")]
SOURCE = "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "idem").rglob("*.py")))


def test_every_row_was_read() -> None:
    rows = [line for line in GLOSSARY.splitlines() if line.startswith("| ") and not line.startswith("| word |")]
    assert len(ROWS) == len(rows) > 80


def test_every_name_of_the_door_is_explained() -> None:
    assert set(vars(idem)["__all__"]) - set(NAMES) == set()


def test_every_state_that_the_commands_show_is_explained() -> None:
    assert {state.value for state in State} - set(WORDS) == set()


def test_a_word_has_one_row() -> None:
    assert [word for word, count in Counter(word.lower().strip("`") for word in WORDS).items() if count > 1] == []


def test_a_name_that_is_spelled_as_code_is_in_the_code() -> None:
    assert [name for name in NAMES if not re.search(rf"\b{re.escape(name)}\b", SOURCE)] == []


def test_every_explanation_is_made_of_whole_sentences() -> None:
    assert [
        words for words, meaning in ROWS if not (meaning[0].isupper() or meaning[0] == "`") or meaning[-1] != "."
    ] == []
