"""What is said of a large space's bytes before it is loaded, against what it then takes."""

import numpy as np
import pytest

from memex.index.loading import Contents, estimate
from memex.model import IndexRow, SpaceState
from tests.unit.index.rows import half, ranker, row

ROWS = 6_000
BEGINNING = 256
MARGIN = 0.2
DIMENSIONS = 64


def texts(words: int, chunks: int) -> list[IndexRow]:
    """Rows of some words each, frequent ones far more often (a Zipf law), and of up to so many chunks."""
    chooser = np.random.default_rng(1)
    made = []
    for number in range(ROWS):
        terms = sorted({int(term) for term in chooser.zipf(1.3, words) if term < 100_000})
        vectors = [half(chooser.standard_normal(DIMENSIONS)) for _ in range(chooser.integers(1, chunks + 1))]
        made.append(row(number, terms=terms, vectors=vectors, agent_id=f"a{number % 7}", tags=["t"]))
    return made


@pytest.mark.parametrize(("words", "chunks"), [(3, 1), (12, 1), (200, 1), (12, 4)])
def test_an_estimate_is_within_a_fifth(words: int, chunks: int):
    rows = texts(words, chunks)
    vectors = sum(len(row.vectors) for row in rows)
    beginning = rows[:BEGINNING]
    contents = Contents(SpaceState(1, 1, 0, "m"), len(rows), vectors, beginning, None)  # type: ignore[arg-type]
    expected = estimate(ranker(*beginning, dimensions=DIMENSIONS), contents)
    taken = ranker(*rows, dimensions=DIMENSIONS).bytes
    assert abs(expected - taken) < MARGIN * taken


def test_a_whole_beginning_is_exact():
    rows = texts(12, 2)[:100]
    made = ranker(*rows, dimensions=DIMENSIONS)
    vectors = sum(len(row.vectors) for row in rows)
    contents = Contents(SpaceState(1, 1, 0, "m"), len(rows), vectors, rows, None)  # type: ignore[arg-type]
    assert estimate(made, contents) == made.bytes


def test_a_space_without_vectors_or_rows_has_an_estimate_too():
    rows = [row(number, vectors=[]) for number in range(10)]
    made = ranker(*rows, dimensions=DIMENSIONS)
    state = SpaceState(1, 1, 0, "m")
    assert estimate(made, Contents(state, 20, 9, rows, None)) == 2 * made.bytes  # type: ignore[arg-type]
    assert estimate(ranker(dimensions=DIMENSIONS), Contents(state, 0, 0, [], None)) >= 0  # type: ignore[arg-type]
