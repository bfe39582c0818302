"""Measures beside brute force and worked examples."""

import itertools
import math
import statistics
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.quality.measures import (
    MEASURES,
    mean_ranks,
    ndcg,
    places,
    rank_correlation,
    recall,
    reciprocal_rank,
    spearman,
)
from bench.quality.measures import hit as hit_at

NAMES = [f"d{number}" for number in range(6)]
rankings = st.permutations(NAMES).flatmap(lambda names: st.integers(0, len(names)).map(lambda n: names[:n]))
grades = st.dictionaries(st.sampled_from(NAMES), st.sampled_from([0.0, 1.0, 2.0, 3.0]), min_size=1).filter(
    lambda found: any(found.values())
)
depths = st.integers(1, 8)
values = st.lists(st.integers(-5, 5).map(float), min_size=2, max_size=30)


def gain(ranked: Sequence[str], relevant: Mapping[str, float], k: int) -> float:
    """DCG by the formula, rank by rank."""
    total = 0.0
    for position in range(min(k, len(ranked))):
        total += relevant.get(ranked[position], 0.0) / (math.log(position + 2) / math.log(2))
    return total


@given(rankings, grades, depths)
def test_ndcg_is_the_gain_by_the_best_of_all_orders(ranked, relevant, k):
    best = max(gain(order, relevant, k) for order in itertools.permutations(NAMES))
    assert ndcg(ranked, relevant, k) == pytest.approx(gain(ranked, relevant, k) / best)


@given(rankings, grades, depths)
def test_recall_hit_and_rank_by_counting(ranked, relevant, k):
    found = [name for name in ranked[:k] if relevant.get(name, 0) > 0]
    wanted = sum(grade > 0 for grade in relevant.values())
    assert recall(ranked, relevant, k) == len(found) / wanted
    assert hit_at(ranked, relevant, k) == (1.0 if found else 0.0)
    assert reciprocal_rank(ranked, relevant, k) == (1 / (ranked.index(found[0]) + 1) if found else 0.0)


@given(rankings, grades)
def test_all_are_between_0_and_1_and_1_for_the_best_order(ranked, relevant):
    best = sorted(NAMES, key=lambda name: -relevant.get(name, 0))
    assert all(0 <= measure(ranked, relevant) <= 1 + 1e-12 for measure in MEASURES.values())
    assert [MEASURES[name](best, relevant) for name in ("hit@1", "mrr@10", "recall@10")] == [1, 1, 1]
    assert MEASURES["ndcg@10"](best, relevant) == pytest.approx(1)


def test_the_worked_example_of_graded_ndcg():
    """Grades 3, 2, 3, 0, 1, 2 in this order: DCG@6 6.861, ideal 7.141 (the example that textbooks use)."""
    relevant = dict(zip(NAMES, [3.0, 2.0, 3.0, 0.0, 1.0, 2.0], strict=True))
    assert gain(NAMES, relevant, 6) == pytest.approx(6.861, abs=5e-4)
    assert ndcg(NAMES, relevant, 6) == pytest.approx(0.9608, abs=5e-5)


def test_binary_measures_by_hand():
    relevant = {"b": 1.0, "d": 1.0, "missing": 1.0}
    ranked = ["a", "b", "c", "d"]
    assert recall(ranked, relevant, 3) == pytest.approx(1 / 3)
    assert recall(ranked, relevant, 10) == pytest.approx(2 / 3)
    assert reciprocal_rank(ranked, relevant, 10) == 0.5
    assert reciprocal_rank(ranked, relevant, 1) == 0.0
    ideal = 1 + 1 / math.log2(3) + 1 / 2
    assert ndcg(ranked, relevant, 10) == pytest.approx((1 / math.log2(3) + 1 / math.log2(5)) / ideal)


def counted(numbers: Sequence[float]) -> list[float]:
    """Ranks from how many are less and how many are equal."""
    return [sum(b < a for b in numbers) + (sum(b == a for b in numbers) + 1) / 2 for a in numbers]


@given(values)
def test_mean_ranks_by_counting(numbers):
    assert mean_ranks(places(np.array(numbers))).tolist() == counted(numbers)


@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5)), min_size=2, max_size=30))
def test_spearman_is_the_correlation_of_counted_ranks(pairs):
    first, second = (list(map(float, side)) for side in zip(*pairs, strict=True))
    if len(set(first)) == 1 or len(set(second)) == 1:
        assert spearman(np.array(first), np.array(second)) == 0.0
    else:
        expected = statistics.correlation(counted(first), counted(second))
        assert spearman(np.array(first), np.array(second)) == pytest.approx(expected, abs=1e-12)


@given(values, st.randoms(use_true_random=False))
def test_places_of_a_resample_correlate_as_its_values(numbers, chooser):
    """Though the resample uses only some of the places."""
    other = [chooser.choice(numbers) for _ in numbers]
    sample = np.array([chooser.randrange(len(numbers)) for _ in numbers])
    first, second = np.array(numbers), np.array(other)
    resampled = rank_correlation(places(first)[sample], places(second)[sample])
    assert resampled == pytest.approx(spearman(first[sample], second[sample]), abs=1e-12)
