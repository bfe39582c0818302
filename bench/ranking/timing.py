"""Times of questions, and how much of the true answer is found."""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from bench.ranking.rivals import Column

K = 10
TIE = 1e-5
NEAR = 2e-6
"""Single precision in the inner product, against double precision in the oracle."""

Ask = Callable[[int], Any]
"""The answer to a question."""


def timed(ways: Mapping[str, Ask], questions: int, seconds: float) -> dict[str, list[float]]:
    """Least seconds of each question over some rounds, in which the ways take turns; each way has so many seconds."""
    least, end = {name: [float("inf")] * questions for name in ways}, time.perf_counter() + seconds * len(ways)
    rounds = 0
    while not rounds or time.perf_counter() < end:
        for question in range(questions):
            for name, ask in ways.items():
                begin = time.perf_counter()
                ask(question)
                least[name][question] = min(least[name][question], time.perf_counter() - begin)
        rounds += 1
    return least


def summary(seconds: Sequence[float]) -> dict[str, Any]:
    """Of the times of all questions the least and the median."""
    return {"min_us": round(1e6 * min(seconds), 1), "median_us": round(1e6 * statistics.median(seconds), 1)}


def recall(found: Sequence[int], scores: Column) -> float:
    """The part of the answer whose true scores are among the best K, what ties with the last of them included."""
    bar = np.partition(scores, -K)[-K] - TIE - 2 * NEAR
    return float(np.count_nonzero(scores[np.unique(found)] >= bar)) / K
