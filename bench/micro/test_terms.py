"""Terms of a text: the native tokenizer beside a regular expression in Python, which does not stem."""

import re
import unicodedata
from collections import Counter

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench.micro.texts import LENGTHS, SCRIPTS
from memex.index import tokenize
from memex.model import Terms
from tests.oracles.terms import counts_of, term_id

WORD = re.compile(r"\w+")
TEXTS = LENGTHS | SCRIPTS


def counted(terms: Terms) -> dict[int, int]:
    """Occurrences by id."""
    return dict(zip(terms.ids, terms.counts, strict=True))


def words(text: str) -> Counter[str]:
    """The terms of a text that is written in words which are their own stems, as they are spelt."""
    return Counter(WORD.findall(unicodedata.normalize("NFKC", text).lower()))


@pytest.mark.parametrize("name", TEXTS)
def test_native(benchmark: BenchmarkFixture, name: str) -> None:
    """The whole call from Python: folded, stemmed, hashed, sorted, counted."""
    benchmark.group = f"terms of a {name} text"
    assert counted(benchmark(tokenize, TEXTS[name])) == counts_of(TEXTS[name])


@pytest.mark.parametrize("name", LENGTHS)
def test_regular_expression(benchmark: BenchmarkFixture, name: str) -> None:
    """The same words and counts, neither stemmed nor hashed."""
    benchmark.group = f"terms of a {name} text"
    found = benchmark(words, LENGTHS[name])
    assert {term_id(word): count for word, count in found.items()} == counted(tokenize(LENGTHS[name]))
