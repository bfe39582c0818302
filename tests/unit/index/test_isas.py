"""Whatever vector instructions a machine has, the same memories are found: the ids are those of the scalar path.

Only hits whose scores are within a tie may stand in each other's place.
"""

from itertools import product
from typing import NamedTuple

import numpy as np
import pytest
from msgspec.structs import replace

from memex.index import Ranker
from memex.model import Hit, Mode, Ranking
from tests.oracles.ranking import TIE
from tests.unit.index.rows import ISAS, search, single
from tests.unit.index.test_exact import NEAR, noise_rows

SCOPES = [("a",), ("a", "b"), ("a", "*"), ("big", "a", "b"), ("stranger", "big"), ("stranger", "*")]
SMALL = 100
"""Rows that arrive at once, after the first ones: each batch is a segment of its own at first."""


class Size(NamedTuple):
    """A space, and how it comes to be."""

    rows: int
    first: int
    dimensions: int


SIZES = [Size(700, 700, 48), Size(3_000, 2_700, 384), Size(9_000, 8_500, 33)]


class Space:
    """The same rows in an index for each instruction set."""

    def __init__(self, size: Size) -> None:
        self.size = size
        self.kept = noise_rows(size.rows, size.rows, size.dimensions, ["big"] * 40 + ["a", "a", "b"])
        self.gone = [row.id for row in self.kept[:: size.rows // 50]]
        self.indexes = {isa: self._filled(isa) for isa in ISAS}

    def _filled(self, isa: str) -> Ranker:
        index = Ranker(self.size.dimensions, isa)
        index.apply(self.kept[: self.size.first], [])
        for start in range(self.size.first, self.size.rows, SMALL):
            index.apply(self.kept[start : start + SMALL], [])
        index.apply([], self.gone)
        assert index.isa == isa
        return index

    def searches(self, seed: int) -> list[Ranking]:
        query = np.random.default_rng(seed).normal(size=self.size.dimensions)
        only = b"".join(sorted(row.id for row in self.kept[::3]))
        return [
            search(
                *scope,
                mode=mode,
                vector=single(query / np.linalg.norm(query)),
                terms=[1, 2, 5, 30],
                counts=[1, 2, 1, 1],
                collapse=collapse,
                alpha=alpha,
                k=50,
                only=chosen,
            )
            for scope, mode, collapse in product(SCOPES, Mode, (True, False))
            for alpha, chosen in ((1.0, None), (0.7, None), (0.7, only))
        ]


@pytest.fixture(scope="module", params=SIZES, ids=lambda size: f"{size.rows} rows")
def space(request: pytest.FixtureRequest) -> Space:
    return Space(request.param)


def parts(hit: Hit) -> tuple[float, ...]:
    """All that is single precision in it."""
    return hit.score, hit.cosine or 0.0, hit.lexical, hit.relevance, hit.recency, hit.importance


def assert_alike(hits: list[Hit], expected: list[Hit], every: dict[bytes, Hit]) -> None:
    """`expected` is what the scalar path gives, `every` what it says of every row that may be a hit."""
    for hit, wanted in zip(hits, expected, strict=True):
        assert parts(hit) == pytest.approx(parts(every[hit.id]), rel=NEAR, abs=NEAR)
        if hit.id == wanted.id:
            assert hit.duplicates == wanted.duplicates
        else:
            assert abs(hit.score - wanted.score) <= TIE + 2 * NEAR


@pytest.mark.parametrize("seed", range(2))
def test_the_ids_are_those_of_the_scalar_path(space: Space, seed: int) -> None:
    scalar = space.indexes["scalar"]
    for asked in space.searches(seed):
        expected = scalar.rank(asked)
        every = {hit.id: hit for hit in scalar.rank(replace(asked, k=space.size.rows, collapse=False))}
        assert len(expected) == min(asked.k, len(every)) or asked.collapse
        for index in space.indexes.values():
            assert_alike(index.rank(asked), expected, every)


def test_they_stay_so_when_parts_are_joined() -> None:
    space = Space(SIZES[-1])
    asked = space.searches(9)
    before = space.indexes["scalar"].rank_all(asked)
    for index in space.indexes.values():
        assert index.fragmented
        index.compact()
        for one, expected, found in zip(asked, before, index.rank_all(asked), strict=True):
            every = {hit.id: hit for hit in index.rank(replace(one, k=space.size.rows, collapse=False))}
            assert isinstance(expected, list)
            assert isinstance(found, list)
            assert_alike(found, expected, every)
