"""Others that rank the same rows: single precision, one thread. An answer is row numbers, best first."""

import importlib
import math
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from bench.ranking.space import ALPHA, DAY, HALF_LIFE, NOW, WEIGHT, Matrix, Space

Best = Callable[[Matrix], list[int]]
Column = npt.NDArray[np.float64]


def oracle(space: Space, query: Matrix, *, fused: bool, filtered: bool = False) -> Column:
    """Each row's score in double precision; minus infinity for rows that the filter keeps out."""
    cosines = np.concatenate([part.astype(np.float64) @ query.astype(np.float64) for part in parts(space.matrix)])
    if not fused:
        return cosines
    return np.where(space.filtered, formula(space, cosines), -np.inf) if filtered else formula(space, cosines)


def parts(matrix: Matrix) -> list[Matrix]:
    """Pieces that fit memory also when they are widened."""
    return [matrix[start : start + 50_000] for start in range(0, len(matrix), 50_000)]


def formula(space: Space, cosines: npt.NDArray[Any]) -> Column:
    """Each row's score by its cosine."""
    semantic = np.clip((cosines - space.floor) / (space.ceiling - space.floor), 0, 1)
    recency = np.exp2(np.maximum(NOW - space.created, 0) / (-HALF_LIFE * DAY))
    scores: Column = (ALPHA * semantic + (1 - ALPHA) * recency) * (1 + WEIGHT * (space.importances - 1))
    return scores


def with_numpy(space: Space, k: int) -> Best:
    """The fused formula over arrays."""
    return lambda query: first(formula(space, space.matrix @ query), k)


def with_numba(space: Space, k: int) -> Best:
    """The fused formula, compiled for this machine."""
    columns = (space.matrix, space.created, space.importances, space.floor, space.ceiling)
    return lambda query: first(scores(*columns, query), k)


def with_faiss(space: Space, k: int) -> Best:
    """Cosines alone: IndexFlatIP of faiss-cpu."""
    faiss = library("faiss", "faiss-cpu")
    faiss.omp_set_num_threads(1)
    index = faiss.IndexFlatIP(space.matrix.shape[1])
    index.add(space.matrix)
    return lambda query: [int(row) for row in index.search(query[None], k)[1][0]]


def with_usearch(space: Space, k: int) -> Best:
    """Cosines alone: the exact search of usearch over half precision."""
    usearch = library("usearch.index", "usearch")
    halves = space.matrix.astype(np.float16)

    def best(query: Matrix) -> list[int]:
        found = usearch.search(halves, query.astype(np.float16), k, usearch.MetricKind.IP, exact=True, threads=1)
        return [int(row) for row in found.keys]

    return best


def library(module: str, package: str) -> Any:
    """A module that not everybody has."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise SystemExit(f"{package} is not installed: leave it out with --rivals, or install it") from None


def first(scores: Column, k: int) -> list[int]:
    """The rows of the best k."""
    found = np.argpartition(scores, -k)[-k:]
    best: list[int] = found[np.argsort(-scores[found])].tolist()
    return best


@numba.njit(fastmath=True, cache=False)
def scores(matrix: Matrix, created: Column, importances: Column, floor: float, ceiling: float, query: Matrix) -> Column:
    """The formula, row by row."""
    found = np.empty(len(matrix))
    for row in range(len(matrix)):
        cosine = np.float32(0)
        for i in range(len(query)):
            cosine += matrix[row, i] * query[i]
        semantic = min(max((float(cosine) - floor) / (ceiling - floor), 0.0), 1.0)
        recency = math.exp2(max(NOW - float(created[row]), 0.0) / (-HALF_LIFE * DAY))
        found[row] = (ALPHA * semantic + (1 - ALPHA) * recency) * (1 + WEIGHT * (importances[row] - 1))
    return found
