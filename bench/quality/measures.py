"""Measures of one ranked list of names, and of two lists of numbers.

`relevant` maps names to grades; what it does not name, or grades 0, is not relevant. `ranked` has no name twice.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

Grades = Mapping[str, float]
Measure = Callable[[Sequence[str], Grades], float]


def answers(relevant: Grades) -> set[str]:
    """The names with a grade above 0."""
    return {name for name, grade in relevant.items() if grade > 0}


def recall(ranked: Sequence[str], relevant: Grades, k: int) -> float:
    """The part of the relevant among the first `k` (Manning, Raghavan, Schütze 2008, section 8.3)."""
    wanted = answers(relevant)
    return len(set(ranked[:k]) & wanted) / len(wanted)


def hit(ranked: Sequence[str], relevant: Grades, k: int) -> float:
    """1 if any relevant one is among the first `k`, else 0: also called success at `k` (TREC)."""
    return float(not answers(relevant).isdisjoint(ranked[:k]))


def reciprocal_rank(ranked: Sequence[str], relevant: Grades, k: int) -> float:
    """1 / rank of the first relevant one among the first `k`, else 0; its mean is MRR@k (Voorhees 1999)."""
    wanted = answers(relevant)
    return next((1 / rank for rank, name in enumerate(ranked[:k], 1) if name in wanted), 0.0)


def ndcg(ranked: Sequence[str], relevant: Grades, k: int) -> float:
    """NDCG at `k`: Σ grade / log2(rank + 1) over the first `k`, by the best value that any order gives.

    Gain is the grade itself (Järvelin and Kekäläinen 2002, as trec_eval's ndcg_cut); with grades 0 and 1 it is binary.
    """
    ideal = sorted((grade for grade in relevant.values() if grade > 0), reverse=True)
    return discounted([relevant.get(name, 0.0) for name in ranked[:k]]) / discounted(ideal[:k])


def discounted(grades: Sequence[float]) -> float:
    """Σ grade / log2(rank + 1), ranks from 1."""
    return math.fsum(max(grade, 0.0) / math.log2(rank + 1) for rank, grade in enumerate(grades, 1))


MEASURES: dict[str, Measure] = {
    "recall@5": partial(recall, k=5),
    "recall@10": partial(recall, k=10),
    "hit@1": partial(hit, k=1),
    "hit@10": partial(hit, k=10),
    "mrr@10": partial(reciprocal_rank, k=10),
    "ndcg@10": partial(ndcg, k=10),
}


Values = NDArray[np.float64]
Places = NDArray[np.int64]


def spearman(first: Values, second: Values) -> float:
    """Spearman's ρ: Pearson's r of the ranks, equal values sharing their mean rank; 0 if one side is constant."""
    return rank_correlation(places(first), places(second))


def places(values: Values) -> Places:
    """For each value how many different values are below it."""
    return np.asarray(np.unique(values, return_inverse=True)[1], np.int64)


def rank_correlation(first: Places, second: Places) -> float:
    """Spearman's ρ of values that are given by their places, of which some may be unused, as in a resample."""
    ranks = [mean_ranks(side) for side in (first, second)]
    centred = [side - side.mean() for side in ranks]
    spread = math.sqrt(float((centred[0] ** 2).sum() * (centred[1] ** 2).sum()))
    return float((centred[0] * centred[1]).sum()) / spread if spread else 0.0


def mean_ranks(found: Places) -> Values:
    """The rank of each place from 1, the mean of their ranks for equal ones."""
    counts = np.bincount(found)
    ranks: Values = (np.cumsum(counts) - (counts - 1) / 2)[found]
    return ranks
