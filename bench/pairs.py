"""A against B: interleaved, at least five pairs, the median of the pairwise ratios with a bootstrap interval."""

import statistics
from collections.abc import Callable, Mapping, Sequence

import msgspec
import numpy as np

LEAST_PAIRS = 5
RESAMPLES = 10_000
SEED = 20_260_101

Figures = Mapping[str, float]
Block = Callable[[], Figures]
"""One measurement, on a fresh service: figures by name."""


class Interval(msgspec.Struct, frozen=True):
    """A statistic and the 95 % percentile-bootstrap interval around it (Efron 1979)."""

    value: float
    low: float
    high: float


class Comparison(msgspec.Struct, frozen=True):
    """Both sides' figures, pair by pair, and for each figure the ratio first / second."""

    first: list[dict[str, float]]
    second: list[dict[str, float]]
    ratios: dict[str, Interval]


def compare(first: Block, second: Block, pairs: int = LEAST_PAIRS) -> Comparison:
    """Runs ABAB… ValueError for fewer than five pairs: a difference between two single runs says nothing."""
    if pairs < LEAST_PAIRS:
        raise ValueError(f"at least {LEAST_PAIRS} pairs, not {pairs}")
    blocks = [(dict(first()), dict(second())) for _ in range(pairs)]
    return Comparison([a for a, _ in blocks], [b for _, b in blocks], ratios(blocks))


def ratios(blocks: Sequence[tuple[Figures, Figures]]) -> dict[str, Interval]:
    """The median of a / b over the pairs, for each figure that both sides always have and B never has as 0."""
    names = [name for name in blocks[0][0] if all(name in a and b.get(name) for a, b in blocks)]
    return {name: median_interval([a[name] / b[name] for a, b in blocks]) for name in names}


def median_interval(values: Sequence[float]) -> Interval:
    """The median and its interval."""
    return bootstrap(values, np.median)


def mean_interval(values: Sequence[float]) -> Interval:
    """The mean and its interval."""
    return bootstrap(values, np.mean)


def bootstrap(values: Sequence[float], statistic: Callable[..., np.ndarray]) -> Interval:
    """`statistic` (of an array, along `axis`) over resamples with replacement: same values, same interval."""
    sample = np.asarray(values, np.float64)
    chosen = np.random.default_rng(SEED).integers(0, len(sample), (RESAMPLES, len(sample)))
    low, high = np.percentile(statistic(sample[chosen], axis=1), [2.5, 97.5])
    return Interval(float(statistic(sample, axis=0)), float(low), float(high))


def medians(blocks: Sequence[Figures]) -> dict[str, float]:
    """The median of each figure of the first block over all of them."""
    return {name: statistics.median(block[name] for block in blocks) for name in blocks[0]}
