"""The semantic ranking in NumPy and in numba: single precision, one thread, the whole fused formula."""

import math

import numba
import numpy as np
import numpy.typing as npt

from bench.micro.space import ALPHA, CEILING, DAY, FLOOR, HALF_LIFE, NOW, WEIGHT, Column, Matrix, Space


def numpy_best(space: Space, k: int) -> list[int]:
    """Row numbers of the best k, best first."""
    semantic = np.clip((space.matrix @ space.query - FLOOR) / (CEILING - FLOOR), 0, 1)
    recency = np.exp2(np.maximum(NOW - space.created, 0) / (-HALF_LIFE * DAY))
    scores = (ALPHA * semantic + (1 - ALPHA) * recency) * (1 + WEIGHT * (space.importances - 1))
    return _best(scores, k)


def numba_best(space: Space, k: int) -> list[int]:
    """Row numbers of the best k, best first."""
    return _best(_scores(space.matrix, space.created, space.importances, space.query), k)


def _best(scores: Column, k: int) -> list[int]:
    found = np.argpartition(scores, -k)[-k:]
    best: list[int] = found[np.argsort(-scores[found])].tolist()
    return best


@numba.njit(fastmath=True, cache=False)
def _scores(matrix: Matrix, created: Column, importances: Column, query: Matrix) -> npt.NDArray[np.float64]:
    scores = np.empty(len(matrix))
    for row in range(len(matrix)):
        cosine = np.float32(0)
        for i in range(len(query)):
            cosine += matrix[row, i] * query[i]
        semantic = min(max((float(cosine) - FLOOR) / (CEILING - FLOOR), 0.0), 1.0)
        recency = math.exp2(max(NOW - float(created[row]), 0.0) / (-HALF_LIFE * DAY))
        scores[row] = (ALPHA * semantic + (1 - ALPHA) * recency) * (1 + WEIGHT * (importances[row] - 1))
    return scores
