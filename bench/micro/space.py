"""One space of random vectors to rank, and a query."""

import functools

import numpy as np

from bench.ranking.space import ALPHA, DAY, HALF_LIFE, NOW, WEIGHT, Matrix, Space, row
from memex.index import Ranker
from memex.model import Mode, Ranking, Scope, Terms

DIMENSIONS = 384
FLOOR, CEILING = 0.0, 0.4
"""Between them are the cosines of random vectors."""


@functools.cache
def space(rows: int) -> tuple[Space, Matrix]:
    """The same for the same number of rows; the query has shape (DIMENSIONS,)."""
    noise = np.random.default_rng(rows)
    vectors = noise.normal(size=(rows, DIMENSIONS))
    halves = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype("<f2")
    created = NOW - noise.integers(0, 365 * DAY, rows)
    importances = noise.choice([0.5, 1.0, 1.5], rows)
    ranker = Ranker(DIMENSIONS)
    made = [row(n, terms(noise), halves[n], int(created[n]), float(importances[n]), wanted=False) for n in range(rows)]
    ranker.apply(made, [])
    query = noise.normal(size=DIMENSIONS)
    unit = (query / np.linalg.norm(query)).astype(np.float32)
    everything = np.ones(rows, np.bool_)
    columns = (halves.astype(np.float32), created.astype(np.float64), importances, everything)
    return Space(ranker, *columns, FLOOR, CEILING), unit


def terms(noise: np.random.Generator) -> Terms:
    """Of one text, from very common to rare."""
    ids = np.unique(noise.zipf(1.3, 24) % 30_000).tolist()
    return Terms(ids=ids, counts=[1] * len(ids))


def ranking(query: Matrix, mode: Mode, k: int = 10) -> Ranking:
    """A search of the whole space; in hybrid mode of eight words, from very common to rare."""
    ids = [1, 2, 5, 20, 100, 500, 2000, 9000]
    return Ranking(
        scope=Scope("default", "agent"),
        mode=mode,
        vector=query,
        terms=Terms(ids=ids, counts=[1] * len(ids)),
        k=k,
        alpha=ALPHA,
        half_life_days=HALF_LIFE,
        importance_weight=WEIGHT,
        floor=FLOOR,
        ceiling=CEILING,
        now=NOW,
    )
