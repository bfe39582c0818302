"""Each statement has one user and says what it is for."""

import re
from pathlib import Path

import pytest

STORE = Path(__file__).parents[2] / "memex" / "store"
FILES = sorted((STORE / "queries").glob("*.sql"))
PARTS = sorted((STORE / "queries" / "parts").glob("*.sql"))
SOURCE = "\n".join(path.read_text(encoding="utf-8") for path in STORE.glob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_statement_is_loaded_and_used_in_one_place(file: Path):
    (constant,) = re.findall(rf'^(\w+) = load\("{file.stem}"\)', SOURCE, re.MULTILINE)
    assert len(re.findall(rf"\b{constant}\b", SOURCE)) == 2


@pytest.mark.parametrize("file", [*FILES, *PARTS], ids=lambda file: file.stem)
def test_a_statement_says_what_it_is_for(file: Path):
    assert re.match(r"-- [A-Z].{10,}", file.read_text(encoding="utf-8"))


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.stem)
def test_a_part_is_part_of_something(part: Path):
    assert any(f"{{{{{part.stem}}}}}" in file.read_text(encoding="utf-8") for file in FILES)
