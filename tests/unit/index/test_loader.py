"""An index from the store's streams is the index of their rows."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memex import _native
from memex.index import Ranker
from memex.model import IndexRow
from tests.oracles.copying import EPOCH, pair
from tests.oracles.copying import rows as decoded
from tests.unit.index.rows import half, row, rows, searches

DIMENSIONS = 3


def ascending(rows: list[IndexRow]) -> list[IndexRow]:
    """One row of each id."""
    return sorted({row.id: row for row in rows}.values(), key=lambda row: row.id)


def loaded(data: bytes, size: int, dimensions: int = DIMENSIONS) -> Ranker:
    ranker = Ranker(dimensions)
    loader = ranker.loader()
    for at in range(0, len(data), size):
        loader.feed(data[at : at + size])
    loader.finish()
    return ranker


@settings(max_examples=60, deadline=None)
@given(st.lists(rows(DIMENSIONS), max_size=20), st.lists(searches(DIMENSIONS), min_size=1, max_size=4), st.data())
def test_a_loaded_index_answers_as_one_that_was_given_the_rows(found, asked, data):
    known, size, cut = ascending(found), data.draw(st.integers(1, 400)), data.draw(st.integers(0, 20))
    streams = pair(known[:cut]) + pair(known[cut:])
    assert decoded(streams) == known
    given_rows = Ranker(DIMENSIONS)
    given_rows.apply(known, ())
    ranker = loaded(streams, size)
    assert ranker.rows == len(known)
    for ranking in asked:
        assert ranker.rank(ranking) == given_rows.rank(ranking)


def test_more_rows_than_a_segment_holds():
    many = [row(number, vectors=[half([number, 1, 0])] * (number % 3)) for number in range(20_000)]
    assert loaded(pair(many[:9_000]) + pair(many[9_000:]), 1_000_000).rows == 20_000


@pytest.mark.parametrize(
    ("rows", "what"),
    [
        ([row(2, vectors=[]), row(1, vectors=[])], "order"),
        ([row(1, vectors=[]), row(1, vectors=[])], "order"),
        ([row(1, vectors=[half([1, 2])])], "dimensions"),
        ([row(1, vectors=[half([1, 2, float("nan")])])], "finite"),
        ([row(1, importance=3.0, vectors=[])], "importance"),
        ([row(1, importance=float("nan"), vectors=[])], "importance"),
        ([row(1, memory_type="other", vectors=[])], "memory type"),
        ([row(1, terms=[2, 1], vectors=[])], "ascending"),
        ([row(1, created_at=2**63 - 1 + EPOCH, vectors=[])], "range"),
    ],
)
def test_a_faulty_row_is_refused_by_name(rows, what):
    with pytest.raises(ValueError, match=what):
        loaded(pair(rows), 100)


def test_what_is_no_bytes_is_refused():
    loader = _native.Loader(_native.SpaceIndex(2))
    with pytest.raises(TypeError):
        loader.feed("text")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        _native.Loader(None)  # type: ignore[arg-type]
