"""The scan by codes gives what comparing everything gives, for vectors as models make them."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from memex.index import Ranker
from memex.model import IndexRow, Mode
from tests.oracles import ranking as oracle
from tests.unit.index.rows import DAY, ISAS, NOW, half, numbers, row, search, single
from tests.unit.index.test_exact import NEAR, assert_near

DIMENSIONS = 384
ROWS = 3000


def texts(seed: int, count: int) -> npt.NDArray[np.float64]:
    """Unit vectors in clusters whose cosines are 0.6 to 1, copies with little noise and exact copies among them."""
    noise = np.random.default_rng(seed)
    centre, topics = noise.normal(size=DIMENSIONS), noise.normal(size=(40, DIMENSIONS))
    made = 1.6 * centre + 0.7 * topics[noise.integers(40, size=count)] + 0.5 * noise.normal(size=(count, DIMENSIONS))
    copied = noise.integers(count, size=count // 4)
    made[: count // 8] = made[copied[: count // 8]]
    made[count // 8 : count // 4] = made[copied[: count // 8]] + 0.01 * noise.normal(size=(count // 8, DIMENSIONS))
    return np.asarray(made / np.linalg.norm(made, axis=1, keepdims=True))


def memories(vectors: npt.NDArray[np.float64], seed: int) -> list[IndexRow]:
    noise = np.random.default_rng(seed)
    return [
        row(
            n,
            text=str(noise.integers(2 * len(vectors))),
            memory_type=str(noise.choice(["episodic", "semantic"])),
            importance=float(noise.choice([0.5, 1.0, 1.5])),
            created_at=NOW - int(noise.integers(-DAY, 400 * DAY)),
            terms=sorted({int(term) for term in noise.geometric(0.05, 12)}),
            vectors=[half(vector)] + ([half(vectors[n // 2])] if n % 97 == 0 and n > 2000 else []),
        )
        for n, vector in enumerate(vectors)
    ]


@pytest.fixture(scope="module")
def kept() -> list[IndexRow]:
    return memories(texts(1, ROWS), 2)


@pytest.fixture(scope="module")
def rankers(kept: list[IndexRow]) -> dict[str, Ranker]:
    made = {isa: Ranker(DIMENSIONS, isa) for isa in ISAS}
    for ranker in made.values():
        ranker.apply(kept[:2000], [])
        ranker.apply(kept[2000:], [])
    return made


USUAL: dict[str, Any] = {"mode": Mode.SEMANTIC, "floor": 0.7, "ceiling": 0.95}
SEARCHES: dict[str, dict[str, Any]] = {
    "usual": {},
    "hybrid": {"mode": Mode.HYBRID, "terms": [1, 2, 5, 30]},
    "keyword": {"mode": Mode.KEYWORD, "terms": [1, 2, 5, 30]},
    "filtered": {"types": ("semantic",)},
    "rare": {"created_after": NOW - 2 * DAY},
    "relevance alone": {"alpha": 1.0},
    "recency alone": {"alpha": 0.0},
    "each row": {"collapse": False},
    "many": {"k": 200},
    "all": {"k": 5000},
    "only the best": {"min_score": 0.6},
    "short half-life": {"half_life_days": 0.01},
    "importance": {"importance_weight": 1.0},
    "cosines below the floor": {"floor": 0.9999, "ceiling": 1.0},
}


@pytest.mark.parametrize("fields", SEARCHES.values(), ids=list(SEARCHES))
def test_every_path_gives_the_best(kept: list[IndexRow], rankers: dict[str, Ranker], fields: dict[str, Any]) -> None:
    for seed in range(3):
        query = texts(1, ROWS)[seed] + 0.01 * np.random.default_rng(seed).normal(size=DIMENSIONS)
        asked = search(**{**USUAL, "vector": single(query / np.linalg.norm(query)), **fields})
        answers = [ranker.rank(asked) for ranker in rankers.values()]
        for hits in answers:
            assert_near(hits, kept, asked)
            assert [hit.score for hit in hits] == pytest.approx(
                [hit.score for hit in answers[0]], abs=oracle.TIE + 2 * NEAR
            )


@pytest.mark.parametrize("share", [0.02, 0.3, 0.5, 0.6, 0.9])
@pytest.mark.parametrize("isa", ISAS)
def test_filters_that_let_any_share_through_give_the_best(share: float, isa: str) -> None:
    """Blocks of which few, some or most rows pass are read in different ways."""
    noise, vectors = np.random.default_rng(int(share * 100)), texts(8, 1200)[300:]
    kinds = np.where(noise.random(len(vectors)) < share, "semantic", "episodic")
    kept = [
        row(n, memory_type=str(kind), created_at=NOW - n * DAY // 8, vectors=[half(vector)])
        for n, (kind, vector) in enumerate(zip(kinds, vectors, strict=True))
    ]
    index = Ranker(DIMENSIONS, isa)
    index.apply(kept, [])
    for query in vectors[:: len(vectors) // 8]:
        asked = search(**USUAL, vector=single(query), types=("semantic",))
        assert_near(index.rank(asked), kept, asked)


def test_joined_parts_give_the_best(kept: list[IndexRow]) -> None:
    """Parts around means of their own, and some too small to have one, and one part of them all."""
    apart = sorted(kept, key=lambda one: one.vectors[0])
    index = Ranker(DIMENSIONS)
    for start in range(0, ROWS, 500):
        index.apply(apart[start : start + 460], [])
        index.apply(apart[start + 460 : start + 500], [])
    asked = search(**USUAL, vector=single(texts(1, ROWS)[5]))
    assert_near(index.rank(asked), kept, asked)
    assert index.fragmented
    index.compact()
    assert_near(index.rank(asked), kept, asked)


def test_few_rows_are_scored_in_full(rankers: dict[str, Ranker]) -> None:
    asked = search(mode=Mode.SEMANTIC, vector=single(texts(3, 1)[0]), floor=0.7, ceiling=0.95)
    for ranker in rankers.values():
        before = ranker.work
        ranker.rank(asked)
        scanned, scored = (now - then for now, then in zip(ranker.work, before, strict=True))
        assert scanned == ROWS
        assert scored < ROWS / 15


def test_blocks_that_cannot_reach_are_not_looked_at() -> None:
    index = Ranker(DIMENSIONS)
    index.apply([row(n, created_at=NOW - n * DAY, vectors=[half(v)]) for n, v in enumerate(texts(4, ROWS))], [])
    hits = index.rank(search(mode=Mode.SEMANTIC, vector=single(texts(5, 1)[0]), alpha=0.05, half_life_days=10.0))
    assert numbers(hits)[0] < 10
    assert index.work[0] <= ROWS / 10


def test_copies_are_compared_once() -> None:
    """However many copies of the best there are, they take little memory and crowd nobody out."""
    vector = texts(6, 1)[0]
    copies = [row(n, text="copy", created_at=NOW, vectors=[half(vector)]) for n in range(2000)]
    others = [row(5000 + n, created_at=NOW, vectors=[half(v)]) for n, v in enumerate(texts(7, 1000))]
    mixed, apart = Ranker(DIMENSIONS), Ranker(DIMENSIONS)
    mixed.apply(copies + others, [])
    apart.apply(others, [])
    assert mixed.bytes < apart.bytes * 2
    asked = search(mode=Mode.SEMANTIC, vector=single(vector), floor=0.0, ceiling=1.0)
    first, *rest = mixed.rank(asked)
    assert first.duplicates == 1999
    assert first.score == pytest.approx(1.0, abs=NEAR + 1e-3)
    assert rest == apart.rank(asked)[:9]
