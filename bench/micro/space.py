"""One space to rank, as each of the compared ways holds it."""

import functools
import hashlib

import msgspec
import numpy as np
import numpy.typing as npt

from memex.index import Ranker
from memex.model import IndexRow, Mode, Ranking, Scope, Terms

DIMENSIONS = 384
NOW = 1_760_000_000_000_000
DAY = 86_400_000_000
FLOOR, CEILING, ALPHA, WEIGHT, HALF_LIFE = 0.0, 0.4, 0.7, 0.1, 30.0

Matrix = npt.NDArray[np.float32]
Column = npt.NDArray[np.float64]


class Space(msgspec.Struct, frozen=True):
    """The same memories thrice: resident index, single-precision matrix, half-precision matrix; and a query."""

    ranker: Ranker
    matrix: Matrix
    """The stored half-precision vectors widened, shape (rows, DIMENSIONS)."""
    created: Column
    """Microseconds since 1970."""
    importances: Column
    query: Matrix
    """Shape (DIMENSIONS,)."""


@functools.cache
def space(rows: int) -> Space:
    """The same for the same number of rows."""
    noise = np.random.default_rng(rows)
    vectors = noise.normal(size=(rows, DIMENSIONS))
    halves = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype("<f2")
    created = NOW - noise.integers(0, 365 * DAY, rows)
    importances = noise.choice([0.5, 1.0, 1.5], rows)
    ranker = Ranker(DIMENSIONS)
    ranker.apply([_row(n, halves[n], int(created[n]), float(importances[n]), noise) for n in range(rows)], [])
    query = noise.normal(size=DIMENSIONS)
    unit = (query / np.linalg.norm(query)).astype(np.float32)
    return Space(ranker, halves.astype(np.float32), created.astype(np.float64), importances, unit)


def _row(
    number: int, vector: npt.NDArray[np.float16], created: int, importance: float, noise: np.random.Generator
) -> IndexRow:
    terms = np.unique(noise.zipf(1.3, 24) % 30_000).tolist()
    return IndexRow(
        id=number.to_bytes(16, "big"),
        agent_id="agent",
        memory_type="episodic",
        visibility="private",
        state="active",
        tags=[],
        session_id=None,
        source=None,
        content_hash=hashlib.sha256(str(number).encode()).digest(),
        importance=importance,
        created_at=created,
        expires_at=None,
        terms=terms,
        term_counts=[1] * len(terms),
        vectors=[vector.tobytes()],
    )


def ranking(space: Space, mode: Mode, k: int = 10) -> Ranking:
    """A search of the whole space; in hybrid mode of eight words, from very common to rare."""
    ids = [1, 2, 5, 20, 100, 500, 2000, 9000]
    return Ranking(
        scope=Scope("default", "agent"),
        mode=mode,
        vector=space.query,
        terms=Terms(ids=ids, counts=[1] * len(ids)),
        k=k,
        alpha=ALPHA,
        half_life_days=HALF_LIFE,
        importance_weight=WEIGHT,
        floor=FLOOR,
        ceiling=CEILING,
        now=NOW,
    )
