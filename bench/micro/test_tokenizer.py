"""Tokens of the packaged model: one text as a search has it, a long one, and a batch."""

import functools

import pytest
from pytest_benchmark.fixture import BenchmarkFixture
from tokenizers import Tokenizer

from bench.micro.texts import EACH, LENGTHS
from memex.embedder.chunks import open_tokenizer, token_ids
from memex.embedder.models import open_model
from memex.settings import Embedding


@functools.cache
def tokenizer() -> Tokenizer:
    """That of the model that is used unless another is named."""
    return open_tokenizer(open_model(Embedding().model).tokenizer)


@pytest.mark.parametrize("name", LENGTHS)
def test_one_text(benchmark: BenchmarkFixture, name: str) -> None:
    """As the embedder calls it."""
    benchmark.group = f"tokens of a {name} text"
    ids = benchmark(token_ids, tokenizer(), LENGTHS[name])
    assert tokenizer().decode(ids) == LENGTHS[name]


def test_batch_of_32(benchmark: BenchmarkFixture) -> None:
    """32 sentences in one call, on one thread."""
    benchmark.group = "tokens of 32 sentences"
    benchmark.extra_info["per"] = len(EACH)
    found = benchmark(tokenizer().encode_batch_fast, list(EACH), add_special_tokens=False)
    assert [encoding.ids for encoding in found] == [token_ids(tokenizer(), text) for text in EACH]
