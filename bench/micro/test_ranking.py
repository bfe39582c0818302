"""Ranking one space: the native index beside NumPy and numba, on one thread, each with its answer checked."""

from collections.abc import Callable

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench.micro.space import ranking, space
from bench.ranking.rivals import Best, with_numba, with_numpy
from bench.ranking.space import Space
from memex.model import Hit, Mode

SIZES = [1_000, 10_000, 100_000]
K = 10


def numbers(hits: list[Hit]) -> list[int]:
    """Row numbers of hits."""
    return [int.from_bytes(hit.id, "big") for hit in hits]


def agree(one: list[int], other: list[int]) -> bool:
    """Same rows; their order may differ where scores are a tie within single precision."""
    return sorted(one) == sorted(other)


@pytest.mark.parametrize("rows", SIZES)
@pytest.mark.parametrize("mode", list(Mode))
def test_native(benchmark: BenchmarkFixture, rows: int, mode: Mode) -> None:
    """The whole call from Python, 384 dimensions, k = 10; hybrid and keyword with eight words."""
    held, query = space(rows)
    benchmark.group = f"{rows} rows"
    hits = benchmark(held.ranker.rank, ranking(query, mode, K))
    assert len(hits) == K
    if mode is Mode.SEMANTIC:
        assert agree(numbers(hits), with_numpy(held, K)(query))


@pytest.mark.parametrize("rows", SIZES)
@pytest.mark.parametrize("rival", [with_numpy, with_numba], ids=["numpy", "numba"])
def test_rival(benchmark: BenchmarkFixture, rows: int, rival: Callable[[Space, int], Best]) -> None:
    """The same as `test_native[semantic]`, without scope, filters, expiry, ties and collapsing."""
    held, query = space(rows)
    benchmark.group = f"{rows} rows"
    found = benchmark(rival(held, K), query)
    assert agree(found, numbers(held.ranker.rank(ranking(query, Mode.SEMANTIC, K))))
